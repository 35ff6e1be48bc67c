"""`attribute_run`: which of a run's records helped; the student is trained again without them.

An iteration's training is repeated with all of its records (the reference), and without each group
of them. Both start from the same student with the same seed, and are evaluated on the same
validation problems. The in-process trainer keeps the order of the records that are left in stage
`sft`, so that the two trainings differ by the group alone; other trainers train on a shorter list.

    attribution/
        retrainings/        a file for each training that is done (see `checksums.phase`): its name
                            has hashes of the iteration's files and of the ids that were left out
        attribution.json    the tables (see `episodes.attribution`)
        table.md            the same for people
"""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import MinLen

from dataenvgym.environments.iterations import History, IterationResult, folder_of, load_adapter
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.environments.teaching_episode import training_run
from dataenvgym.errors import (
    ConfigurationError,
    RunDirectoryError,
    check_one_of,
    did_you_mean,
)
from dataenvgym.events import counting
from dataenvgym.interfaces import TaskInterface, TrainablePredictorInterface
from dataenvgym.records import Model, TaskInstance, TrainingDatum
from dataenvgym.records.checksums import phase
from dataenvgym.records.tool_formats import DEFAULT, training_format
from dataenvgym.runs.config.building import build_predictor, build_task
from dataenvgym.runs.config.run_directory import find_run
from dataenvgym.runs.episodes.attribution import (
    BY_RECORD,
    FOLDER,
    Agreement,
    AttributionTable,
    GroupEffect,
    read_attribution,
    write_attribution,
)
from dataenvgym.runs.episodes.run_files import RunFiles
from dataenvgym.runs.evaluation.evaluated_run import compose_for_run
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.storage import read_model
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset, stage_of, write_dataset
from dataenvgym.students.predictors.checkpoints import kind_of
from dataenvgym.students.predictors.in_process import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.tasks.adapted_task import evaluated_by, known_instances, report_of, task_of
from dataenvgym.tasks.base import Task
from dataenvgym.workspace import is_hand_made, opened

_GROUPS: Any = Annotated[dict[str, Annotated[list[str], MinLen(1)]], MinLen(1)]
BY = ("skill", "subskill", "agent", "iteration", "kind", BY_RECORD)


def attribute_run(
    run: str | Path,
    *,
    iteration: int | None = None,
    by: str | None = None,
    groups: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    repeats: int = 3,
    runs_dir: str = "runs",
    trust: bool = False,
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
) -> AttributionTable:
    """Measure which groups of records helped in an iteration; continue an interrupted measurement.

    Args:
        run: its name, or the path of its folder.
        iteration: its number; None takes the best one of those with records.
        by: what makes a group, one of `BY`; None takes "skill".
        groups: in place of `by`, a JSON file with lists of record ids by the group's name.
        limit: the most groups; they are drawn with `seed`. None takes all.
        repeats: trainings of each group and of the reference, with different seeds; their
            differences are the noise.
        runs_dir: the folder of runs.
        trust: accept any code that the run's config.yaml names (see `config.workspaces`).
        task, predictor: those of the run; None builds them from its configuration, which a run made
            in Python does not have. Afterwards the predictor is the untouched student.

    Raises:
        ConfigurationError: for an impossible option or group.
        RunDirectoryError: if there is no such run or iteration, it is not finished, or has no
            records; if another process works on the same.
    """
    if by is not None:
        check_one_of(BY, by=by)
    directory = find_run(str(run), runs_dir)
    training = TrainedIteration(directory, iteration)
    wanted = training.groups(by or "skill", groups, limit, seed)
    found = None if task is None else task_of(task)
    if found is None or predictor is None:
        if is_hand_made(directory):
            raise ConfigurationError(
                f"{directory} was made in Python, so it has no config.yaml to make its task and "
                "student from: call dataenvgym.runs.evaluation.attribute_run(run, task=..., "
                "predictor=...) in Python"
            )
        config, _ = compose_for_run(str(directory), [], trust=trust)
        found = found or build_task(config)
        predictor = build_predictor(config, task=found) if predictor is None else predictor
    with opened(directory / FOLDER):
        work = _Work(training, found, predictor)
        try:
            with counting("retrainings", (len(wanted) + 1) * repeats) as counter:
                results: dict[tuple[str | None, int], Retraining] = {}
                everything = [(None, frozenset[int]()), *wanted.items()]
                for repeat in range(repeats):
                    for name, left_out in everything:
                        was_done = work.file(left_out, repeat).exists()
                        results[name, repeat] = work.result(left_out, repeat)
                        counter.skip(1) if was_done else counter.add()
            known = read_attribution(directory, training.results)
            if (estimates := known.estimates.get(training.number)) is None:
                estimates = work.estimates()
            title = Path(groups).name if groups is not None else by or "skill"
            table = attribution_table(
                title, training, wanted, results, repeats, estimates, work.notes
            )
            write_attribution(directory, known.with_table(table, estimates))
        finally:
            work.end()
    return table


