"""The trainer in this process: LoRA with torch and PEFT, on CPU or one GPU."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, PositiveInt

from dataenvgym.errors import DatasetFormatError
from dataenvgym.records import TrainingDatum
from dataenvgym.storage import publishing, write_jsonl
from dataenvgym.students.llama_factory import (
    TrainingConfig,
    read_dataset,
    stage_of,
)
from dataenvgym.students.llama_factory.training_config import refuse_options_of_one_training
from dataenvgym.students.trainers.support import (
    STAGES,
    examples_of,
    refuse_unsupported,
)

if TYPE_CHECKING:
    import torch

    from dataenvgym.students.trainers.compute import Run
    from dataenvgym.students.trainers.loop import Step
    from dataenvgym.students.trainers.objectives import Objective


Device = Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")]


class InProcessTrainer:
    """Trains a LoRA adapter from a LLaMA-Factory file, in this process.

    It supports the stages `sft`, `pt`, `dpo` (sigmoid loss) and `kto`, and `scored`, which
    LLaMA-Factory does not have. On CPU, the same files and the same number of threads give the same
    adapter, bit for bit.

    Args:
        threads: CPU cores to compute on.
        device: "cpu", "cuda", or "auto" for CUDA if there is any.
        options: LLaMA-Factory's, as in `TrainingConfig` (`lora_rank`, `learning_rate`,
            `num_train_epochs`, ...), for every training.

    Attributes:
        config: the options of every training.
        left_out: positions of records in the dataset that teach nothing in stage `sft`. All other
            records have the same order, batches and steps as with them, so that two trainings
            differ by these records alone.

    Raises:
        ConfigurationError: for an unknown option, an invalid value, or an option that the
            predictor sets for each training (paths, stage, seed).
        UnsupportedStageError: for an option that LLaMA-Factory has and this trainer lacks.
    """

    passes_options_to: ClassVar = TrainingConfig

    def __init__(self, *, threads: PositiveInt = 2, device: Device = "cpu", **options: Any) -> None:
        refuse_options_of_one_training(options)
        self.threads = threads
        self.device = device
        self.config = TrainingConfig().with_options(**options).accumulating(1)
        self.left_out: Collection[int] = ()
        refuse_unsupported(self.config, stages=STAGES)

    def train(self, config_path: Path) -> Path:
        """Train from the YAML file; return the adapter's folder (option `output_dir`).

        Next to the folder, `trainer_log.jsonl` has the loss, gradient norm and learning rate of
        each step. The folder appears when it is complete.

        Raises:
            UnsupportedStageError: for a stage or option that this trainer does not support.
            DatasetFormatError: if a file is malformed.
            TrainingError: if there is nothing to learn from, all records are cut, or a loss is not
                finite.
        """
        config = TrainingConfig.read(config_path)
        refuse_unsupported(config)
        return train_alone(config, self.threads, self.device, self.left_out)


def train_alone(
    config: TrainingConfig, threads: int, device_name: str, left_out: Collection[int]
) -> Path:
    """Do one training from its start to its end; return the adapter's folder."""
    from dataenvgym.students.trainers.compute import is_large
    from dataenvgym.students.trainers.large import release_memory

    with training(config, threads, device_name, left_out) as begun:
        log = list(begun.steps)
        model = begun.model
    output = write_adapter(config, model, log)
    if is_large(model):
        del model, begun
        release_memory()
    return output


def write_adapter(config: TrainingConfig, model: Any, log: Sequence[Step]) -> Path:
    """Write the log and the adapter of a training that has ended; return the adapter's folder."""
    from dataenvgym.students.trainers import adapters

    output = Path(needed(config, "output_dir"))
    write_jsonl(output.parent / "trainer_log.jsonl", (step.as_json() for step in log))
    with publishing(output) as folder:
        adapters.Adapter.of(model, needed(config, "model_name_or_path")).write(folder)
    return output


class Training(NamedTuple):
    """A training that has begun: `steps` does one after the other, and changes `model`."""

    model: Any
    objective: Objective
    steps: Iterator[Step]
    run: Run


