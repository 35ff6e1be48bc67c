"""Tokens, seconds and cost of the replies of an evaluation, for each speaker.

`usage/SSS-CCCC.json` is written before the samples of that name. Tokens are as the predictor counts
them, so they can be repeated; seconds cannot. `costs.json` sums them up: tokens, money and seconds
of each speaker, in all and for each problem.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from dataenvgym.interfaces import (
    Failure,
    ForwardingPredictor,
    PredictorInterface,
    Reply,
    SamplingParameters,
    can,
)
from dataenvgym.records import CompletedTaskInstance, Conversation, Model
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


class MeteredStudent(ForwardingPredictor):
    """Answers with a predictor, and adds up the usage of its replies, however it is asked.

    Attributes:
        costs: of the tries in `saw`, see `SampleUsage`.
    """

    def __init__(self, predictor: PredictorInterface) -> None:
        super().__init__(predictor)
        self.title = getattr(predictor, "title", type(predictor).__name__)
        if can(predictor, "train_each", "predict_each"):
            self.train_each, self.predict_each = predictor.train_each, self._predict_each
        self.usage = StudentUsage()
        self.costs: dict[str, Costs] = {}
        self._lock = threading.Lock()

    def saw(self, completed: Sequence[CompletedTaskInstance]) -> None:
        """Keep what each try took."""
        self.costs = {done.instance.id: done.costs for done in completed}

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """Ask for the replies, and hear them."""
        return self._heard(super().predict(conversations, sampling))

    def own_submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """Ask for one reply, and hear it when it comes."""
        future: Future[Reply | Failure] = self._predictor.submit(conversation, sampling)

        def hear(done: Future[Reply | Failure]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._heard([done.result()])

        future.add_done_callback(hear)
        return future

    def _predict_each(
        self,
        adapters: Sequence[Path | None],
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
    ) -> list[Reply | Failure]:
        replies: list[Reply | Failure] = self._predictor.predict_each(
            adapters, conversations, sampling
        )
        self._heard(replies)
        return replies

    def _heard(self, replies: Sequence[Reply | Failure]) -> Sequence[Reply | Failure]:
        # what is not a list of replies is refused where the predictor is asked
        for reply in replies if isinstance(replies, Sequence) else ():
            if isinstance(reply, Reply):
                tokens = (reply.prompt_tokens, reply.completion_tokens)
                known = StudentUsage(replies=1)
                if tokens[0] is not None and tokens[1] is not None:
                    known = StudentUsage(
                        replies=1, counted=1, prompt_tokens=tokens[0], completion_tokens=tokens[1]
                    )
                with self._lock:
                    self.usage += known
        return replies


@contextmanager
def metered(
    predictor: PredictorInterface, files: EvaluationFiles, part: Path
) -> Iterator[MeteredStudent]:
    """The predictor, whose usage is written at the end of the block, before the file `part`.

    If the part is there already, its failed samples are asked again: the student's usage is added,
    and the costs of these samples are replaced.
    """
    path = files.directory / "usage" / f"{part.stem}.json"
    before = SampleUsage(costs=None if part.exists() else {})
    if part.exists() and path.exists():
        before = _read(path)
    student = MeteredStudent(predictor)
    begun = time.perf_counter()
    yield student
    seconds = StudentUsage(seconds=round(time.perf_counter() - begun, 3))
    usage = before + student.usage + seconds
    is_unknown = before.costs is None or (student.usage.replies and not any(student.costs.values()))
    costs = None if is_unknown else {**(before.costs or {}), **student.costs}
    write_json(path, SampleUsage(**usage.model_dump(), costs=costs))


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
