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
    """A sandbox in which no run succeeds."""

    def __init__(self, *, workers):
        pass

    def run(self, code=None, **options):
        raise SandboxError("gone")

    def close(self):
        pass
