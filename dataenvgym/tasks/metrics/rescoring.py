"""Judges saved samples again, without asking the student.

The student's messages are replayed, in order, through the task's current environment, which judges
them. A sample whose scorer failed ("environment: ..." after the student's message) is judged too.
Other samples with an error, and those whose student could not answer after its own words, have no
complete conversation to replay, and stay unchanged (see `replay`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dataenvgym.errors import ConfigurationError
from dataenvgym.events import ContextThreadPool
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, can
from dataenvgym.records import CompletedTaskInstance, Conversation, TaskInstance
from dataenvgym.records.instances import STUDENT
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.storage import publishing, write_json, write_jsonl, write_text
from dataenvgym.tasks.adapted_task import known_instances, one_by_one
from dataenvgym.tasks.base import Task, attempts_for
from dataenvgym.tasks.judging import RubricJudge
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.judged_samples import judge_samples
from dataenvgym.tasks.metrics.metric import ERROR_RATE, Metric
from dataenvgym.tasks.metrics.results import EvaluationResults, results_before, results_of
from dataenvgym.tasks.metrics.samples import Judgment, Place, Sample, judgments_of, tally_all
from dataenvgym.tasks.metrics.usage import COSTS, sum_costs
from dataenvgym.tasks.rollouts import student_speakers
from dataenvgym.tasks.rollouts.instance_rollout import BY_WORDS

REPLAYED = "replayed: "
"""The beginning of a note on a conversation that differs."""

UNANSWERED = (
    "the environment asks for one more answer than the student gave when the sample was drawn; "
    "draw the sample again"
)
"""The error of a sample whose conversation would now continue."""


def can_be_replayed(sample: Sample) -> bool:
    """True if all of the student's messages are saved: a failure, if any, came after them."""
    ended_early = sample.error is not None or (sample.note or "").startswith(BY_WORDS)
    return not ended_early or [m.role for m in sample.transcript[-1:]] == ["assistant"]


def replay(task: Task, instance: TaskInstance, sample: Sample) -> CompletedTaskInstance:
    """Run the sample through the current environment."""
    if not can_be_replayed(sample):
        return sample.completed(instance)
    said = _Recorded(sample.transcript)
    sampling = task.sampling.model_copy(update={"seed": sample.seed})
    (completed,) = task.attempt(said, [instance], sampling=sampling)
    notes = [completed.note, _difference(sample.transcript, completed, left=said.left)]
    note = "; ".join(n for n in notes if n) or None
    return completed.model_copy(update={"note": note})


class _Recorded:
    """A student that repeats its messages, without assistant turns that belong to the prompt."""

    def __init__(self, transcript: Conversation) -> None:
        self._texts = [as_reply(m) for m in transcript if m.role == "assistant"]
        self._said: Iterator[str] | None = None
        self.left = 0

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        replies: list[Reply | Failure] = []
        for conversation in conversations:
            if self._said is None:
                own = self._texts[sum(message.role == "assistant" for message in conversation) :]
                self._said, self.left = iter(own), len(own)
            text = next(self._said, None)
            self.left -= text is not None
            replies.append(Failure(reason=UNANSWERED) if text is None else Reply(text=text))
        return replies


def _difference(before: Conversation, completed: CompletedTaskInstance, *, left: int) -> str | None:
    """Describe the first difference on the environment's side; None if there is none."""
    if completed.error is not None:
        return None
    now = completed.transcript
    parted = (i for i, (one, other) in enumerate(zip(before, now, strict=False)) if one != other)
    if (place := next(parted, None)) is not None:
        return (
            f"{REPLAYED}message {place + 1} ({now[place].role}) has changed since the sample was "
            "drawn"
        )
    if left:
        return f"{REPLAYED}the environment ended it {left} of the student's messages earlier"
    if len(before) != len(now):
        return f"{REPLAYED}the conversation has {len(now)} messages, and had {len(before)}"
    return None


class Rescored(Judgment, Place):
    """A sample that was judged again.

    Attributes:
        before: its judgment when it was drawn.
    """

    before: Judgment

    @property
    def needs_student(self) -> bool:
        """True if it was judged before, but now needs another answer of the student."""
        return self.before.error is None and UNANSWERED in (self.error or "")

    @property
    def has_changed(self) -> bool:
        """True if its verdict, its reward or its answer has changed."""
        now, before = ((j.verdict, j.reward, j.answer_class) for j in (self, self.before))
        return now != before


