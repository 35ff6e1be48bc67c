"""LoRA adapters: as files in PEFT's format, in memory, and on a base model.

A base model is never changed: an adapter is attached to a twin of it (see `student.twin`), which
shares its weights.
"""

from __future__ import annotations

import copy
import math
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from peft.tuners.lora import Linear
from peft.tuners.tuners_utils import BaseTunerLayer
from peft.utils import set_peft_model_state_dict
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from dataenvgym.errors import AdapterError, ConfigurationError, first_fault
from dataenvgym.records.model import Finite
from dataenvgym.storage import read_json, write_bytes, write_json
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.training_config import ADAPTER_FILES
from dataenvgym.students.trainers.compute import global_rng, is_large
from dataenvgym.students.trainers.large import lora_linear
from dataenvgym.students.trainers.student import twin

_CONFIG_FILE, _WEIGHTS_FILE = ADAPTER_FILES
_NAME = "default"


_Pattern = Annotated[str, Field(pattern=r"^[\w.^$\\]*$")]  # a regular expression that ends soon


class _Options(BaseModel):
    """PEFT's options with which an adapter is loaded, next to `_ALSO`; all others must be off.

    Some of those change the base's own weights (`init_lora_weights`: "pissa"), import a module that
    they name (`megatron_config`), or cannot be merged (`lora_bias`).
    """

    model_config = ConfigDict(strict=True)

    peft_type: Literal["LORA"]
    task_type: Literal["CAUSAL_LM"] | None = None
    r: int = Field(ge=1)
    lora_alpha: Finite
    init_lora_weights: bool | Literal["gaussian", "orthogonal"] = True
    target_modules: list[str] | str
    bias: Literal["none", "all", "lora_only"] = "none"
    rank_pattern: dict[_Pattern, int] | None = None
    alpha_pattern: dict[_Pattern, Finite] | None = None
    use_rslora: bool = False
    use_dora: bool = False

    @model_validator(mode="before")
    @classmethod
    def _no_others(cls, config: Any) -> Any:
        if isinstance(config, dict) and config.get("peft_type") == "LORA":
            for name in sorted(_set_options(config) - cls.model_fields.keys() - _ALSO):
                raise ValueError(
                    f"{name} is set, expected null: merge this adapter into its student with "
                    "PEFT, and take that as the student"
                )
        return config


# The names of the weights say where the layers are, without a stranger's regular expressions.
_PLACES = ("exclude_modules", "layers_to_transform", "layers_pattern")
_ALSO = {
    *("lora_dropout", "fan_in_fan_out", "modules_to_save", "auto_mapping", "inference_mode"),
    *("base_model_name_or_path", "revision", "peft_version"),
    *_PLACES,
}


@dataclass(frozen=True)
class Adapter:
    """The content of an adapter folder: PEFT's configuration and the weights by name."""

    config: dict[str, Any]
    weights: dict[str, torch.Tensor]

    @classmethod
    def read(cls, folder: Path) -> Adapter:
        """The adapter in `folder`.

        Raises:
            AdapterError: if there is none, or its files are broken.
        """
        try:
            config = read_json(folder / _CONFIG_FILE)
            weights = load_file(folder / _WEIGHTS_FILE)
            _Options.model_validate(config)
        except (ValueError, OSError, SafetensorError) as error:
            why = first_fault(error) if isinstance(error, ValidationError) else error
            raise AdapterError(f"the adapter in {folder} is broken: {why}") from error
        return cls(config, weights)

    @classmethod
    def of(cls, model: Any, base_name: str) -> Adapter:
        """The adapter of a PEFT model."""
        config = model.peft_config[_NAME].to_dict()
        config |= {"base_model_name_or_path": base_name, "inference_mode": True}
        weights = get_peft_model_state_dict(model, adapter_name=_NAME, save_embedding_layers=False)
        return cls(
            config={key: _plain(value) for key, value in sorted(config.items())},
            weights={name: t.detach().cpu().contiguous() for name, t in sorted(weights.items())},
        )

    @property
    def scale(self) -> float:
        """The factor of a plain adapter's products."""
        rank, alpha = self.config["r"], self.config["lora_alpha"]
        scale: float = alpha / (math.sqrt(rank) if self.config.get("use_rslora") else rank)
        return scale

    def write(self, folder: Path) -> None:
        """Write the adapter's files into `folder`; equal adapters give equal bytes."""
        write_json(folder / _CONFIG_FILE, self.config)
        write_bytes(folder / _WEIGHTS_FILE, save(self.weights, metadata={"format": "pt"}))


