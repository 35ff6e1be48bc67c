"""Tokens, seconds and cost of the replies of an evaluation, for each speaker.

`usage/SSS-CCCC.json` is written before the samples of that name. Tokens are as the predictor counts
them, so they can be repeated; seconds cannot. `costs.json` sums them up: tokens, money and seconds
of each speaker, in all and for each problem.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dataenvgym.records import CompletedTaskInstance, Model
from dataenvgym.records.instances import STUDENT
from dataenvgym.records.usage import Costs, Usage, add_costs
from dataenvgym.storage import read_model, write_json
from dataenvgym.tasks.metrics.files import EvaluationFiles

COSTS = "costs.json"


class StudentUsage(Model):
    """Tokens and seconds of the student.

    Attributes:
        replies: the number of replies.
        counted: those whose tokens the predictor counted.
        prompt_tokens, completion_tokens: of the counted replies.
        seconds: from the first question to the last reply, for each file of samples.
    """

    replies: int = 0
    counted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: StudentUsage) -> StudentUsage:
        names = StudentUsage.model_fields
        return StudentUsage(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def tokens_each(self) -> float | None:
        """The mean number of tokens of a reply; None if none was counted."""
        return self.completion_tokens / self.counted if self.counted else None


class SampleUsage(StudentUsage):
    """Of a file of samples.

    Attributes:
        costs: of each problem's sample, by speaker. A sample that was drawn again has those of its
            last try. None if they are unknown: an earlier version drew samples of the file, or the
            task does not say what its speakers took.
    """

    costs: dict[str, Costs] | None = None


class EvaluationCosts(Model):
    """What each speaker took; `null` where a reply does not say.

    Attributes:
        speakers: in all. The student is "student".
        problems: the same for each problem, all its samples together.
    """

    speakers: Costs
    problems: dict[str, Costs]


@contextmanager
def metered(files: EvaluationFiles, part: Path) -> Iterator[list[CompletedTaskInstance]]:
    """Write the usage of the tries that the block puts into the list, before the file `part`.

    If the part is there already, its failed samples are asked again: the student's usage is added,
    and the costs of these samples are replaced.
    """
    path = files.directory / "usage" / f"{part.stem}.json"
    before = SampleUsage(costs=None if part.exists() else {})
    if part.exists() and path.exists():
        before = _read(path)
    tries: list[CompletedTaskInstance] = []
    begun = time.perf_counter()
    yield tries
    seconds = round(time.perf_counter() - begun, 3)
    usage = before + _students(tries, seconds)
    is_unknown = before.costs is None or any(c.error is None and not c.usage for c in tries)
    took = (before.costs or {}) | {done.instance.id: done.costs for done in tries}
    costs = None if is_unknown else took
    write_json(path, SampleUsage(**usage.model_dump(), costs=costs))


def _students(tries: Sequence[CompletedTaskInstance], seconds: float) -> StudentUsage:
    replies = [usage for done in tries for usage in done.usage.get(STUDENT, ())]
    counted = [usage for usage in replies if usage.tokens is not None]
    # a task of another class does not say its usage
    silent = [c.transcript for c in tries if c.error is None and not c.usage]
    return StudentUsage(
        replies=len(replies) + sum(m.role == "assistant" for shown in silent for m in shown),
        counted=len(counted),
        prompt_tokens=sum(usage.prompt_tokens or 0 for usage in counted),
        completion_tokens=sum(usage.completion_tokens or 0 for usage in counted),
        seconds=seconds,
    )


def usage_of(files: EvaluationFiles, samples: int) -> StudentUsage | None:
    """The usage of the first samples; None for an evaluation without it, of an earlier version."""
    found = _usages(files, samples)
    return sum(found, StudentUsage()) if found else None


def write_costs(
    files: EvaluationFiles, samples: int, judged: Iterable[tuple[str, Mapping[str, Usage]]] = ()
) -> EvaluationCosts | None:
    """Write `costs.json` about the first samples; None without it, if some are unknown.

    Args:
        judged: more costs, with the ids of their problems: of judges that were asked afterwards.
    """
    usages = _usages(files, samples)
    found = [pair for usage in usages for pair in (usage.costs or {}).items()]
    counts = Counter(problem for problem, _ in found)
    if any(counts[instance.id] != samples for instance in files.read_instances()):
        if (file := files.directory / COSTS).exists():
            file.unlink()
        return None
    summed = sum_costs([*found, *judged])
    write_json(files.directory / COSTS, summed)
    return summed


def sum_costs(found: Iterable[tuple[str, Mapping[str, Usage]]]) -> EvaluationCosts:
    """Add up costs of tries, each with the id of its problem."""
    by_problem: dict[str, list[Mapping[str, Usage]]] = {}
    for problem, costs in found:
        by_problem.setdefault(problem, []).append(costs)
    problems = {problem: add_costs(each) for problem, each in by_problem.items()}
    return EvaluationCosts(speakers=add_costs(problems.values()), problems=problems)


def read_costs(directory: Path) -> EvaluationCosts | None:
    """The costs of an evaluation as its last command wrote them; None if they are unknown."""
    path = directory / COSTS
    if not path.exists():
        return None
    return read_model(path, EvaluationCosts, "remove it, and `dataenvgym eval` writes it again")


def _usages(files: EvaluationFiles, samples: int) -> list[SampleUsage]:
    folder = files.directory / "usage"
    return [_read(path) for n in range(samples) for path in sorted(folder.glob(f"{n:03d}-*.json"))]


def _read(path: Path) -> SampleUsage:
    return read_model(path, SampleUsage, "remove it: only tokens and seconds are lost")