class _Work:
    """Trains and evaluates the student, and remembers the results."""

    def __init__(
        self,
        training: TrainedIteration,
        task: Task,
        predictor: TrainablePredictorInterface,
    ) -> None:
        self._training, self._task, self._predictor = training, task, predictor
        self._folder = training.root.parent / FOLDER
        self._scratch = self._folder / ".retraining.tmp"
        trainer = getattr(predictor, "trainer", None)
        in_order = isinstance(trainer, InProcessTrainer) and training.stage == "sft"
        self._in_order = trainer if in_order else None
        self.notes: list[str] = []
        if not in_order:
            self.notes.append(
                "Leaving records out changes the order of the others, which is most of the noise: "
                "only the in-process trainer keeps it (stage sft)."
            )
        self._gold = self._gold_answers()

    def file(self, left_out: frozenset[int], repeat: int) -> Path:
        """The file of a training without these records; if the iteration changes, it is another."""
        ids = sorted(self._training.records[i].provenance.id for i in left_out)
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16] if ids else "none"
        name = f"{self._training.fingerprint}-{digest}-{repeat}.json"
        return self._folder / "retrainings" / name

    def result(self, left_out: frozenset[int], repeat: int) -> Retraining:
        """Train and evaluate without these records, unless that has been done."""
        file = self.file(left_out, repeat)
        return phase(file, lambda: self._train(left_out, repeat), Retraining)

    def estimates(self) -> dict[str, float]:
        """The estimate of each record by gradients, by its id; empty if it cannot be made."""
        if self._gold is None or self._in_order is None:
            return {}
        training = self._training
        begun = TrainingConfig.read(training.files.directory / "training.yaml")
        start = folder_of(training.root, training.before) or getattr(
            self._predictor, "adapter", None
        )
        config = begun.with_options(
            model_name_or_path=getattr(self._predictor, "student"),  # noqa: B009
            dataset_dir=training.files.directory / "dataset",
            output_dir=self._scratch,
            adapter_name_or_path=start if training.options.mode == "incremental" else None,
        )
        ids = (record.provenance.id for record in training.records)
        return dict(zip(ids, self._gold.effects(config), strict=True))

    def end(self) -> None:
        """Return the predictor to the untouched student; remove the files of the last training."""
        if self._in_order is not None:
            self._in_order.left_out = ()
        self._predictor.reset()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _train(self, left_out: frozenset[int], repeat: int) -> Retraining:
        began = time.monotonic()
        training = self._training
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(parents=True)
        load_adapter(self._predictor, training.root, training.before)
        seed = training.seed
        if repeat:
            seed = derive_seed(seed, "attribution", repeat)
        run = training_run(training.options, training.number, self._scratch, seed)
        records = training.records
        if self._in_order is not None:
            self._in_order.left_out = left_out
        else:
            records = [record for i, record in enumerate(records) if i not in left_out]
        self._predictor.train(self._task.as_trained(records), run)
        loss = None
        if self._gold is not None:
            adapter = self._scratch / "adapter"
            if (kind := kind_of(adapter)) != "student":  # a whole student has no adapter
                loss = self._gold.loss(adapter if kind == "adapter" else None)
        report = report_of(self._task, evaluated_by(self._task, self._predictor))
        return Retraining(
            score=report.score,
            n_errors=report.n_errors,
            loss=loss,
            seconds=round(time.monotonic() - began, 3),
        )

    def _gold_answers(self) -> Any:
        """The gold answers of the validation problems, or None (with a note)."""
        predictor = self._predictor
        if not isinstance(predictor, InProcessPredictor):
            self.notes.append(
                f"No loss and no estimate: {type(predictor).__name__} is not a student in this "
                "process, whose gradients could be computed."
            )
            return None
        task = self._task
        instances: Sequence[TaskInstance] = known_instances(self._task)
        found = map(task.gold_record, instances)
        gold: list[TrainingDatum] = [record for record in found if record is not None]
        if not gold:
            self.notes.append("No loss and no estimate: the problems have no gold answers.")
            return None
        if len(gold) < len(instances):
            self.notes.append(
                f"{len(gold)} of {len(instances)} validation problems have a gold answer; the loss "
                "is on these."
            )
        from dataenvgym.students.trainers.completions import as_completions
        from dataenvgym.students.trainers.influence import GoldAnswers

        if self._in_order is None:
            self.notes.append(f"No estimate: records of stage {self._training.stage} have none.")
        config = TrainingConfig.read(self._training.files.directory / "training.yaml")
        folder = self._scratch / "gold"
        tools = training_format(predictor.tool_format or DEFAULT)
        if predictor.tool_format is None:
            gold = as_completions(gold, predictor.student)
        written = write_dataset(folder, gold, tool_format=tools)
        texts = list(read_dataset(folder, written.name))
        config = config.with_options(model_name_or_path=predictor.student)
        return GoldAnswers(texts, config, predictor.threads, predictor.device)