def put_on(base: Any, adapter: Adapter, *, trainable: bool = False) -> Any:
    """A twin of the base model with the adapter, as a PEFT model.

    Raises:
        AdapterError: if the adapter was made for another base: it has layers that this one lacks,
            or of other sizes.
    """
    with building():
        try:
            config = _config_for_peft(adapter, trainable=trainable)
            # on "meta", weights are neither initialized nor drawn at random
            model = get_peft_model(twin(base), config, _NAME, low_cpu_mem_usage=True)
            result: Any = set_peft_model_state_dict(
                model, adapter.weights, _NAME, low_cpu_mem_usage=True
            )
        except (ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
            raise AdapterError(f"the adapter does not fit the student: {error}") from error
    missing = [name for name, p in model.named_parameters() if p.device.type == "meta"]
    if missing or result.unexpected_keys:
        raise AdapterError(
            f"the adapter does not fit the student: {len(missing)} weights are missing "
            f"({missing[:3]}...), {len(result.unexpected_keys)} are unknown here "
            f"({result.unexpected_keys[:3]}...)"
        )
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(trainable and "lora_" in name)
    return model.train(trainable)


def _config_for_peft(adapter: Adapter, *, trainable: bool) -> LoraConfig:
    kept = {*_Options.model_fields, "lora_dropout", "fan_in_fan_out", "modules_to_save"}
    options = copy.deepcopy({name: adapter.config[name] for name in kept & adapter.config.keys()})
    if isinstance(options.get("init_lora_weights"), str):  # the weights are known
        options["init_lora_weights"] = True
    places = [adapter.config.get(name) for name in _PLACES]  # a layer may be 0
    if isinstance(options["target_modules"], str) or places != [None, None, None]:
        names = (name.removeprefix("base_model.model.") for name in adapter.weights)
        targets = {name.partition(".lora_")[0] for name in names if ".lora_" in name}
        options["target_modules"] = sorted(targets)
    return LoraConfig(**options, inference_mode=not trainable)


def new_adapter(base: Any, config: TrainingConfig) -> Any:
    """A twin of the base model with a new adapter to train, which has no effect yet.

    Raises:
        ConfigurationError: if `lora_target` names no layer of the model.
    """
    targets = [target.strip() for target in config.lora_target.split(",")]
    names = [f".{name}" for name, _ in base.named_modules()]
    lora = LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=config.lora_dropout,
        target_modules=_linear_layers(base) if targets == ["all"] else targets,
        use_rslora=config.use_rslora,
        task_type="CAUSAL_LM",
    )
    with global_rng(config.seed, base.device), building():
        try:
            for target in lora.target_modules or ():
                if not any(name.endswith(f".{target}") for name in names):
                    raise ValueError(f"the student has no layer {target!r}")
            return get_peft_model(twin(base), lora, _NAME)
        except ValueError as error:
            raise ConfigurationError(
                f"lora_target is {config.lora_target!r}, expected 'all' or some of "
                f"{_linear_layers(base)}: {error}"
            ) from error


def _linear_layers(model: Any) -> list[str]:
    """The names of all linear layers except the output layer."""
    names = {
        name.rsplit(".", 1)[-1]
        for name, module in model.named_modules()
        if "Linear" in type(module).__name__ and "lm_head" not in name
    }
    return sorted(names)


