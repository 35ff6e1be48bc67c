"""Judges' verdicts on saved samples, for the metric `judge`.

Each way of judging (judges, rubric, range) has a folder beside the samples, with one file for each
file of samples. Existing verdicts are not asked for again. A verdict that is missing, because a
judge failed or its answer could not be parsed, is asked for each time the metric is computed.
Samples with an error are not judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from pathlib import Path

from pydantic import Field

from dataenvgym import exact_json
from dataenvgym.events import tell
from dataenvgym.records import CompletedTaskInstance, Model
from dataenvgym.records.checksums import load, save
from dataenvgym.records.model import Note
from dataenvgym.records.usage import NOTHING, UNKNOWN, Costs, Usage
from dataenvgym.storage import write_json
from dataenvgym.tasks.judging import Judged, RubricJudge
from dataenvgym.tasks.judging.rubric import RubricVerdict
from dataenvgym.tasks.judging.verdict_asks import UNREADABLE
from dataenvgym.tasks.metrics.estimators import best_of_k, estimate
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.metric import JUDGE, JudgeResult, Metric, MetricResult

_ASKED_AGAIN = "remove the file, and the same command asks the judges again"
_HASH_LENGTH = 8


class JudgedSample(Model):
    """The judges' verdict on one sample.

    Attributes:
        question: a hash of the question, so that a changed conversation is judged again.
        verdicts: by judge.
        unscored: for the other judges, why there is no verdict.
        attempts: the number of times that a judge's answer could not be parsed.
        usage: of all judges, also of replies that could not be parsed; None if it was not kept, by
            an earlier version.
    """

    instance_id: str
    sample: int
    question: str
    verdicts: dict[str, RubricVerdict] = {}
    unscored: dict[str, Note] = {}
    attempts: int = Field(default=0, ge=0)
    usage: Usage | None = Field(default=None, exclude_if=lambda usage: usage is None)


@dataclass(frozen=True)
class JudgedSamples:
    """The judges' verdicts on all samples without an error.

    Attributes:
        instances: the ids of all problems.
        n_asked: the number of samples that at least one judge was asked about.
    """

    judge: RubricJudge
    instances: Sequence[str]
    rows: Sequence[JudgedSample]
    n_asked: int

    @cached_property
    def scores(self) -> list[float | None]:
        """The score of each row."""
        return [self.judge.score(Judged(row.verdicts, row.unscored)) for row in self.rows]

    @property
    def costs(self) -> list[tuple[str, Costs]]:
        """For each row: the id of its problem, and the tokens, seconds and cost of its judges."""
        return [(row.instance_id, {JUDGE: row.usage or UNKNOWN}) for row in self.rows]

    def added_to(self, completed: Sequence[CompletedTaskInstance]) -> list[CompletedTaskInstance]:
        """Add the named score `judge` to the samples that have one; keep their order."""
        left = iter(self.scores)
        scores = [None if c.error is not None else next(left) for c in completed]
        return [
            c if score is None else c.model_copy(update={"scores": {**c.scores, JUDGE: score}})
            for c, score in zip(completed, scores, strict=True)
        ]

    def result(self, name: str) -> JudgeResult:
        """The metric, under this name."""
        by_instance: dict[str, list[float]] = {}
        said = [Judged(row.verdicts, row.unscored) for row in self.rows]
        scores = self.scores
        for row, score in zip(self.rows, scores, strict=True):
            if score is not None:
                by_instance.setdefault(row.instance_id, []).append(score)
        over = estimate([fsum(found) / len(found) for found in by_instance.values()])
        given = {
            judge: [one.verdicts[judge].score for one in said if judge in one.verdicts]
            for judge in self.judge.judges
        }
        return JudgeResult(
            name=name,
            value=over.mean,
            half_width=over.half_width if over.sd else None,
            n=len(by_instance),
            left_out=len(self.instances) - len(by_instance),
            n_scored=sum(score is not None for score in scores),
            n_unscored=sum(score is None for score in scores),
            failed={judge: len(said) - len(found) for judge, found in given.items()},
            means={judge: fsum(found) / len(found) for judge, found in given.items() if found},
            agreement=self.judge.agreement(said),
        )

    def best_of(self, metric: Metric, rights: Sequence[bool]) -> MetricResult:
        """The metric `best@K`; samples without a score cannot be chosen.

        Args:
            rights: whether the sample of each row is right.
        """
        by_instance: dict[str, list[tuple[float, bool]]] = {}
        for row, score, is_right in zip(self.rows, self.scores, rights, strict=True):
            if score is not None:
                by_instance.setdefault(row.instance_id, []).append((score, is_right))
        tries = [found for found in by_instance.values() if len(found) >= metric.k]
        over = estimate([best_of_k(found, metric.k) for found in tries])
        return MetricResult(
            name=metric.name,
            value=over.mean,
            half_width=over.half_width if over.sd else None,
            n=len(tries),
            left_out=len(self.instances) - len(tries),
        )


def judge_samples(
    files: EvaluationFiles,
    judge: RubricJudge,
    completed: Sequence[CompletedTaskInstance],
    samples: int,
) -> JudgedSamples:
    """Ask the judges for the verdicts that the folder lacks.

    Args:
        completed: the first `samples` samples of every instance, sample by sample.

    Raises:
        RunDirectoryError: if a file with verdicts is damaged.
        ServerError: if a judge's server refuses the key, or lacks the model.
    """
    described = judge.describe()
    digest = hashlib.sha256(exact_json.dumps(described, option=exact_json.SORT_KEYS)).hexdigest()
    folder = files.directory / f"judged-{digest[:_HASH_LENGTH]}"
    instances = completed[: len(completed) // samples]
    chunks = files.chunks(instances)
    left = iter(completed)
    rows: list[JudgedSample] = []
    n_asked = 0
    for sample in range(samples):
        for number, chunk in enumerate(chunks):
            part = [c for _ in chunk if (c := next(left)).error is None]
            path = folder / f"{sample:03d}-{number:04d}.jsonl"
            before = _read(path, part, judge, sample)
            missing = [i for i, row in enumerate(before) if judge.judges - row.verdicts.keys()]
            if missing:
                tell(f"judging sample {sample + 1} of {samples}, chunk {number + 1}")
                write_json(folder / "judges.json", described)
                judged = judge.ask(
                    [judge.question(part[i], attempt=before[i].attempts) for i in missing],
                    but=[before[i].verdicts for i in missing],
                )
                for i, one in zip(missing, judged, strict=True):
                    given = {n: RubricVerdict(**v.model_dump()) for n, v in one.verdicts.items()}
                    is_unreadable = any(r.startswith(UNREADABLE) for r in one.unscored.values())
                    changes = {
                        "verdicts": given,
                        "unscored": dict(one.unscored),
                        "attempts": before[i].attempts + is_unreadable,
                        "usage": (before[i].usage or UNKNOWN) + one.usage,
                    }
                    before[i] = before[i].model_copy(update=changes)
                save(path, before)
            rows += before
            n_asked += len(missing)
    return JudgedSamples(judge, [c.instance.id for c in instances], rows, n_asked)


def _read(
    path: Path, part: Sequence[CompletedTaskInstance], judge: RubricJudge, sample: int
) -> list[JudgedSample]:
    """The existing verdicts on these conversations; rows without a verdict for the others."""
    known = load(path, list[JudgedSample], _ASKED_AGAIN) or []
    there = {(r.instance_id, r.question): r for r in known}
    rows = []
    for c in part:
        asked = "\n".join(message.model_dump_json() for message in judge.question(c))
        question = hashlib.sha256(asked.encode()).hexdigest()[:16]
        new = JudgedSample(
            instance_id=c.instance.id, sample=sample, question=question, usage=NOTHING
        )
        rows.append(there.get((c.instance.id, question), new))
    return rows