class TrainedIteration:
    """An iteration of a finished run that trained the student, as it was trained.

    Args:
        directory: of the run.
        number: of the iteration; None takes the best one of those with records.

    Attributes:
        records: all that it was trained on, also those of earlier iterations.
        before: the iteration whose adapter it began with; None for the untouched student.

    Raises:
        RunDirectoryError: if the run is not finished, or the iteration trained on nothing, or the
            gate refused its student.
    """

    def __init__(self, directory: Path, number: int | None) -> None:
        run = RunFiles(directory)
        if run.summary.status != "finished":
            raise RunDirectoryError(
                f"the run {directory.name!r} is {run.summary.status}, expected a finished one: the "
                "command that began it finishes it"
            )
        self.results = run.results
        taught = {r.iteration: r for r in run.results if r.adapter == r.iteration}
        if number is None:
            best = max(taught.values(), key=lambda r: (r.val_score, -r.iteration), default=None)
            number = 0 if best is None else best.iteration
        files = run.iteration(number)
        if number not in taught:
            raise RunDirectoryError(
                f"iteration {number} of {directory.name!r} has no student that was trained on "
                f"records and that the gate let pass, expected one of {[*taught]}"
            )
        self.result: IterationResult = taught[number]
        identity = run.environment
        known = {n: identity[n] for n in TeachingOptions().values() if n in identity}
        self.options = TeachingOptions(**known)
        self.seed = int(identity.get("seed", run.summary.seed))
        self.root, self.number, self.files = directory / "iterations", number, files
        self.before = run.results[number - 1].adapter
        history = History(self.root, self.options, run.iterations[:number])
        self.records = history.training_records(files.read_records(), self.seed)
        self.stage = stage_of(self.records[0])
        self.fingerprint = self.result.fingerprint

    def groups(
        self, by: str, file: str | Path | None, limit: int | None, seed: int
    ) -> dict[str, frozenset[int]]:
        """The positions of each group's records, by the group's name."""
        found: dict[str, list[int]] = {}
        places = {record.provenance.id: i for i, record in enumerate(self.records)}
        if file is not None:
            for name, ids in _read_groups(Path(file).expanduser()).items():
                if unknown := [one for one in ids if one not in places]:
                    raise ConfigurationError(
                        f"{file}, group {name!r}: iteration {self.number} was not trained on "
                        f"{', '.join(map(repr, unknown[:3]))} ({len(unknown)} of {len(ids)} ids), "
                        f"expected ids of its {len(places)} records, such as {next(iter(places))!r}"
                        f".{did_you_mean(unknown[0], places)}"
                    )
                found[name] = [places[one] for one in ids]
        else:
            for i, record in enumerate(self.records):
                source = record.provenance
                value = {BY_RECORD: source.id, "kind": record.kind}.get(by) or getattr(
                    source, by, None
                )
                found.setdefault("(none)" if value is None else str(value), []).append(i)
        names = sorted(found)
        if limit is not None and limit < len(names):
            # a larger limit keeps those of a smaller one
            order = derive_rng(seed, "attribution").permutation(len(names)).tolist()
            names = [names[i] for i in sorted(order[:limit])]
        return {name: frozenset(found[name]) for name in names}


