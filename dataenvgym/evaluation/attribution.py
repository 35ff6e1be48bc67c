"""`attribute_run`: which of a run's records helped; the student is trained again without them.

An iteration's training is repeated with all of its records (the reference), and without each group
of them. Both start from the same student with the same seed, and are evaluated on the same
validation problems. The in-process trainer keeps the order of the records that are left in stage
`sft`, so that the two trainings differ by the group alone; other trainers train on a shorter list.

    attribution/
        retrainings.jsonl   one line for each training that is done: the state of a killed command
        attribution.json    the tables (see `episodes.attribution`)
        table.md            the same for people
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dataenvgym.config.building import build_predictor, build_task
from dataenvgym.config.run_directory import find_run, is_hand_made
from dataenvgym.environments.student import folder_of, load_adapter, training_run
from dataenvgym.episodes.attribution import (
    FOLDER,
    AttributionTable,
    read_attribution,
    write_attribution,
)
from dataenvgym.errors import ConfigurationError, check_at_least, check_one_of
from dataenvgym.evaluation.attribution_table import (
    BY,
    Retraining,
    TrainedIteration,
    attribution_table,
)
from dataenvgym.evaluation.evaluated_run import compose_for_run
from dataenvgym.interfaces import TaskInterface, TrainablePredictorInterface
from dataenvgym.llama_factory import TrainingConfig, read_dataset, write_dataset
from dataenvgym.predictors.checkpoints import kind_of
from dataenvgym.predictors.in_process import InProcessPredictor
from dataenvgym.progress import counting
from dataenvgym.records import TaskInstance, TrainingDatum
from dataenvgym.seeding import derive_seed
from dataenvgym.storage import read_jsonl, write_jsonl
from dataenvgym.tasks.adapted_task import evaluated_by, known_instances, report_of, task_of
from dataenvgym.tool_formats import DEFAULT, training_format
from dataenvgym.trainers import InProcessTrainer
from dataenvgym.workspace import naming_damage, opened


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
    check_at_least(1, repeats=repeats, **({} if limit is None else {"limit": limit}))
    if by is not None:
        check_one_of(BY, by=by)
    directory = find_run(str(run), runs_dir)
    training = TrainedIteration(directory, iteration)
    wanted = training.groups(by or "skill", groups, limit, seed)
    if task is None or predictor is None:
        if is_hand_made(directory):
            raise ConfigurationError(
                f"{directory} was made in Python, so it has no config.yaml to make its task and "
                "student from: call dataenvgym.evaluation.attribute_run(run, task=..., "
                "predictor=...) in Python"
            )
        config, _ = compose_for_run(str(directory), [], trust=trust)
        task = build_task(config) if task is None else task
        predictor = build_predictor(config, task=task) if predictor is None else predictor
    with opened(directory / FOLDER):
        work = _Work(training, task, predictor)
        try:
            with counting("retrainings", (len(wanted) + 1) * repeats) as counter:
                results: dict[tuple[str | None, int], Retraining] = {}
                everything = [(None, frozenset[int]()), *wanted.items()]
                for repeat in range(repeats):
                    for name, left_out in everything:
                        was_done = work.is_done(left_out, repeat)
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
        task: TaskInterface,
        predictor: TrainablePredictorInterface,
    ) -> None:
        self._training, self._task, self._predictor = training, task, predictor
        self._folder = training.root.parent / FOLDER
        self._scratch = self._folder / ".retraining.tmp"
        self._path = self._folder / "retrainings.jsonl"
        with naming_damage(self._path, "remove it: the trainings are then done again"):
            lines = list(read_jsonl(self._path)) if self._path.exists() else []
            self._done = {r.key: r for r in map(Retraining.model_validate, lines)}
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

    def is_done(self, left_out: frozenset[int], repeat: int) -> bool:
        return self._key(left_out, repeat) in self._done

    def result(self, left_out: frozenset[int], repeat: int) -> Retraining:
        """Train and evaluate without these records, unless that has been done."""
        key = self._key(left_out, repeat)
        if key not in self._done:
            self._done[key] = self._train(key, left_out, repeat)
            write_jsonl(self._path, (one.model_dump() for one in self._done.values()))
        return self._done[key]

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

    def _key(self, left_out: Iterable[int], repeat: int) -> tuple[str, str, int]:
        ids = sorted(self._training.records[i].provenance.id for i in left_out)
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16] if ids else ""
        return self._training.fingerprint, digest, repeat

    def _train(
        self, key: tuple[str, str, int], left_out: frozenset[int], repeat: int
    ) -> Retraining:
        began = time.monotonic()
        training = self._training
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(parents=True)
        load_adapter(self._predictor, training.root, training.before)
        seed = training.seed
        if repeat:
            seed = derive_seed(seed, "attribution", repeat)
        run = training_run(training.options, training.number, self._scratch, seed=seed)
        records = training.records
        if self._in_order is not None:
            self._in_order.left_out = left_out
        else:
            records = [record for i, record in enumerate(records) if i not in left_out]
        self._predictor.train(task_of(self._task).as_trained(records), run)
        loss = None
        if self._gold is not None:
            adapter = self._scratch / "adapter"
            if (kind := kind_of(adapter)) != "student":  # a whole student has no adapter
                loss = self._gold.loss(adapter if kind == "adapter" else None)
        report = report_of(self._task, evaluated_by(self._task, self._predictor))
        return Retraining(
            iteration=key[0],
            left_out=key[1],
            repeat=repeat,
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
        domain = task_of(self._task).domain
        instances: Sequence[TaskInstance] = known_instances(self._task)
        found = (domain.gold_record(one) for one in instances)
        gold: list[TrainingDatum] = [record for record in found if record is not None]
        if not gold:
            self.notes.append("No loss and no estimate: the problems have no gold answers.")
            return None
        if len(gold) < len(instances):
            self.notes.append(
                f"{len(gold)} of {len(instances)} validation problems have a gold answer; the loss "
                "is on these."
            )
        from dataenvgym.trainers.completions import as_completions
        from dataenvgym.trainers.influence import GoldAnswers

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
