"""The arguments of our own vLLM servers."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, check_at_least, check_one_of, need
from dataenvgym.students.external import external_environment
from dataenvgym.students.external.environments import Variant, has_cuda
from dataenvgym.students.predictors.vllm.options import VllmOptions
from dataenvgym.students.trainers.chat_format import no_chat_template

LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values that vLLM accepts for `--max-lora-rank`."""

SERVED_NAME = "student"
"""The untouched student's name on the servers that we start."""

_DTYPES = ("float32", "bfloat16", "float16")
_SET_BY_US = {
    "model": "student",
    "served_model_name": "student",
    "host": "base_url",
    "port": "port",
    "dtype": "dtype",
    "enable_lora": "the trainer",
    "max_lora_rank": "max_lora_rank",
    "max_loras": "max_loras",
    "enable_sleep_mode": "sleep",
    "tensor_parallel_size": "tensor_parallel_size",
    "data_parallel_size": "data_parallel_size",
    "max_num_seqs": "max_num_seqs",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "max_model_len": "max_model_len",
    "enable_auto_tool_choice": "tool_parser",
    "tool_call_parser": "tool_parser",
}

_NOT_FOR_THE_SERVER = ("PYTHONPATH", "PYTHONHOME", "VLLM_API_KEY")
"""Variables for our own Python only, and a key that each question would then have to send."""


def smallest_rank(rank: int) -> int:
    """The smallest value of `--max-lora-rank` that fits adapters of that rank.

    Raises:
        ConfigurationError: if there is none.
    """
    for allowed in LORA_RANKS:
        if rank <= allowed:
            return allowed
    raise ConfigurationError(
        f"trainer.lora_rank is {rank}, expected {LORA_RANKS[-1]} at most: vLLM serves no larger"
    )


@dataclass(frozen=True)
class ServerOptions:
    """All options that distinguish one server from another.

    Attributes are those of `VllmOptions`, except:

    Attributes:
        model: the student's folder, or its name on the hub.
        command: the words that start vLLM's OpenAI-compatible server.
        options: more of its options by name, as `--name value`.
    """

    model: str
    command: tuple[str, ...]
    variant: Variant
    dtype: str
    max_lora_rank: int
    max_loras: int
    max_model_len: int | None
    gpus: tuple[int, ...] | None
    tensor_parallel_size: int
    data_parallel_size: int
    max_num_seqs: int | None
    gpu_memory_utilization: float | None
    cpu_cache_gib: int
    sleep: bool
    tool_parser: str | None
    options: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> str:
        """Equal for two servers that can replace each other.

        It depends on the visible GPUs, and on the files of a student in a local folder.
        """
        visible = None if self.gpus is not None else os.environ.get("CUDA_VISIBLE_DEVICES")
        described = {field.name: getattr(self, field.name) for field in fields(self)}
        model = Path(self.model)  # a name on the hub has no files
        stats = {f.name: f.stat() for f in sorted(model.glob("*")) if f.is_file()}
        files = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()]
        all_of_it = {**described, "visible": visible, "files": files}
        text = exact_json.dumps(all_of_it, option=exact_json.SORT_KEYS)
        return hashlib.sha256(text).hexdigest()[:16]

    def arguments(self, port: int) -> list[str]:
        """The command line."""
        values: dict[str, Any] = {
            "model": self.model,
            "served-model-name": SERVED_NAME,
            "host": "127.0.0.1",
            "port": port,
            "dtype": self.dtype,
            "enable-lora": True,
            "max-lora-rank": self.max_lora_rank,
            "max-loras": self.max_loras,
            "max-cpu-loras": self.max_loras,
            "max-model-len": self.max_model_len,
            "tensor-parallel-size": None if self.variant == "cpu" else self.tensor_parallel_size,
            "data-parallel-size": self.data_parallel_size if self.data_parallel_size > 1 else None,
            "max-num-seqs": self.max_num_seqs,
            "gpu-memory-utilization": self.gpu_memory_utilization,
            "enable-sleep-mode": self.sleep,
            "enable-auto-tool-choice": self.tool_parser is not None,
            "tool-call-parser": self.tool_parser,
            "enforce-eager": self.variant == "cpu",
            # version 0.32 on CPU crashes when it splits a prompt of a request with its own seed
            "no-enable-chunked-prefill": self.variant == "cpu",
            "disable-uvicorn-access-log": True,
            "uvicorn-log-level": "warning",
        }
        values |= {name.replace("_", "-"): value for name, value in self.options}
        if "enable-chunked-prefill" in values:
            del values["no-enable-chunked-prefill"]
        words = list(self.command)
        for name, value in values.items():
            if value is True:
                words.append(f"--{name}")
            elif value is not None and value is not False:
                is_plain = isinstance(value, str | int | float)
                words += [f"--{name}", str(value) if is_plain else exact_json.dumps(value).decode()]
        return words

    def environment(self, current: Mapping[str, str]) -> dict[str, str]:
        """The server's environment variables, given the `current` ones of this process."""
        variables = {name: v for name, v in current.items() if name not in _NOT_FOR_THE_SERVER}
        if folder := os.path.dirname(self.command[0]):  # it also contains compilers and the like
            variables["PATH"] = os.pathsep.join([folder, variables.get("PATH", os.defpath)])
        variables["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "True"
        variables["VLLM_NO_USAGE_STATS"] = "1"
        if self.variant == "cpu":
            variables["VLLM_CPU_KVCACHE_SPACE"] = str(self.cpu_cache_gib)
        if self.sleep:
            variables["VLLM_SERVER_DEV_MODE"] = "1"
        if self.gpus is not None:
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, self.gpus))
        return variables