@contextmanager
def training(
    config: TrainingConfig, threads: int, device_name: str, left_out: Collection[int] = ()
) -> Iterator[Training]:
    """Begin a training; its files are read, and no file is written.

    Args:
        left_out: as `InProcessTrainer.left_out`.
    """
    from dataenvgym.students.trainers.compute import global_rng, resolve_device, workers
    from dataenvgym.students.trainers.loop import optimize

    device = resolve_device(device_name)
    with workers(threads, device) as run:
        model, objective = prepare(config, device, run, left_out)
        draws = draws_at_random(model)
        parts = 1 if draws or device.type != "cpu" else threads
        with global_rng(config.seed, device) if draws else nullcontext():
            steps = optimize(model, objective, config, parts=parts, run=run)
            yield Training(model, objective, steps, run)


def prepare(
    config: TrainingConfig, device: torch.device, run: Run, left_out: Collection[int] = ()
) -> tuple[Any, Objective]:
    """The model with the adapter to train, and the loss of the training's records."""
    import torch

    from dataenvgym.students.trainers import adapters
    from dataenvgym.students.trainers.compute import is_large
    from dataenvgym.students.trainers.examples import padding_token, with_all_labels, without_labels
    from dataenvgym.students.trainers.large import release_memory
    from dataenvgym.students.trainers.objectives import DPO, KTO, CrossEntropy, ScoredTurns, padder
    from dataenvgym.students.trainers.scored import ScoredLoss
    from dataenvgym.students.trainers.student import load_base_model, load_tokenizer

    records = _records(config)
    student = needed(config, "model_name_or_path")
    dtype = torch.bfloat16 if config.bf16 else torch.float32
    tokenizer = load_tokenizer(
        student, template=config.template, chat_template_kwargs=config.chat_template_kwargs
    )
    base = load_base_model(student, device=device, dtype=dtype)
    if is_large(base):
        release_memory()
    if config.adapter_name_or_path is None:
        model = adapters.new_adapter(base, config)
    else:
        start = adapters.Adapter.read(Path(config.adapter_name_or_path))
        model = adapters.put_on(base, start, trainable=True)
    # a loss relative to a reference is computed without dropout, like the reference
    is_relative = config.stage == "scored" and ScoredLoss.of(dict(config)).is_relative
    model.train(not is_relative and config.stage not in ("dpo", "kto"))
    adapters.speed_up_layers(model)
    found = examples_of(config, records, tokenizer)
    pad = padder(padding_token(tokenizer), model.device)
    assert not left_out or config.stage == "sft", "records are left out in stage sft only"
    if config.stage == "scored":
        return model, ScoredTurns(found, config, pad, model, run, _reference(config, base))
    if config.stage in ("dpo", "kto"):
        make = DPO if config.stage == "dpo" else KTO
        return model, make(found, config, pad, _reference(config, base), run)
    if config.stage == "sft" and config.extra.get("train_on_prompt"):
        found = [with_all_labels(example) for example in found]
    kept = [without_labels(e) if i in left_out else e for i, e in enumerate(found)]
    return model, CrossEntropy(kept, pad)


def _reference(config: TrainingConfig, base: Any) -> Any:
    """The reference model: the base, or the one that options name."""
    from dataenvgym.students.trainers import adapters

    folder = config.extra.get("ref_model_adapters")
    return adapters.put_on(base, adapters.Adapter.read(Path(str(folder)))) if folder else base


def _records(config: TrainingConfig) -> list[TrainingDatum]:
    folder, names = Path(needed(config, "dataset_dir")), needed(config, "dataset")
    records = list(read_dataset(folder, names))
    if {stage_of(record) for record in records} != {config.stage}:
        kinds = sorted({record.kind for record in records})
        raise DatasetFormatError(
            f"the dataset {names!r} in {folder} has {len(records)} records {kinds}, expected "
            f"some, and all for stage {config.stage!r}"
        )
    return records


def needed(config: TrainingConfig, name: str) -> str:
    """A path or name that each training has."""
    value: str | None = getattr(config, name)
    assert value, name
    return value


def draws_at_random(model: Any) -> bool:
    """Whether computing with the model in training mode uses torch's global generator."""
    dropouts = [module for module in model.modules() if "Dropout" in type(module).__name__]
    rates = [getattr(module, "p", 0.0) for module in dropouts]
    rates.append(getattr(model.config, "attention_dropout", 0.0) or 0.0)
    return bool(model.training) and any(rate > 0 for rate in rates)
