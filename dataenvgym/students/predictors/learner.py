"""A student that learns from files: its options, and its trainings.

records -> dataset/ and training.yaml -> the trainer -> adapter/
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from dataenvgym.errors import ConfigurationError, DataEnvGymError, RunDirectoryError
from dataenvgym.events import counting, warn_run
from dataenvgym.interfaces import AdapterJob, Failure, TrainingRun
from dataenvgym.records import KTODatum, PreferenceDatum, TextDatum, TrainingDatum
from dataenvgym.records.checksums import OF_TRAINING, MarkedFolder
from dataenvgym.records.tool_formats import (
    COMPLETION,
    DEFAULT,
    LLAMA_FACTORY,
    StudentFormat,
    ToolFormat,
    is_completion,
)
from dataenvgym.storage import hash_files, remove_folder
from dataenvgym.students import trainers
from dataenvgym.students.external.models import external_models
from dataenvgym.students.llama_factory import (
    TrainingConfig,
    WrittenDataset,
    stage_of,
    without_weights,
    write_dataset,
)
from dataenvgym.students.llama_factory.training_config import options_of
from dataenvgym.students.pocket import students, tool_format_of
from dataenvgym.students.predictors.checkpoints import (
    copy_checkpoint,
    initial_folder,
    kind_of,
    require_kind,
    save_nothing,
)
from dataenvgym.students.predictors.prompts import SAID, checked_kwargs, refuse_other_prompts
from dataenvgym.students.trainers import InProcessTrainer, TrainerInterface
from dataenvgym.students.trainers.support import warn_of_idle_options

_T = TypeVar("_T")
_CONTINUES = "remove it, and the same command continues"


class RemembersFormer:
    """Two methods of `AblePredictor`, for predictors."""

    _former: Path | Literal["unknown"] | None = None

    def former_adapter(self) -> Path | None:
        """The folder with the adapter from before the last training; None without one.

        Raises:
            ConfigurationError: if it is unknown after `load`.
        """
        if self._former == "unknown":
            raise ConfigurationError(
                "it is not known what the student was before its last training, since what it has "
                "learned was loaded from a folder: name the folder of the former adapter, or "
                "evaluate an iteration of a run (--run RUN)"
            )
        return self._former

    def remember_former(self, folder: Path | None) -> None:
        """Set the adapter from before the last training; the next `load` clears it."""
        self._former = folder


class Learner(RemembersFormer):
    """A predictor that writes files for a trainer.

    Args:
        form: the tool format of that name; raises for one in which the student cannot be asked.

    Attributes:
        student: its folder, or its name on the hub.
        adapter: the folder of its checkpoint from before the episode.
        tool_format: None for a student that completes bare texts.
        chat_template_kwargs: values for its chat template, in evaluation and training.
        threads: CPU cores to train many adapters on.

    Raises:
        ConfigurationError: for an invalid value.
    """

    def __init__(
        self,
        student: str | Path,
        trainer: TrainerInterface,
        *,
        adapter: str | Path | None,
        tool_format: str | None,
        format: StudentFormat,
        chat_template_kwargs: Mapping[str, Any] | None,
        threads: int,
        form: Callable[[str], ToolFormat],
    ) -> None:
        self.student = resolve_student(student)
        self.trainer = trainer
        self.adapter = initial_folder(adapter)
        self.format = format
        self.threads = threads
        self.tool_format: str | None = None
        self._format: ToolFormat = COMPLETION
        options = options_of(trainer)  # raises if it is not a trainer
        if not (is_bare := is_completion(format, tool_format)):
            self.tool_format = tool_format or own_tool_format(self.student)
            self._format = form(self.tool_format)
        elif options.template is not None:
            raise ConfigurationError(
                f"trainer.template is {options.template!r} and student.format 'completion', which "
                "has no template: leave trainer.template out, or set student.format=chat"
            )
        self.chat_template_kwargs = checked_kwargs(
            chat_template_kwargs, self.student, trainer, is_bare=is_bare
        )

    def describe(self) -> dict[str, Any]:
        """The student and its training settings, for the run directory."""
        from dataenvgym.students.trainers.student import fingerprint

        student, options = self.student, options_of(self.trainer)
        described = {
            "name": type(self).__name__,
            "student": Path(student).name if Path(student).is_dir() else student,
            "weights": fingerprint(student),
            "training": options.model_dump(mode="json", exclude_defaults=True),
        }
        if self.tool_format is None:
            described["format"] = "completion"
        elif self.tool_format != DEFAULT:
            described["tool_format"] = self.tool_format
        if self.chat_template_kwargs:
            described["chat_template_kwargs"] = dict(self.chat_template_kwargs)
        return (
            described
            if self.adapter is None
            else {**described, "adapter": hash_files(self.adapter)}
        )

    def check_records(self, records: Sequence[TrainingDatum]) -> None:
        """Raise ConfigurationError for records that the student cannot be trained on."""

    def train_on(
        self,
        records: Sequence[TrainingDatum],
        run: TrainingRun,
        start: Path | None = None,
        *,
        trainer: TrainerInterface | None = None,
    ) -> Path:
        """Write the dataset and the training's file, run the trainer; return the checkpoint.

        All files go into `run.directory`: `dataset/`, `training.yaml`, `adapter/` and the trainer's
        logs. If a complete checkpoint is already there, because the run was interrupted after the
        training, it is returned; one that was damaged since is trained again. Without records
        nothing is trained, and `adapter/` is a copy of the checkpoint from which the training would
        have started.

        Args:
            start: the checkpoint to continue if `run.start` is "adapter"; "base" starts from the
                initial one.
            trainer: None is the student's own.

        Raises:
            ConfigurationError: for records of several stages, or options that cannot work.
            UnsupportedStageError, TrainingError: from the trainer.
        """
        trainer = trainer or self.trainer
        if (path := self.write_training(records, run, start, trainer=trainer)) is None:
            return run.directory / "adapter"
        with run.phase("train"):
            trained = Path(trainer.train(path))
        require_kind(trained)
        _mark(run.directory)
        return trained

    def write_training(
        self,
        records: Sequence[TrainingDatum],
        run: TrainingRun,
        start: Path | None = None,
        *,
        trainer: TrainerInterface | None = None,
    ) -> Path | None:
        """Write the dataset and the training's file for `train_on`; return the file.

        None if there is nothing to train: the checkpoint in `adapter/` is complete.
        """
        trainer, folder = trainer or self.trainer, run.directory / "adapter"
        marks = MarkedFolder(run.directory, _CONTINUES)
        if kind_of(folder) is not None:
            try:
                marks.check(below="adapter/", large=True)
            except RunDirectoryError as error:
                warn_run(f"{folder} is trained again: {error}")
                remove_folder(folder)
            else:
                return None
        marks.forget(name for name in marks.read() if name.startswith(OF_TRAINING))
        if run.start == "base":
            start = self.adapter
        kwargs, form = self.chat_template_kwargs, self._format
        options = options_of(trainer).with_options(chat_template_kwargs=kwargs)
        if not (learned := _learnable(records, options, form)):
            if start is None:
                save_nothing(folder, self.student)
            else:
                copy_checkpoint(start, folder)
            return None
        if options.curriculum is not None:
            if (stage := stage_of(learned[0])) != "sft":
                raise ConfigurationError(
                    f"trainer.curriculum is set, and the records are for stage {stage!r}, expected "
                    "'sft' (supervised records and chats): leave it out"
                )
            options = options.with_options(curriculum=options.curriculum.placed(learned))
        with run.phase("dataset"):
            if form is COMPLETION:
                from dataenvgym.students.trainers.completions import as_completions

                learned = as_completions(learned, self.student)
                options, form = options.with_options(template="empty"), LLAMA_FACTORY
            elif (
                options.template is None
                and not isinstance(trainer, InProcessTrainer)
                and isinstance(trainer, trainers.LlamaFactoryTrainer)
            ):
                is_last = isinstance(learned[0], PreferenceDatum | KTODatum)
                plain = (
                    form.flatten(getattr(one, "conversation", (*one.prompt, SAID)))
                    for one in learned
                    if not isinstance(one, TextDatum)
                )
                refuse_other_prompts(plain, self.student, options, is_last=is_last)
            shutil.rmtree(run.directory / "dataset", ignore_errors=True)
            dataset = write_dataset(run.directory / "dataset", learned, tool_format=form)
            path = run.directory / "training.yaml"
            _of_one_training(options, dataset, run, self.student, start).write(path)
        warn_of_idle_options(options, records, dataset.stage)
        return path

    def train_each(self, jobs: Sequence[AdapterJob]) -> list[Path | Failure]:
        """See `AblePredictor`; trainings of the in-process trainer share their steps."""
        from dataenvgym.students.trainers.together import TrainingRequest, train_each

        def begun(job: AdapterJob) -> Path | TrainingRequest:
            trainer: Any = job.trainer or self.trainer
            run = replace(job.run, start="base")
            self.check_records(job.records)
            if job.trainer is not None:
                is_bare, kwargs = self._format is COMPLETION, self.chat_template_kwargs
                checked_kwargs(kwargs, self.student, trainer, is_bare=is_bare)
            if type(trainer).train is not InProcessTrainer.train:
                trained = self.train_on(job.records, run, trainer=trainer)
                counter.add()
                return trained
            if (path := self.write_training(job.records, run, trainer=trainer)) is None:
                counter.skip(1)  # it was trained before
                return run.directory / "adapter"
            request = TrainingRequest(trainer, path)
            request.done.add_done_callback(lambda _: request.context.run(counter.add))
            request.done.add_done_callback(lambda _: _mark(run.directory))
            return request

        def ended(get: Callable[[], _T]) -> _T | Failure:
            try:
                return get()
            except DataEnvGymError as error:
                return Failure.of_training(error)

        with counting("adapters", len(jobs)) as counter:  # before the requests copy the context
            started = [ended(partial(begun, job)) for job in jobs]
            counter.add(sum(isinstance(one, Failure) for one in started))
            train_each([one for one in started if isinstance(one, TrainingRequest)], self.threads)
        return [
            ended(one.done.result) if isinstance(one, TrainingRequest) else one for one in started
        ]


def _mark(directory: Path) -> None:
    """Mark the files that a training wrote (see `checksums`)."""
    MarkedFolder(directory, _CONTINUES).mark_all()


def _learnable(
    training_data: Sequence[TrainingDatum], options: TrainingConfig, tool_format: ToolFormat
) -> Sequence[TrainingDatum]:
    """The records for the trainer, with scored ones converted as the option `scored_as` says."""
    if options.scored_as is None:
        return training_data
    kept = without_weights(
        training_data,
        options.scored_as,
        threshold=options.scored_threshold,
        segment=options.scored_segment or 1,
        tool_format=tool_format,
    )
    if training_data and not kept:
        warn_run(
            f"{len(training_data)} scored records give nothing to train on with "
            f"scored_as={options.scored_as} (see its options); the student stays as it was"
        )
    return kept


def _of_one_training(
    options: TrainingConfig,
    dataset: WrittenDataset,
    run: TrainingRun,
    student: str,
    start: Path | None,
) -> TrainingConfig:
    config = options.with_options(
        model_name_or_path=student,
        stage=dataset.stage,
        dataset=dataset.name,
        dataset_dir=dataset.folder,
        output_dir=run.directory / "adapter",
        seed=run.seed % 2**32,
    )
    if start is None:
        return config
    if kind_of(start) == "student":
        if config.finetuning_type == "lora":
            raise ConfigurationError(
                f"{start} is a whole student, and finetuning_type 'lora' would train an adapter "
                "for it that fits no other: expected 'full' or 'freeze', as it was trained"
            )
        return config.with_options(model_name_or_path=str(start.resolve()))
    config = config.with_options(adapter_name_or_path=str(start.resolve()))
    if dataset.stage in ("dpo", "kto"):
        # preferences are compared with the present student, not with the base
        reference = {"ref_model": student, "ref_model_adapters": str(start.resolve())}
        config = config.with_options(extra={**config.extra, **reference})
    return config


def resolve_student(student: str | Path) -> str:
    """The student's folder, or its name on the hub.

    Raises:
        ConfigurationError: if a path names no folder.
        ExternalError: if it is a model of `external install` that is not installed.
    """
    if (pocket := students().get(str(student))) is not None:
        return str(pocket)
    if (model := external_models().get(str(student))) is not None:
        return str(model.require().folder)
    path = Path(student).expanduser()
    if not path.is_dir() and (path.is_absolute() or str(student).startswith(("./", "../", "~"))):
        raise ConfigurationError(
            f"student is {str(student)!r}, and there is no such folder; expected 'pocket', "
            "'smollm2', a folder in Hugging Face format, or a name on its hub"
        )
    return str(path.resolve()) if path.is_dir() else str(student)


def own_tool_format(student: str) -> str:
    """The tool format of a student (see `resolve_student`) by default."""
    if (known := tool_format_of(student)) is not None:
        return known
    models = external_models().values()
    own = {model.folder.resolve(): model.tool_format for model in models}
    return own.get(Path(student).resolve(), DEFAULT)
