"""The student in this process: transformers and PEFT, on CPU or one GPU."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import PositiveInt

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TrainingRun,
)
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.records.tool_formats import StudentFormat, training_format
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.training_config import options_of, trainer_with
from dataenvgym.students.predictors.adapted_student import AdaptedStudent, BaseStudent
from dataenvgym.students.predictors.checkpoints import kind_of
from dataenvgym.students.predictors.learner import Learner
from dataenvgym.students.trainers import InProcessTrainer, TrainerInterface
from dataenvgym.students.trainers.in_process import Device
from dataenvgym.students.trainers.support import refuse_unsupported

OPTIONS = (
    *("adapter", "batch_size", "threads", "device", "dtype", "tool_format", "format"),
    "chat_template_kwargs",
)
Dtype = Literal["float32", "bfloat16", "float16"]


class InProcessPredictor(Learner):
    """A student that runs with transformers and learns with PEFT.

    It is loaded at first use, and the base model only once, however often adapters change. On CPU,
    replies depend only on the call and on `batch_size`, not on `threads`. All methods may be called
    from any thread; on CPU, one call computes at a time.

    Args:
        student: "pocket", or the name of another pocket student (`Task.student`), "smollm2"
            (`dataenvgym external install smollm2`), a folder in Hugging Face format, or a name on
            its hub.
        trainer: an object with `train` (see `TrainerInterface`); None uses the in-process trainer
            with its default options.
        adapter: the folder of the student's initial adapter; `reset` returns to it.
        batch_size: largest number of conversations answered at the same time.
        threads: CPU cores to compute on, one batch on each.
        device: "cpu", "cuda", or "auto" for CUDA if there is any.
        dtype: "float32", "bfloat16" or "float16".
        tool_format: how tools and calls are written in prompts and training data (see
            `tool_formats`); None uses "hermes" for "smollm2", the format of its pretraining for a
            pocket student, or else "llama_factory".
        format: "chat" puts prompts into the student's chat template, which it must have.
            "completion" gives the student the bare text to complete, and trains it on prompt and
            completion (docs/real_model.md).
        chat_template_kwargs: values for the student's chat template, such as {enable_thinking:
            false}, in evaluation and training (docs/teachers.md).

    Raises:
        ConfigurationError: for an invalid value; at first use, if the student cannot be loaded.
    """

    def __init__(
        self,
        student: str | Path = "pocket",
        trainer: TrainerInterface | None = None,
        *,
        adapter: str | Path | None = None,
        batch_size: PositiveInt = 64,
        threads: PositiveInt = 2,
        device: Device = "cpu",
        dtype: Dtype = "float32",
        tool_format: str | None = None,
        format: StudentFormat = "chat",
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            student,
            trainer or InProcessTrainer(threads=threads, device=device),
            adapter=adapter,
            tool_format=tool_format,
            format=format,
            chat_template_kwargs=chat_template_kwargs,
            threads=threads,
            form=training_format,
        )
        self.batch_size = batch_size
        self.device = device
        self.dtype = dtype
        base = BaseStudent(
            self.student,
            device=device,
            dtype=dtype,
            tool_format=self._format,
            chat_template_kwargs=self.chat_template_kwargs,
            batch_size=batch_size,
            threads=threads,
        )
        self._loaded = AdaptedStudent(base)
        self._is_fresh = self.adapter is not None  # the adapter has yet to be loaded
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or one sent to another process, is the untouched student, not yet loaded."""
        options = {name: getattr(self, name) for name in OPTIONS}
        return partial(type(self), **options), (self.student, self.trainer)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation, in their order.

        A conversation that is too long for the student, or that its chat template cannot render,
        is a failure; the others are answered.

        Raises:
            ConfigurationError: if `sampling` has a `json_schema`.
        """
        with self._lock:
            return self._student.replies(conversations, sampling)

    def refusals(self, conversations: Sequence[Conversation]) -> list[Failure | None]:
        """The failure of each conversation that could not be answered; None for the others.

        Nothing is answered: it says before an evaluation that its problems are too long.
        """
        with self._lock:
            return self._student.refusals(conversations)

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Write the dataset and the training's file, run the trainer, load the adapter.

        All files go into `run.directory` (see `Learner.train_on`). If it raises, the student
        answers as before.

        Raises:
            ConfigurationError: for records of several stages, or options that cannot work.
            UnsupportedStageError, TrainingError, AdapterError: from the trainer and `load`.
        """
        before = self.adapter if self._is_fresh else self._loaded.folder
        start = self._current(run) if run.start == "adapter" else None
        folder = self.train_on(training_data, run, start)
        with run.phase("load"):
            self.load(folder)
        self.remember_former(before)

    @property
    def _student(self) -> AdaptedStudent:
        """The student with its initial adapter."""
        with self._lock:
            if self._is_fresh and self.adapter is not None:
                self._loaded.load(self.adapter)
                self._is_fresh = False
            return self._loaded

    def _current(self, run: TrainingRun) -> Path | None:
        """The folder with the present adapter; written again if it is gone."""
        folder = self._student.folder
        if folder is not None and kind_of(folder) is None:
            folder = run.directory / "start"
            self._student.save(folder)
        return folder

    def save(self, path: Path) -> None:
        """Write the adapter in PEFT format to the folder `path`.

        A student that has learned nothing has no adapter: the folder then has a note about that,
        which `load` understands and PEFT does not. A student whose own weights were trained
        (`full`, `freeze`) is written as a whole.
        """
        self._student.save(path)

    def load(self, path: Path) -> None:
        """Answer with the adapter (or whole student) in `path`, from `save`, a trainer or PEFT.

        Raises:
            AdapterError: if there is none, or it is broken or fits another student; the student
                then answers as before.
        """
        with self._lock:
            self._loaded.load(path)
            self._is_fresh, self._former = False, "unknown"

    def with_adapter(self, folder: Path | None) -> PredictorInterface:
        """A predictor that answers with the adapter in `folder`; None for the untouched student.

        It shares the base model's weights, also in float32, where the order of two almost equally
        likely tokens may differ from that after `load`. A whole student has weights of its own. The
        student itself is unchanged, and both compute one call at a time.

        Raises:
            AdapterError: see `load`.
        """
        folder = self.adapter if folder is None else folder
        with self._lock:
            student = AdaptedStudent(self._loaded.base, apart=True)
            if folder is not None:
                student.load(folder)
        return _Beside(self, student)

    def predict_each(
        self,
        adapters: Sequence[Path | None],
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
    ) -> list[Reply | Failure]:
        """See `AblePredictor`.

        Adapters with few conversations each answer in common batches; others one after another.
        """
        folders = [self.adapter if folder is None else folder for folder in dict.fromkeys(adapters)]
        numbers = {folder: i for i, folder in enumerate(dict.fromkeys(adapters))}
        few = len(conversations) < len(numbers) * self.batch_size / 2
        with self._lock:
            shared = self._loaded.base.row_adapters(folders) if few else None
            if shared is not None:
                of_rows = [numbers[folder] for folder in adapters]
                untouched = AdaptedStudent(self._loaded.base)
                return untouched.replies(conversations, sampling, shared, of_rows)
            replies: dict[int, Reply | Failure] = {}
            for folder, own_folder in zip(numbers, folders, strict=True):
                student = AdaptedStudent(self._loaded.base)
                if own_folder is not None:
                    student.load(own_folder)
                own = [i for i, other in enumerate(adapters) if other == folder]
                asked = [conversations[i] for i in own]
                replies |= zip(own, student.replies(asked, sampling), strict=True)
        return [replies[i] for i in range(len(conversations))]

    def reset(self) -> None:
        """Return to the untouched student with its initial adapter."""
        with self._lock:
            self._loaded.reset()
            self._is_fresh = self.adapter is not None
            self.remember_former(None)

    @property
    def has_learned(self) -> bool:
        """Whether it answers with something else than its initial adapter."""
        with self._lock:
            return self._loaded.folder not in (None, self.adapter)

    # --- what records would teach: files are written as for a training, in a temporary folder ---

    def losses(
        self,
        records: Sequence[TrainingDatum],
        *,
        learned: Sequence[TrainingDatum] = (),
        seed: int = 0,
    ) -> list[float]:
        """See `AblePredictor`."""
        from dataenvgym.students.trainers.record_measures import losses

        with TemporaryDirectory() as scratch:
            folder, start = Path(scratch), None
            if learned:
                run = TrainingRun(_made(folder / "learned"), seed)
                start = self.train_on(learned, run, trainer=self._without_curriculum)
            config = self._file(records, _made(folder / "records"), start=start)
            return losses(config, self.threads, self.device)

    def influences(
        self,
        records: Sequence[TrainingDatum],
        targets: Sequence[Sequence[TrainingDatum]],
        *,
        warmup: Sequence[TrainingDatum],
        epochs: int,
        seed: int = 0,
    ) -> list[float]:
        """See `AblePredictor`.

        Raises:
            UnsupportedStageError: for options of the trainer that only LLaMA-Factory has.
        """
        from dataenvgym.students.trainers.record_measures import influences

        trainer = trainer_with(
            self.trainer, {"num_train_epochs": epochs, "max_steps": -1, "curriculum": None}
        )
        with TemporaryDirectory() as scratch:
            folder = Path(scratch)
            first = self._file(warmup, _made(folder / "warmup"), seed=seed, trainer=trainer)
            refuse_unsupported(first)
            pool, *groups = (
                self._file(each, _made(folder / str(i)))
                for i, each in enumerate([records, *targets])
            )
            return influences(first, pool, groups, self.threads, self.device)

    @property
    def _without_curriculum(self) -> TrainerInterface:
        """The trainer for all records at once: a curriculum names those of an iteration."""
        if options_of(self.trainer).curriculum is None:
            return self.trainer
        return trainer_with(self.trainer, {"curriculum": None})

    def _file(
        self,
        records: Sequence[TrainingDatum],
        directory: Path,
        *,
        start: Path | None = None,
        seed: int = 0,
        trainer: TrainerInterface | None = None,
    ) -> TrainingConfig:
        """The file of a training on the records, which begins at `start` or the present student."""
        strange = next((r.kind for r in records if r.kind not in ("supervised", "chat")), None)
        if strange is not None or not records:
            found = f", one of kind {strange!r}" if strange is not None else ""
            raise ConfigurationError(
                f"{len(records)} records to measure{found}, expected at least one, and only "
                "supervised records and chats: select others with agent=pool_random or pool_diverse"
            )
        run = TrainingRun(directory, seed, "adapter")
        start = self._current(run) if start is None else start
        path = self.write_training(records, run, start, trainer=trainer or self._without_curriculum)
        assert path is not None  # there are records, and no adapter yet
        return TrainingConfig.read(path)


class _Beside:
    """Another adapter on the base model of a predictor."""

    def __init__(self, owner: InProcessPredictor, student: AdaptedStudent) -> None:
        self._owner = owner
        self._student = student

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """See `InProcessPredictor.predict`."""
        with self._owner._lock:
            return self._student.replies(conversations, sampling)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
