"""The YAML file for `llamafactory-cli train`, as a typed model.

Fields have exactly the names of LLaMA-Factory's options, so LLaMA-Factory accepts our files, and we
can read files from others. Options without a field go through `extra`. A name that LLaMA-Factory
does not know never gets into a file, because it would refuse the whole file. The exceptions are
for our trainers alone: stage `scored`, which LLaMA-Factory lacks, with its options `scored_...`,
`curriculum`, and `chat_template_kwargs` other than LLaMA-Factory's own `enable_thinking`.

Defaults suit the pocket student. Ours differ where LLaMA-Factory's own would get in the way: no
checkpoints (the adapter is saved at the end), an output folder may exist, no cached data, no
packing (LLaMA-Factory packs in stage `pt`, and drops an incomplete block: all of a small data set).

A trainer has the options of all its trainings as its `config` (`options_of`, `trainer_with`).
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, ValidationError, model_validator

from dataenvgym import storage
from dataenvgym.errors import ConfigurationError, DatasetFormatError, first_fault
from dataenvgym.interfaces import TrainerInterface
from dataenvgym.options import Given
from dataenvgym.records import Model
from dataenvgym.students.llama_factory.curriculum import Curriculum

PathOption = Annotated[str, BeforeValidator(lambda v: os.fspath(v) if isinstance(v, Path) else v)]
NamesOption = Annotated[
    str, BeforeValidator(lambda v: ",".join(map(str, v)) if isinstance(v, list | tuple) else v)
]
"""Names with commas between; LLaMA-Factory also accepts a list."""

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
"""The files in an adapter's folder, in PEFT's format."""

# LLaMA-Factory's own defaults, where they differ from ours.
_SILENT: Mapping[str, JsonValue] = {
    "do_train": False,
    "lora_rank": 8,
    "cutoff_len": 2048,
    "overwrite_cache": False,
    "overwrite_output_dir": False,
    "logging_steps": 500,
    "save_strategy": "steps",
    "per_device_train_batch_size": 8,
    "learning_rate": 5e-5,
    "num_train_epochs": 3.0,
    "lr_scheduler_type": "linear",
    "seed": 42,
}

Schedule = Literal[
    "linear",
    "cosine",
    "cosine_with_restarts",
    "polynomial",
    "constant",
    "constant_with_warmup",
    "inverse_sqrt",
]
_OF_ONE_TRAINING = (
    *("model_name_or_path", "adapter_name_or_path", "stage", "dataset", "dataset_dir"),
    *("output_dir", "chat_template_kwargs", "seed"),
)


class TrainingConfig(Model):
    """One training, in LLaMA-Factory's terms.

    Attributes are LLaMA-Factory's options with the same meaning; these need an explanation:

    Attributes:
        model_name_or_path, dataset, dataset_dir, output_dir: None until the place of the training
            is known.
        adapter_name_or_path: the adapter to continue; None starts a new one.
        dataset: one name, or several with commas between.
        template: name of a LLaMA-Factory template; None uses the tokenizer's own chat template.
        stage: "rm" and "ppo" are only for LLaMA-Factory: no trainer in this package has them.
            "scored" is ours, and needs one of our trainers.
        finetuning_type: "freeze" and "full" train the student's own weights; `output_dir` then
            has a whole student, not an adapter.
        lora_target: module names with commas between, or "all" for every linear layer.
        pref_discount: lets later turns of a pair's segments count less, as DMPO does (.7, say):
            turn t of T counts (1 - discount^(T - t)) / (1 - discount^T), from t = 0. None: all
            count the same.
        scored_reduction: how the losses of an update's scored records are combined: "mean" or "sum"
            over conversations, in each of which all turns count the same, or "token_mean", in
            which all tokens count the same (DAPO).
        scored_clip: limits the change by one training: it clips the ratio of a token's probability
            to the one at sampling time to 1 - clip .. 1 + clip (PPO; .2 is usual). None: no clip.
        scored_clip_high: another bound above, 1 + clip_high (DAPO uses .28). None: as scored_clip.
        scored_clip_dual: for weights below 0, the ratio from which on nothing more is learned,
            above 1 (dual-clip PPO; 10, say). None: no bound.
        scored_kl: the weight of a penalty for the distance from the base, the KL divergence (GRPO;
            1e-4, say). The base is the student without an adapter; if its own weights are trained,
            the student before the training. None: no penalty.
        scored_as: the kind into which scored records are converted before a training: "sft" takes
            the dialogues that are good enough, "kto" each turn by the sign of its weight, "dpo"
            pairs of replies to the same beginning. None keeps them, for the trainer's stage
            `scored`.
        scored_segment: how many turns each side of a pair has for `scored_as="dpo"`, from the first
            that differs on: a number, or "tail" for all that both have; None is 1, the only number
            that LLaMA-Factory supports.
        scored_threshold: the mean weight of a dialogue that is good enough for `scored_as="sft"`.
        chat_template_kwargs: values that the chat template has in every prompt, from the predictor.
        quantization_bit: loads the student quantized to this number of bits (QLoRA).
        deepspeed: DeepSpeed's configuration, or the path of a file with it.
        effective_batch_size: the number of records of an update, over all devices: the trainer sets
            `gradient_accumulation_steps` by it. None leaves that as it is.
        curriculum: sections of a training in stage `sft`, one after another, each with its mixture
            of records; in place of `num_train_epochs` (docs/strategies.md#a-curriculum). None
            trains on all records in random order.
        max_steps: -1 uses `num_train_epochs`.
        warmup_steps: a number of steps, or, below 1, a share of all steps.
        seed: below 2**32, numpy's limit.
        extra: more options of LLaMA-Factory by name, written unchanged.
    """

    model_config = ConfigDict(allow_inf_nan=False, protected_namespaces=())

    model_name_or_path: Given[PathOption | None] = None
    adapter_name_or_path: Given[PathOption | None] = None

    stage: Given[Literal["pt", "sft", "rm", "ppo", "dpo", "kto", "scored"]] = "sft"
    do_train: Given[bool] = True
    finetuning_type: Literal["lora", "freeze", "full"] = "lora"
    lora_rank: int = Field(default=16, ge=1)
    lora_alpha: int = Field(default=32, ge=1)
    lora_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    lora_target: NamesOption = Field(default="all", min_length=1)
    use_rslora: bool = False
    use_dora: bool = False
    quantization_bit: Literal[2, 3, 4, 5, 6, 8] | None = None
    deepspeed: PathOption | dict[str, JsonValue] | None = None
    pref_beta: float = Field(default=0.1, gt=0.0)
    pref_ftx: float = Field(default=0.0, ge=0.0)
    pref_discount: float | None = Field(default=None, gt=0.0, lt=1.0)
    pref_loss: Literal["sigmoid", "hinge", "ipo", "kto_pair", "orpo", "simpo"] = "sigmoid"
    kto_chosen_weight: float = Field(default=1.0, ge=0.0)
    kto_rejected_weight: float = Field(default=1.0, ge=0.0)
    scored_reduction: Literal["mean", "sum", "token_mean"] = "mean"
    scored_clip: float | None = Field(default=None, gt=0.0, lt=1.0)
    scored_clip_high: float | None = Field(default=None, gt=0.0)
    scored_clip_dual: float | None = Field(default=None, gt=1.0)
    scored_kl: float | None = Field(default=None, ge=0.0)
    scored_as: Literal["sft", "kto", "dpo"] | None = None
    scored_threshold: float = 0.5
    scored_segment: Annotated[int, Field(ge=1)] | Literal["tail"] | None = None

    dataset: Given[NamesOption | None] = None
    dataset_dir: Given[PathOption | None] = None
    template: str | None = None
    cutoff_len: int = Field(default=512, ge=2)
    packing: bool = False
    overwrite_cache: Given[bool] = True

    output_dir: Given[PathOption | None] = None
    overwrite_output_dir: Given[bool] = True
    chat_template_kwargs: Given[dict[str, JsonValue]] = {}
    logging_steps: int = Field(default=10, ge=1)
    save_strategy: Literal["no", "steps", "epoch", "best"] = "no"
    report_to: NamesOption = "none"

    per_device_train_batch_size: int = Field(default=16, ge=1)
    gradient_accumulation_steps: int = Field(default=1, ge=1)
    effective_batch_size: int | None = Field(default=None, ge=1)
    curriculum: Curriculum | None = None
    learning_rate: float = Field(default=1e-3, gt=0.0)
    num_train_epochs: float = Field(default=5.0, gt=0.0)
    max_steps: int = Field(default=-1, ge=-1)
    lr_scheduler_type: Schedule = "cosine"
    warmup_steps: float = Field(default=0.0, ge=0.0)
    weight_decay: float = Field(default=0.0, ge=0.0)
    max_grad_norm: float = Field(default=1.0, ge=0.0)
    bf16: bool = False
    fp16: bool = False
    seed: Given[int] = Field(default=0, ge=0, lt=2**32)

    extra: dict[str, JsonValue] = {}

    @model_validator(mode="after")
    def _fits_together(self) -> TrainingConfig:
        bounds = self.scored_clip_high, self.scored_clip_dual
        for is_idle, name in (
            (self.curriculum is not None and self.max_steps > 0, "max_steps, with a curriculum"),
            (
                self.scored_clip is None and any(bounds),
                "scored_clip_high or scored_clip_dual, without scored_clip (0.2 is usual)",
            ),
            (
                bool(self.chat_template_kwargs) and "enable_thinking" in self.extra,
                "extra.enable_thinking, beside predictor.chat_template_kwargs",
            ),
            (self.bf16 and self.fp16, "fp16, with bf16"),
            (bool(self.extra.keys() & type(self).model_fields), "extra, of an option of its own"),
        ):
            if is_idle:
                raise ValueError(f"the trainer would not use {name}: leave it out")
        return self

    def with_options(self, **options: Any) -> TrainingConfig:
        """A copy of this configuration with some options changed, checked like any other.

        Raises:
            ConfigurationError: for an unknown option or an invalid value.
        """
        try:
            return TrainingConfig(**{**dict(self), **options})
        except ValidationError as error:
            raise ConfigurationError(first_fault(error)) from None

    def accumulating(self, n_devices: int) -> TrainingConfig:
        """The configuration for so many devices: what `effective_batch_size` means there.

        Raises:
            ConfigurationError: if it is no multiple of the batches of all devices, or if
                `gradient_accumulation_steps` is set too.
        """
        if (wanted := self.effective_batch_size) is None:
            return self
        together = self.per_device_train_batch_size * n_devices
        if wanted % together or self.gradient_accumulation_steps not in (1, wanted // together):
            raise ConfigurationError(
                f"effective_batch_size is {wanted}, expected a multiple of {together} "
                f"(per_device_train_batch_size times {n_devices}, the number of devices), and no "
                "gradient_accumulation_steps"
            )
        return self.with_options(gradient_accumulation_steps=wanted // together)

    def options(self) -> dict[str, JsonValue]:
        """All options in LLaMA-Factory's form, without those that are None."""
        # used before a dataset is written, or before a training
        own = {"effective_batch_size", "scored_as", "scored_threshold", "scored_segment"}
        if self.stage != "scored":
            own |= {name for name in type(self).model_fields if name.startswith("scored_")}
        if self.stage != "dpo":
            own.add("pref_discount")
        given = self.chat_template_kwargs
        is_theirs = len(given) == 1 and isinstance(given.get("enable_thinking"), bool)
        if is_theirs or not given:
            own.add("chat_template_kwargs")
        found = self.model_dump(exclude_none=True, exclude={"extra", "curriculum", *own})
        if self.curriculum is not None:
            found["curriculum"] = self.curriculum.model_dump(mode="json", exclude_none=True)
        return found | (given if is_theirs else {}) | self.extra

    def write(self, path: Path) -> None:
        """Write the file for `llamafactory-cli train`, atomically.

        LLaMA-Factory resolves paths against its working folder. So that it may be started anywhere,
        they are written absolute (a model or adapter that is not a folder here is a name on the
        Hugging Face hub, and stays).
        """
        options = self.options()
        for name in ("model_name_or_path", "adapter_name_or_path", "dataset_dir", "output_dir"):
            value = options.get(name)
            if isinstance(value, str) and (name.endswith("_dir") or Path(value).is_dir()):
                options[name] = os.path.abspath(value)
        # The next training continues from this one. LLaMA-Factory splits an adapter's path at
        # commas, and reads the file with OmegaConf.
        adapters = (
            str(options.get("adapter_name_or_path", "")),
            str(options.get("output_dir", "")),
        )
        wrong = [path for path in adapters if "," in path and os.path.isabs(path)]
        wrong += [value for value in options.values() if isinstance(value, str) and "${" in value]
        if wrong:
            raise ConfigurationError(
                f"found {wrong[0]!r}, expected no comma in a path and no '${{'"
            )
        storage.write_text(
            path, yaml.dump(options, Dumper=_Dumper, sort_keys=False, width=math.inf)
        )

    @classmethod
    def read(cls, path: Path) -> TrainingConfig:
        """Read a training file for LLaMA-Factory, from `write` or another source.

        Options that the file does not have get LLaMA-Factory's own defaults, not ours.

        Raises:
            DatasetFormatError: naming the file, the value found and the one expected.
        """
        try:
            found: dict[str, Any] = {**yaml.safe_load(path.read_bytes())}
            options = {**_SILENT, **{name: v for name, v in found.items() if v is not None}}
            if "lora_alpha" not in options and isinstance(options["lora_rank"], int):
                options["lora_alpha"] = 2 * options["lora_rank"]
            options.setdefault("packing", options.get("stage") == "pt")
            if isinstance(thinks := options.pop("enable_thinking", None), bool):
                options["chat_template_kwargs"] = {"enable_thinking": thinks}
            fields = cls.model_fields.keys() - {"extra"}
            extra = {name: options.pop(name) for name in tuple(options) if name not in fields}
            return cls().with_options(**options, extra=extra)
        except (yaml.YAMLError, ValueError, TypeError) as error:
            raise DatasetFormatError(f"{path}: {error} (options by name, as YAML)") from None


class _Dumper(yaml.SafeDumper):
    """Quotes texts that PyYAML would not, such as "1e3": OmegaConf's YAML has more numbers."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = text[:1].isalpha() or text[:1] == "/"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _represent_text)


def options_of(trainer: TrainerInterface) -> TrainingConfig:
    """The options of every training of that trainer: its `config`, or the default ones.

    A predictor adds the options of one training: stage, student, dataset, folders, adapter to
    continue and seed.
    """
    return getattr(trainer, "config", None) or TrainingConfig()


def trainer_with(trainer: TrainerInterface, options: Mapping[str, Any]) -> TrainerInterface:
    """The same trainer with some options changed, such as `{"learning_rate": 1e-4}`.

    Options without a field in `TrainingConfig` go into `extra`.

    Raises:
        ConfigurationError: for an unknown option or an invalid value, and for a trainer without
            `config`.
        UnsupportedStageError: for an option that the trainer does not have.
    """
    if getattr(trainer, "config", None) is None:
        raise ConfigurationError(
            f"{type(trainer).__name__} has no `config`, so its options {sorted(options)} cannot be "
            "changed: give it one (see TrainerInterface)"
        )
    refuse_options_of_one_training(options)
    config, changed = options_of(trainer), copy.copy(trainer)
    own = {name: value for name, value in options.items() if name in TrainingConfig.model_fields}
    extra = {**config.extra, **{n: value for n, value in options.items() if n not in own}}
    if "gradient_accumulation_steps" in own:
        own = {"effective_batch_size": None, **own}
    elif config.effective_batch_size is not None:  # it decides again
        own = {"gradient_accumulation_steps": 1, **own}
    if "num_train_epochs" in own:
        own = {"max_steps": -1, **own}
    new = config.with_options(**{"extra": extra, **own})
    n_devices = len(getattr(trainer, "gpus", None) or (0,))
    changed.config = new.accumulating(n_devices)  # type: ignore[attr-defined]
    return changed


def refuse_options_of_one_training(options: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for options that a predictor sets for each training."""
    if taken := [name for name in options if name in _OF_ONE_TRAINING]:
        raise ConfigurationError(
            f"{taken} belong to one training, and the predictor sets them; expected options "
            "that hold for every training"
        )