def rescore(
    task: Task,
    instances: Mapping[str, TaskInstance],
    samples: Sequence[Sample],
    *,
    run: str = "",
) -> list[tuple[Rescored, CompletedTaskInstance]]:
    """Judge samples again; return each, in order, with its new completed instance.

    Args:
        instances: the current problems, by id.
        run: the purpose of the replayed tries (see `attempts_for`).

    Raises:
        ConfigurationError: if the task has no environments to replay the samples in, cannot make
            one with its options, or cannot judge on this machine.
    """
    if (tried := one_by_one(task)) is None:
        raise ConfigurationError(
            f"{task.name} has no `make_environment` to replay the samples in: only tasks "
            "like dataenvgym.tasks.Task can be scored again"
        )
    for who in student_speakers(tried.others):
        raise ConfigurationError(
            f"the speaker {who!r} is the student itself, and the student is not asked when samples "
            f"are judged again: draw new ones, or give another speaker (task.others.{who})"
        )
    environment = tried.make_environment()  # an error that concerns all samples is raised once
    if can(environment, "close"):
        environment.close()
    # a speaker with only `predict` may not support calls from several threads
    alone = any(not can(other, "submit") for other in tried.others.values())
    threads = 1 if alone else tried.threads

    def again(sample: Sample) -> CompletedTaskInstance:
        with attempts_for(run, sample.phase):
            return replay(tried, instances[sample.instance_id], sample)

    with ContextThreadPool(threads, thread_name_prefix="rescore") as pool:
        replayed = list(pool.map(again, samples))
    judged = judgments_of(task, replayed)
    return [
        (
            Rescored(
                instance_id=sample.instance_id,
                sample=sample.sample,
                before=sample.judgment,
                **(judgment if can_be_replayed(sample) else sample.judgment).model_dump(),
            ),
            completed,
        )
        for sample, completed, judgment in zip(samples, replayed, judged, strict=True)
    ]


@dataclass(frozen=True)
class RescoringResult:
    """The result of judging a folder again.

    Attributes:
        directory: the new folder with the new scores.
        rescored: every sample.
        before, after: the results by the old and by the new judgments. If some samples need
            another answer of the student (mostly failed ones), the others alone would be biased:
            then `after` has only an error rate.
        asked: the samples of each problem that the evaluation should have; `after.samples` of them
            were complete, and only these were judged.
        n_gone: problems that the task no longer has; they were judged as saved.
        added: the table that the task's domain adds, such as that of scenes; else None.
    """

    directory: Path
    rescored: tuple[Rescored, ...]
    before: EvaluationResults
    after: EvaluationResults
    asked: int
    n_gone: int
    added: Any


def rescore_folder(
    files: EvaluationFiles,
    task: Task,
    metrics: Sequence[Metric],
    samples: int,
    *,
    settings: str | None = None,
    judge: RubricJudge | None = None,
    asked: int | None = None,
    addition: Any = None,
) -> RescoringResult:
    """Judge the first `samples` samples of every instance again; write `rescored-NNN/`.

    Uses the task's current problems with the same ids, so that corrected gold answers count.
    Existing files stay unchanged.

    Args:
        settings: YAML of the current settings, saved with the scores as `config.yaml`.
        judge: for metrics that need one; its earlier verdicts on the same conversations are kept.
        asked: the samples that the evaluation should have; None for `samples`.
        addition: writes more into the new folder, from the samples as they are judged now, unless
            one of them needs another answer of the student.

    Raises:
        RunDirectoryError: if samples are missing.
        ConfigurationError: as `rescore`.
    """
    drawn = list(files.read_samples(samples))
    saved = {instance.id: instance for instance in files.read_instances()}
    today = {instance.id: instance for instance in known_instances(task)}
    instances = {name: today.get(name, instance) for name, instance in saved.items()}
    with TemporaryDirectory(prefix="dataenvgym-") as scratch:
        kept = None if addition is None else addition.begin(task, Path(scratch))
        judged = rescore(task, instances, drawn, run=files.directory.name)
        rescored = tuple(r for r, _ in judged)
        completed = [c for _, c in judged]
        tallies = tally_all(task, list(saved.values()), ((s.instance_id, s) for s in drawn))
        done = [s.completed(saved[s.instance_id]) for s in drawn]
        before = results_of(task, tallies, done, metrics, samples, results_before(files))
        tallies = tally_all(task, list(instances.values()), ((r.instance_id, r) for r in rescored))
        said = None if judge is None else judge_samples(files, judge, completed, samples)
        after = results_of(task, tallies, completed, metrics, samples, said)
        is_whole = not any(r.needs_student for r in rescored)
        if not is_whole:
            gone = {"value": None, "half_width": None, "sd": None}
            left = [m if m.name == ERROR_RATE else m.model_copy(update=gone) for m in after.metrics]
            after = after.model_copy(update={"metrics": tuple(left), "report": None})
        names = [re.fullmatch(r"rescored-(\d+)", p.name) for p in files.directory.iterdir()]
        last = max((int(name[1]) for name in names if name is not None), default=0)
        directory = files.directory / f"rescored-{last + 1:03d}"
        added = None
        with publishing(directory) as new:
            if settings is not None:
                write_text(new / "config.yaml", settings)
            write_jsonl(new / "scores.jsonl", rescored)
            write_jsonl(new / "tallies.jsonl", tallies)
            write_json(new / "results.json", after)
            took = [
                (c.instance.id, {who: usage for who, usage in c.costs.items() if who != STUDENT})
                for c in completed
            ]
            costs = sum_costs([*took, *(() if said is None else said.costs)])
            write_json(new / COSTS, costs)
            if is_whole and addition is not None:
                pairs = zip(drawn, rescored, strict=True)
                now = [s.model_copy(update=dict(r.judgment)) for s, r in pairs]
                added = addition.sum_up_again(files, now, kept, new)
    n_gone = len(saved.keys() - today.keys())
    return RescoringResult(directory, rescored, before, after, asked or samples, n_gone, added)
