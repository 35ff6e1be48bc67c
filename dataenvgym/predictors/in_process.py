"""The student in this process: transformers and PEFT, on CPU or one GPU."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError, TrainingError, did_you_mean
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.llama_factory import TrainingConfig, WrittenDataset, write_dataset
from dataenvgym.predictors.adapted_student import AdaptedStudent, is_loadable
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.trainers import InProcessTrainer, TrainerInterface
from dataenvgym.trainers.interface import ADAPTER_FILES

_OPTIONS = ("batch_size", "threads", "device", "dtype")
_DTYPES = ("float32", "bfloat16", "float16")


class InProcessPredictor:
    """A student that transformers runs and PEFT adapts.

    It is loaded when it is first needed; the base model once, however often adapters change. On
    CPU, replies depend on the call and on `batch_size` alone; `threads` changes none of them. All
    methods may be called from any thread; what computes on CPU computes one call at a time.

    Args:
        student: "pocket" for the student that comes with the package, a folder in Hugging Face
            format, or a name on its hub. It must have a chat template.
        trainer: who trains; the in-process trainer with its default options if None.
        batch_size: how many conversations are answered at the same time, at most.
        threads: CPU cores to compute on, one batch on each.
        device: "cpu", "cuda", or "auto" for CUDA where there is some.
        dtype: "float32", "bfloat16" or "float16".

    Raises:
        ConfigurationError: for a value that cannot be; for a student that cannot be loaded, when
            it is first needed.
    """

    def __init__(
        self,
        student: str | Path = "pocket",
        trainer: TrainerInterface | None = None,
        *,
        batch_size: int = 64,
        threads: int = 2,
        device: str = "cpu",
        dtype: str = "float32",
    ) -> None:
        for name, value in (("batch_size", batch_size), ("threads", threads)):
            if value < 1:
                raise ConfigurationError(f"{name} is {value}, expected 1 or more")
        if dtype not in _DTYPES:
            raise ConfigurationError(
                f"dtype is {dtype!r}, expected one of {', '.join(_DTYPES)}."
                f"{did_you_mean(dtype, _DTYPES)}"
            )
        self.student = _resolve(student)
        self.trainer = trainer or InProcessTrainer(threads=threads, device=device)
        self.batch_size = batch_size
        self.threads = threads
        self.device = device
        self.dtype = dtype
        self._student = AdaptedStudent(self.student, device=device, dtype=dtype)
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied or sent to another process, it is the untouched student there, not yet loaded."""
        options = {name: getattr(self, name) for name in _OPTIONS}
        return partial(type(self), **options), (self.student, self.trainer)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation, in their order.

        A conversation that is too long for the student, or that its chat template cannot render,
        is a failure; the others are answered.
        """
        from dataenvgym.predictors.generation import context_length
        from dataenvgym.predictors.prompts import encode_prompts

        with self._lock:
            context = context_length(self._student.model)
            prompts = encode_prompts(self._student.tokenizer, conversations, context=context)
            answered = [prompt for prompt in prompts if not isinstance(prompt, Failure)]
            limits = [
                sampling.max_tokens if context is None else min(sampling.max_tokens, context - n)
                for n in map(len, answered)
            ]
            replies = iter(self._generate(answered, limits, sampling))
        return [p if isinstance(p, Failure) else next(replies) for p in prompts]

    def _generate(
        self, prompts: list[list[int]], limits: list[int], sampling: SamplingParameters
    ) -> list[Reply]:
        if not prompts:
            return []
        import torch

        from dataenvgym.predictors.generation import Generated, generate
        from dataenvgym.predictors.sampling import Nucleus, Sampler, greedy, uniform_numbers
        from dataenvgym.trainers.compute import workers

        model, tokenizer = self._student.model, self._student.tokenizer
        end_tokens = self._student.end_tokens
        is_greedy = sampling.temperature == 0.0
        numbers = [] if is_greedy else uniform_numbers(prompts, sampling)

        def answer(batch: list[int]) -> list[Generated]:
            draw: Sampler = greedy
            if not is_greedy:
                uniform = torch.stack([numbers[i] for i in batch]).to(model.device)
                draw = Nucleus(sampling.temperature, sampling.top_p, uniform)
            chosen, limit = [prompts[i] for i in batch], [limits[i] for i in batch]
            return generate(model, chosen, limit, draw, end_tokens=end_tokens)

        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        with workers(self.threads, model.device) as run:
            generated = [reply for replies in run(answer, batches) for reply in replies]
        tokens = [reply.tokens for reply in generated]
        texts = tokenizer.batch_decode(tokens, skip_special_tokens=True)
        replies: dict[int, Reply] = {}
        for i, text, reply in zip(order, texts, generated, strict=True):
            replies[i] = Reply(text=text, finish_reason="stop" if reply.ended else "length")
        return [replies[i] for i in range(len(prompts))]

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Write the dataset and the training's file, have the trainer train, load the adapter.

        All of it goes into `run.directory`: `dataset/`, `training.yaml`, `adapter/` and the
        trainer's log. If a whole adapter is already there, because the run was interrupted after
        the training, it is loaded and nothing else happens. Without training data nothing is
        trained, and `adapter/` holds what the training would have started from.

        If it raises, the student answers as before.

        Raises:
            ConfigurationError: for records of several stages, or options that cannot work.
            UnsupportedStageError, TrainingError, AdapterError: as the trainer and `load` do.
        """
        folder = run.directory / "adapter"
        if not is_loadable(folder):
            if training_data:
                with run.phase("dataset"):
                    config_path = self._write_files(training_data, run)
                with run.phase("train"):
                    folder = self.trainer.train(config_path)
            else:
                start = self._student if run.start == "adapter" else self._untouched()
                start.save(folder)
        if not is_loadable(folder):
            raise TrainingError(
                f"{type(self.trainer).__name__} returned {folder}, where there is no adapter: "
                f"expected {' and '.join(ADAPTER_FILES)}"
            )
        with run.phase("load"):
            self.load(folder)

    def _write_files(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> Path:
        """Write the dataset and the YAML file; the file's path."""
        folder = run.directory / "dataset"
        shutil.rmtree(folder, ignore_errors=True)
        dataset = write_dataset(folder, training_data)
        path = run.directory / "training.yaml"
        self._training_config(dataset, run).write(path)
        return path

    def _training_config(self, dataset: WrittenDataset, run: TrainingRun) -> TrainingConfig:
        config = self.trainer.config.with_options(
            model_name_or_path=self.student,
            stage=dataset.stage,
            dataset=dataset.name,
            dataset_dir=dataset.folder,
            output_dir=run.directory / "adapter",
            seed=run.seed % 2**32,
        )
        if run.start == "base" or self._student.is_untouched:
            return config
        start = self._student.adapter_folder
        if start is None or not is_loadable(start):
            start = run.directory / "start"
            self._student.save(start)
        config = config.with_options(adapter_name_or_path=str(start.resolve()))
        if dataset.stage in ("dpo", "kto"):
            # preferences are measured against the student as it is now, not against the base
            reference = {"ref_model": self.student, "ref_model_adapters": str(start.resolve())}
            config = config.with_options(extra={**config.extra, **reference})
        return config

    def save(self, path: Path) -> None:
        """Write the adapter in PEFT format to the folder `path`.

        A student that has learnt nothing has no adapter: then the folder says so, in a file that
        `load` understands and PEFT does not.
        """
        self._student.save(path)

    def load(self, path: Path) -> None:
        """Answer with the adapter in `path`, which `save`, a trainer or PEFT wrote.

        Raises:
            AdapterError: if there is none, or it is broken or fits another student; the student
                then answers as before.
        """
        with self._lock:
            self._student.load(path)

    def reset(self) -> None:
        """Be the untouched base student again."""
        with self._lock:
            self._student.reset()

    def describe(self) -> dict[str, Any]:
        """Who the student is and how it learns, for the run directory."""
        from dataenvgym.trainers.student import fingerprint

        is_folder = Path(self.student).is_dir()
        return {
            "name": type(self).__name__,
            "student": Path(self.student).name if is_folder else self.student,
            "weights": fingerprint(self.student),
            "training": self.trainer.config.model_dump(mode="json", exclude_defaults=True),
        }

    def _untouched(self) -> AdaptedStudent:
        return AdaptedStudent(self.student, device="cpu", dtype="float32")


def _resolve(student: str | Path) -> str:
    """The student's folder, or its name on the hub."""
    if student == "pocket":
        from dataenvgym.pocket import student_path

        return str(student_path())
    path = Path(student).expanduser()
    if not path.is_dir() and (path.is_absolute() or str(student).startswith(("./", "../", "~"))):
        raise ConfigurationError(
            f"student is {str(student)!r}, and there is no such folder; expected 'pocket', "
            "a folder in Hugging Face format, or a name on its hub"
        )
    return str(path.resolve()) if path.is_dir() else str(student)
