"""Judging written samples again, without asking the student.

What the student said is replayed: its messages go, in their order, through the task's environment
of today, which judges them. A sample whose scorer failed ("environment: ..." after the student's
message) is judged so, too; any other with an error has no whole conversation to replay, and stays
what it is. Where the environment says something else than it did then (another system prompt, a
tool with another result), the student answered another conversation than the one that is judged
now; a note says where they part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from dataenvgym.errors import ConfigurationError, DataEnvGymError
from dataenvgym.evaluation.drawing import SampledTask
from dataenvgym.evaluation.files import EvaluationFiles, write_models
from dataenvgym.evaluation.metrics import Metric
from dataenvgym.evaluation.results import EvaluationResults, results_of
from dataenvgym.evaluation.samples import Judgement, Sample, judgements_of
from dataenvgym.evaluation.tallies import tally_all
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TaskInterface
from dataenvgym.records import CompletedTaskInstance, Conversation, Model, TaskInstance
from dataenvgym.rollouts import rollout
from dataenvgym.storage import publishing, write_json, write_text

REPLAYED = "replayed: "
"""What a note on a conversation that differs begins with."""


class _Place(Model):
    instance_id: str
    sample: int


class Rescored(Judgement, _Place):
    """A sample judged again.

    Attributes:
        before: what it came to when it was drawn.
    """

    before: Judgement

    @property
    def verdict(self) -> str:
        """What it is now: "right", "wrong" or "error"."""
        return _verdict(self)

    @property
    def verdict_before(self) -> str:
        return _verdict(self.before)

    @property
    def has_changed(self) -> bool:
        """Whether its verdict, its reward or its answer is another one."""
        return (self.verdict, self.reward, self.answer_class) != (
            self.verdict_before,
            self.before.reward,
            self.before.answer_class,
        )


def rescore(
    task: TaskInterface, instances: Mapping[str, TaskInstance], samples: Sequence[Sample]
) -> list[tuple[Rescored, CompletedTaskInstance]]:
    """Judge samples again; each with the completed instance that it now is, in their order.

    Args:
        instances: the problems by id, as they are judged now.

    Raises:
        ConfigurationError: if the task has no environments to replay them in, or cannot make
            one with its options.
    """
    if not isinstance(task, SampledTask):
        raise ConfigurationError(
            f"{type(task).__name__} has no `make_environment`, in which the samples could be "
            "replayed: only tasks like dataenvgym.tasks.Task can be scored again"
        )
    _check_environment(task)  # what no sample could be judged with is said once
    with ThreadPoolExecutor(task.threads, thread_name_prefix="rescore") as pool:
        replayed = list(pool.map(lambda s: _replay(task, instances[s.instance_id], s), samples))
    judged = judgements_of(task, replayed)
    return [
        (
            Rescored(
                instance_id=sample.instance_id,
                sample=sample.sample,
                before=sample.judgement,
                **(judgement if can_be_replayed(sample) else sample.judgement).model_dump(),
            ),
            completed,
        )
        for sample, completed, judgement in zip(samples, replayed, judged, strict=True)
    ]


@dataclass(frozen=True)
class Outcome:
    """A folder judged again.

    Attributes:
        directory: the new folder with the new scores.
        rescored: every sample.
        before, after: the results by the old judgements and by the new ones.
        n_gone: problems that the task has no longer; they were judged as they were saved.
    """

    directory: Path
    rescored: tuple[Rescored, ...]
    before: EvaluationResults
    after: EvaluationResults
    n_gone: int


def rescore_folder(
    files: EvaluationFiles,
    task: TaskInterface,
    metrics: Sequence[Metric],
    samples: int,
    *,
    settings: str | None = None,
) -> Outcome:
    """Judge the first so many samples of every instance again; write `rescored-NNN/`.

    The problems are those that the task has today under the same ids, so that a corrected gold
    answer counts. What was there before stays as it is.

    Args:
        settings: YAML that says how they are judged now, kept with the scores as `config.yaml`.

    Raises:
        RunDirectoryError: if samples are missing.
        ConfigurationError: as `rescore`.
    """
    drawn = list(files.read_samples(samples))
    saved = {instance.id: instance for instance in files.read_instances()}
    today = {instance.id: instance for instance in getattr(task, "instances", None) or ()}
    instances = {name: today.get(name, instance) for name, instance in saved.items()}
    judged = rescore(task, instances, drawn)
    rescored = tuple(r for r, _ in judged)
    tallies = {
        "before": tally_all(task, list(saved.values()), ((s.instance_id, s) for s in drawn)),
        "after": tally_all(task, list(instances.values()), ((r.instance_id, r) for r in rescored)),
    }
    completed = {
        "before": [s.completed(saved[s.instance_id]) for s in drawn],
        "after": [c for _, c in judged],
    }
    results = {
        name: results_of(task, tallies[name], completed[name], metrics, samples) for name in tallies
    }
    names = [re.fullmatch(r"rescored-(\d+)", p.name) for p in files.directory.iterdir()]
    last = max((int(name[1]) for name in names if name is not None), default=0)
    directory = files.directory / f"rescored-{last + 1:03d}"
    with publishing(directory) as new:
        if settings is not None:
            write_text(new / "config.yaml", settings)
        write_models(new / "scores.jsonl", rescored)
        write_models(new / "tallies.jsonl", tallies["after"])
        write_json(new / "results.json", results["after"].model_dump(mode="json"))
    return Outcome(
        directory, rescored, results["before"], results["after"], len(saved.keys() - today.keys())
    )


def can_be_replayed(sample: Sample) -> bool:
    """Whether all that the student said is there: at most the scorer failed, after it."""
    return sample.error is None or (
        sample.error.startswith("environment:")
        and bool(sample.transcript)
        and sample.transcript[-1].role == "assistant"
    )


def _check_environment(task: SampledTask) -> None:
    try:
        environment = task.make_environment()
    except DataEnvGymError:
        raise
    except Exception as error:  # whatever a task's code does
        raise ConfigurationError(
            f"{type(task).__name__} cannot make its environment: {type(error).__name__}: {error}"
        ) from error
    if hasattr(environment, "close"):
        environment.close()


def _replay(task: SampledTask, instance: TaskInstance, sample: Sample) -> CompletedTaskInstance:
    """The sample through the environment of today."""
    if not can_be_replayed(sample):
        return sample.completed(instance)
    said = _Recorded(sample.transcript)
    (completed,) = rollout(
        said,
        [instance],
        task.make_environment,
        sampling=task.sampling.model_copy(update={"seed": sample.seed}),
        chunk_size=1,
        threads=1,
    )
    notes = [completed.note, _difference(sample.transcript, completed, left=said.left)]
    note = "; ".join(n for n in notes if n) or None
    return completed.model_copy(update={"note": note})


class _Recorded:
    """A student that says again what it said."""

    def __init__(self, transcript: Conversation) -> None:
        self._said: Iterator[str] = iter(
            texts := [m.content for m in transcript if m.role == "assistant"]
        )
        self.left = len(texts)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        return [self._next() for _ in conversations]

    def _next(self) -> Reply | Failure:
        text = next(self._said, None)
        if text is None:
            return Failure(
                reason="the environment asks for one more answer than the student gave when the "
                "sample was drawn; it has to be drawn again"
            )
        self.left -= 1
        return Reply(text=text)


def _difference(before: Conversation, completed: CompletedTaskInstance, *, left: int) -> str | None:
    """Where the environment's side is not what it was."""
    if completed.error is not None:
        return None
    now = completed.transcript
    parted = (i for i, (one, other) in enumerate(zip(before, now, strict=False)) if one != other)
    if (place := next(parted, None)) is not None:
        return (
            f"{REPLAYED}message {place + 1} ({now[place].role}) is not what it was when the "
            "sample was drawn"
        )
    if left:
        return f"{REPLAYED}the environment ended it {left} of the student's messages earlier"
    if len(before) != len(now):
        return f"{REPLAYED}the conversation has {len(now)} messages, and had {len(before)}"
    return None


def _verdict(judgement: Judgement) -> str:
    if judgement.error is not None:
        return "error"
    return "right" if judgement.was_correct else "wrong"