def _plain(value: Any) -> Any:
    """A configuration value as JSON; sets become sorted lists, so that bytes are equal."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return os.fspath(value) if isinstance(value, Path) else value


_BUILDING = threading.RLock()


@contextmanager
def building() -> Iterator[None]:
    """Build modules, one thread at a time: PEFT changes how all threads register parameters."""
    with _BUILDING, warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module=r"peft\.")
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"transformers\.")
        yield


# The largest number of weights of a small layer.
_SMALL = 2**17


def speed_up_layers(model: Any) -> None:
    """Let the PEFT model's plain LoRA layers use a faster computation.

    Layers with dropout or with a variant of LoRA are unchanged; in a small model, large layers and
    those in half precision, too.
    """
    large = is_large(model)
    layers: list[Any] = [layer for layer in model.modules() if type(layer) is Linear]
    for layer in filter(_is_plain, layers):
        weight = layer.base_layer.weight
        if large:
            layer.forward = lora_linear(layer)
        elif weight.numel() <= _SMALL and weight.dtype == torch.float32:
            layer.forward = _folded(layer)


def _is_plain(layer: Any) -> bool:
    (name,) = layer.active_adapters
    return (
        isinstance(layer.lora_dropout[name], torch.nn.Identity)
        and not layer.lora_variant
        and not layer.lora_bias[name]
    )


def _folded(layer: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    (name,) = layer.active_adapters
    weight, bias = layer.base_layer.weight, layer.base_layer.bias
    a, b, scale = layer.lora_A[name].weight, layer.lora_B[name].weight, layer.scaling[name]

    def forward(x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, torch.addmm(weight, b, a, alpha=scale), bias)

    return forward


# The configuration of a plain LoRA: these may be anything, and all others must be off.
_ANY = {
    *("r", "lora_alpha", "use_rslora", "target_modules", "lora_dropout", "init_lora_weights"),
    *("task_type", "peft_type", "peft_version", "inference_mode"),
    *("base_model_name_or_path", "revision", "auto_mapping"),
}


def merge(base: Any, adapter: Adapter) -> Any:
    """A twin of the base model with the adapter merged into its weights.

    It takes additional memory for the layers that the adapter changes.

    Raises:
        AdapterError: if the adapter was made for another base, or the sum is not finite.
    """
    layers = plain_layers(base, adapter)
    if layers is None:
        return _merge_by_peft(base, adapter)
    model = twin(base)
    for name, (a, b) in layers.items():
        layer = model.get_submodule(name)
        weight = layer.weight.data
        delta = (b.to(weight.device) @ a.to(weight.device)) * adapter.scale
        # a new tensor: neither the base model's own nor a tied layer's must be changed
        layer.weight = torch.nn.Parameter(weight + delta.to(weight.dtype), requires_grad=False)
        if not bool(torch.isfinite(layer.weight).all()):
            raise AdapterError(
                f"the adapter cannot be merged into the student: {name} gets weights that are "
                "infinite or no numbers (NaN)"
            )
    first, last = model.get_input_embeddings(), model.get_output_embeddings()
    if last is not None and first.weight is not last.weight:
        model.config.tie_word_embeddings = False
    return model


def stacked(adapters: Sequence[Adapter]) -> Adapter:
    """One adapter with the effects of all of them added up; so do their ranks.

    Raises:
        AdapterError: if they are not plain LoRA adapters of the same layers.
    """
    first = adapters[0]
    for adapter in adapters:
        if unusual := _unusual(adapter) or adapter.weights.keys() ^ first.weights.keys():
            raise AdapterError(
                f"an adapter has {', '.join(sorted(unusual))}, and only plain LoRA adapters of the "
                "same layers can be stacked: merge them into the student instead"
            )
    weights = {}
    for name in first.weights:
        if ".lora_A." in name:
            weights[name] = torch.cat([one.weights[name] for one in adapters])
        else:
            weights[name] = torch.cat([one.weights[name] * one.scale for one in adapters], dim=1)
    rank = sum(adapter.config["r"] for adapter in adapters)
    return Adapter({**first.config, "r": rank, "lora_alpha": rank, "use_rslora": False}, weights)


def _unusual(adapter: Adapter) -> set[str]:
    """The options of the adapter that a plain LoRA does not have."""
    return _set_options(adapter.config) - _ANY


_USUAL: dict[str, Any] = {"bias": "none", "megatron_core": "megatron.core", "qalora_group_size": 16}


def _set_options(config: dict[str, Any]) -> set[str]:
    """The options that are neither off nor as usual."""
    return {name for name, value in config.items() if value and value != _USUAL.get(name)}


def plain_layers(
    base: Any, adapter: Adapter
) -> dict[str, tuple[torch.Tensor, torch.Tensor]] | None:
    """Matrices A and B by layer, if the adapter is plain and fits the base."""
    config = adapter.config
    targets = config.get("target_modules")
    if _unusual(adapter) or not isinstance(targets, list):
        return None
    rank, weights = config.get("r"), dict(adapter.weights)
    layers = {}
    for name, module in base.named_modules():
        if name.rsplit(".", 1)[-1] not in targets:
            continue
        a = weights.pop(f"base_model.model.{name}.lora_A.weight", None)
        b = weights.pop(f"base_model.model.{name}.lora_B.weight", None)
        if type(module) is not torch.nn.Linear or a is None or b is None:
            return None
        if a.shape != (rank, module.in_features) or b.shape != (module.out_features, rank):
            return None
        layers[name] = (a, b)
    return None if weights else layers


def _merge_by_peft(base: Any, adapter: Adapter) -> Any:
    model = put_on(base, adapter)
    for layer in model.modules():
        if isinstance(layer, BaseTunerLayer):  # apart from layers that are tied to it
            own: Any = layer.get_base_layer()
            own.weight = torch.nn.Parameter(own.weight.data, requires_grad=False)
    try:
        # "safe" merges into a copy; the base model's own tensors must not be changed
        return model.merge_and_unload(safe_merge=True)
    except ValueError as error:
        raise AdapterError(f"the adapter cannot be merged into the student: {error}") from error