def server_options(student: str, given: VllmOptions, *, rank: int) -> ServerOptions:
    """The checked arguments of a server for that student.

    Args:
        given: all options.
        rank: of the adapters that it will get.

    Raises:
        ConfigurationError: for a value or combination that vLLM would refuse.
        ExternalError: if the pinned environment is needed and not installed.
    """
    variant: Variant = given.variant or ("cuda" if has_cuda() else "cpu")
    dtype, gpus = given.dtype, given.gpus
    if given.sleep and variant == "cpu":
        error = ConfigurationError("sleep is vLLM's for GPUs; expected sleep=false on CPU")
        if given.variant is not None:
            raise error
        need(error)
    check_one_of(("auto", *_DTYPES), dtype=dtype)
    check_at_least(1, data_parallel_size=given.data_parallel_size)
    if given.max_num_seqs is not None:
        check_at_least(1, max_num_seqs=given.max_num_seqs)
    if given.data_parallel_size > 1 and variant == "cpu":
        need(
            ConfigurationError(
                f"data_parallel_size is {given.data_parallel_size}, expected 1 on a CPU: more "
                "copies are for GPUs"
            )
        )
    n_gpus = given.data_parallel_size * given.tensor_parallel_size
    if gpus is not None and len(gpus) < n_gpus:
        raise ConfigurationError(
            f"gpus has {len(gpus)} numbers, expected {n_gpus} at least: data_parallel_size "
            f"{given.data_parallel_size} times tensor_parallel_size {given.tensor_parallel_size}"
        )
    if given.format == "chat" and "chat_template" not in _options_by_name(given.options):
        _check_chat_template(Path(student))
    names = {field.name for field in fields(ServerOptions)}
    as_given = {name: value for name, value in vars(given).items() if name in names}
    return ServerOptions(
        **as_given
        | {
            "model": student,
            "command": _command(given.command, variant),
            "variant": variant,
            "dtype": _own_dtype(student) if dtype == "auto" else dtype,
            "max_lora_rank": _checked_rank(given.max_lora_rank, rank),
            "gpus": None if gpus is None else tuple(gpus),
            "options": _checked(given.options),
        }
    )


def _checked_rank(most: int | None, rank: int) -> int:
    if most is None:
        return smallest_rank(rank)
    if smallest_rank(most) != most:
        raise ConfigurationError(
            f"max_lora_rank is {most}, which vLLM does not take: the next that it does is "
            f"{smallest_rank(most)}"
        )
    if rank > most:
        raise ConfigurationError(
            f"an adapter has rank {rank} (trainer.lora_rank, or student.adapter), above "
            f"max_lora_rank {most}: lower it, or set "
            f"predictor.max_lora_rank={smallest_rank(rank)} (null follows the adapters)"
        )
    return most


def _command(command: str | Sequence[str] | None, variant: Variant) -> tuple[str, ...]:
    """The words that start a server; None uses the pinned environment.

    Raises:
        ExternalError: if that is not installed.
    """
    if command is None:
        environment = external_environment("vllm", variant).require()
        return (str(environment.python), "-P", "-m", "vllm.entrypoints.openai.api_server")
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        raise ConfigurationError("command is empty, expected the words that start a vLLM server")
    return tuple(words)


def _own_dtype(student: str) -> str:
    """The floating point type of a student's weights; vLLM would convert float32 to half."""
    try:
        config = exact_json.loads((Path(student) / "config.json").read_bytes())
    except (OSError, exact_json.JSONDecodeError):
        return "auto"
    found = str(config.get("dtype") or config.get("torch_dtype") or "auto").removeprefix("torch.")
    return found if found in _DTYPES else "auto"


def _checked(options: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    """More options of the server, by name with underscores.

    Raises:
        ConfigurationError: for one that the predictor sets itself.
    """
    found = _options_by_name(options)
    for name in found:
        if name in _SET_BY_US:
            raise ConfigurationError(
                f"options has {name!r}, which {_SET_BY_US[name]} sets: give it there"
            )
    return tuple(sorted(found.items()))


def _options_by_name(options: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name.lstrip("-").replace("-", "_"): value for name, value in (options or {}).items()}


def _check_chat_template(folder: Path) -> None:
    """Refuse a folder without chat template: the server would fail every prompt."""
    try:
        config = exact_json.loads((folder / "tokenizer_config.json").read_bytes())
    except (OSError, exact_json.JSONDecodeError):
        return
    if not config.get("chat_template") and not any(folder.glob("chat_template*")):
        raise no_chat_template(str(folder))