def _read_groups(path: Path) -> dict[str, list[str]]:
    way_out = 'expected JSON such as {"suspicious": ["001-00003", "001-00004"]} for --groups'
    found: dict[str, list[str]] = read_model(path, _GROUPS, way_out, ConfigurationError)
    return found


class Retraining(Model):
    """The result of a training without some records.

    Attributes:
        score: on the validation problems; `n_errors` of them were not scored.
        loss: on the gold answers, or None.
        seconds: of the training and its evaluation.
    """

    score: float
    n_errors: int
    loss: float | None
    seconds: float


def attribution_table(
    by: str,
    training: TrainedIteration,
    groups: Mapping[str, frozenset[int]],
    results: Mapping[tuple[str | None, int], Retraining],
    repeats: int,
    estimates: Mapping[str, float],
    notes: Sequence[str],
) -> AttributionTable:
    """The effects of groups of records.

    Args:
        by: what makes a group.
        groups: the positions of each group's records.
        results: by group (None for all records) and repeat.
        estimates: by the record's id; empty for none.
    """
    scores, losses, rows = [], [], []
    for name, places in groups.items():
        pairs = [(results[None, r], results[name, r]) for r in range(repeats)]
        score = [every.score - without.score for every, without in pairs]
        loss = [
            without.loss - every.loss
            for every, without in pairs
            if every.loss is not None and without.loss is not None
        ]
        scores.append(score)
        losses.append(loss)
        ids = [training.records[i].provenance.id for i in places]
        rows.append(
            GroupEffect(
                group=name,
                n_records=len(places),
                score=math.fsum(score) / repeats,
                loss=math.fsum(loss) / repeats if loss else None,
                estimate=math.fsum(estimates[one] for one in ids) if estimates else None,
            )
        )
    own, ran = results[None, 0], training.result.val_score
    remarks = list(notes)
    if own.score != ran:
        remarks.insert(
            0,
            f"The training was not repeated exactly: with all records and the run's own seed, the "
            f"score is {own.score:.3f}, and in the run it was {ran:.3f}. So the student, its "
            "packages or its server are not the same; effects compare the repeated trainings.",
        )
    if n_errors := sum(one.n_errors for one in results.values()):
        remarks.append(f"{n_errors} answers in {len(results)} evaluations were not scored.")
    has_loss = all(row.loss is not None for row in rows)
    return AttributionTable(
        iteration=training.number,
        files=training.fingerprint,
        by=by,
        n_records=len(training.records),
        repeats=repeats,
        score=own.score,
        loss=own.loss,
        score_noise=_noise(scores),
        loss_noise=_noise(losses) if has_loss else None,
        score_agreement=_agreement(rows, [row.score for row in rows]),
        loss_agreement=_agreement(rows, [row.loss or 0.0 for row in rows]) if has_loss else None,
        notes=tuple(remarks),
        groups=tuple(sorted(rows, key=lambda row: (-(row.loss or 0.0), -row.score, row.group))),
    )


def _noise(effects: Sequence[Sequence[float]]) -> float | None:
    """Half the width of the 95% interval of one effect; its variance is pooled over all groups.

    All groups are compared with the same reference, so their effects vary together. The degrees of
    freedom are those of the sum of the shared and of the own variance (Satterthwaite, Biometrics
    Bulletin 2, 1946).
    """
    groups, repeats = len(effects), len(effects[0])
    if repeats < 2:
        return None
    from scipy import stats

    values = np.array(effects)
    shared = float(values.mean(axis=0).var(ddof=1))
    variance = float(values.var(axis=1, ddof=1).mean())
    if variance == 0:
        return 0.0
    own = max(0.0, variance - shared)
    parts = shared**2 + (own**2 / (groups - 1) if groups > 1 else 0.0)
    freedom = (repeats - 1) * variance**2 / parts
    return float(stats.t.ppf(0.975, freedom)) * math.sqrt(variance / repeats)


def _agreement(rows: Sequence[GroupEffect], effects: Sequence[float]) -> Agreement | None:
    estimates = [row.estimate for row in rows if row.estimate is not None]
    n = len(rows)
    if len(estimates) < n or len(set(estimates)) < 2 or len(set(effects)) < 2:
        return None
    from scipy import stats

    r = float(stats.spearmanr(estimates, effects).statistic)
    if n < 4 or abs(r) >= 1.0:
        return Agreement(correlation=r)
    half = 1.96 * math.sqrt((1 + r**2 / 2) / (n - 3))
    low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return Agreement(correlation=r, low=low, high=high)
