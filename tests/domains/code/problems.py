"""Problems of code for tests: their rows, their tests, and a sandbox that fails."""

from dataenvgym.domains.code.problem import problem_of
from dataenvgym.domains.code.task import to_instance
from dataenvgym.errors import SandboxError
from dataenvgym.sandbox import Limits
from dataenvgym.tasks.rows import SourceRow

LIMITS = Limits(seconds=5)


def program(*lines):
    return {"kind": "program", "code": "\n".join(lines) + "\n"}


def passed(verdict):
    return [result.passed for result in verdict.results]


def loaded(values, **options):
    instance = to_instance(SourceRow("rows-3", "rows.jsonl:3", values), task="t", **options)
    return instance, problem_of(instance)


class Broken:
    """A sandbox in which no run succeeds: each has this result, or fails."""

    def __init__(self, *, workers=1, result=SandboxError("gone")):  # noqa: B008
        self.result = result

    def run(self, code=None, **options):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def close(self):
        pass
