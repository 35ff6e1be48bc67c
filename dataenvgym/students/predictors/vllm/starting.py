"""The command lines and variables of the vLLM servers that we start."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, need
from dataenvgym.students.external.environments import Variant, external_environment, has_cuda
from dataenvgym.students.predictors.vllm.options import Dtype, VllmOptions
from dataenvgym.students.trainers.chat_format import no_chat_template

LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values that vLLM accepts for `--max-lora-rank`."""

SERVED_NAME = "student"
"""The untouched student's name on the servers that we start."""

_NOT_FOR_THE_SERVER = ("PYTHONPATH", "PYTHONHOME", "VLLM_API_KEY")
"""Variables for our own Python only, and a key that each question would then have to send."""


def start_options(student: str, given: VllmOptions, *, rank: int) -> VllmOptions:
    """The options of a server for that student, checked, with every default filled in.

    Args:
        rank: of the adapters that it will get.

    Raises:
        ConfigurationError: for a value or combination that vLLM would refuse.
        ExternalError: if the pinned environment is needed and not installed.
    """
    variant: Variant = given.variant or ("cuda" if has_cuda() else "cpu")
    for_gpus = {"sleep": given.sleep, "data_parallel_size": given.data_parallel_size > 1}
    if variant == "cpu" and any(for_gpus.values()):
        names = " and ".join(name for name, is_set in for_gpus.items() if is_set)
        error = ConfigurationError(f"{names} is for GPUs, and vLLM's server runs on a CPU here")
        if given.variant is not None:
            raise error
        need(error)
    if given.format == "chat" and "chat_template" not in more_options(given):
        _check_chat_template(Path(student))
    options = replace(
        given,
        student=student,
        command=_command(given.command, variant),
        variant=variant,
        dtype=_own_dtype(student) if given.dtype == "auto" else given.dtype,
        max_lora_rank=_largest_rank(given.max_lora_rank, rank),
    )
    if twice := more_options(given).keys() & _values(options, 0).keys():
        raise ConfigurationError(f"options has {sorted(twice)}, which the predictor itself sets")
    return options


def arguments(options: VllmOptions, port: int) -> list[str]:
    """The command line of a server with these `start_options`."""
    values: dict[str, Any] = {
        "max_cpu_loras": options.max_loras,
        "enforce_eager": options.variant == "cpu",
        # version 0.32 on CPU crashes when it splits a prompt of a request with its own seed
        "no_enable_chunked_prefill": options.variant == "cpu",
        "disable_uvicorn_access_log": True,
        "uvicorn_log_level": "warning",
        **more_options(options),
    }
    if "enable_chunked_prefill" in values:
        del values["no_enable_chunked_prefill"]
    words = list(options.command or ())
    for name, value in (_values(options, port) | values).items():
        if value is not None and value is not False:
            words.append(f"--{name.replace('_', '-')}")
            if value is not True:
                is_plain = isinstance(value, str | int | float)
                words.append(str(value) if is_plain else exact_json.dumps(value).decode())
    return words


def _values(options: VllmOptions, port: int) -> dict[str, Any]:
    """The values that belong to options of the predictor, by vLLM's names."""
    is_cpu, has_tools = options.variant == "cpu", options.tool_parser is not None
    return {
        "model": options.student,
        "served_model_name": SERVED_NAME,
        "host": "127.0.0.1",
        "port": port,
        "dtype": options.dtype,
        "enable_lora": True,
        "max_lora_rank": options.max_lora_rank,
        "max_loras": options.max_loras,
        "max_model_len": options.max_model_len,
        "tensor_parallel_size": None if is_cpu else options.tensor_parallel_size,
        "data_parallel_size": options.data_parallel_size
        if options.data_parallel_size > 1
        else None,
        "max_num_seqs": options.max_num_seqs,
        "gpu_memory_utilization": options.gpu_memory_utilization,
        "enable_sleep_mode": options.sleep,
        "enable_auto_tool_choice": has_tools,
        "tool_call_parser": options.tool_parser,
    }


def more_options(options: VllmOptions) -> dict[str, Any]:
    """The options of vLLM's own that were given, by name with underscores, in their order."""
    found = {n.lstrip("-").replace("-", "_"): v for n, v in (options.options or {}).items()}
    return dict(sorted(found.items()))


def variables(options: VllmOptions, current: Mapping[str, str]) -> dict[str, str]:
    """The server's environment variables, given the `current` ones of this process."""
    found = {name: v for name, v in current.items() if name not in _NOT_FOR_THE_SERVER}
    if options.command and (folder := os.path.dirname(options.command[0])):
        # it also contains compilers and the like
        found["PATH"] = os.pathsep.join([folder, found.get("PATH", os.defpath)])
    found |= {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True", "VLLM_NO_USAGE_STATS": "1"}
    if options.variant == "cpu":
        found.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")  # GiB
    if options.sleep:
        found["VLLM_SERVER_DEV_MODE"] = "1"
    if options.gpus is not None:
        found["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, options.gpus))
    return found


def _largest_rank(most: int | None, rank: int) -> int:
    """The value of `--max-lora-rank`: the one that was given, or the smallest that fits."""
    if rank > (most or LORA_RANKS[-1]):
        raise ConfigurationError(
            f"an adapter has rank {rank} (trainer.lora_rank, or student.adapter), expected "
            f"{most or LORA_RANKS[-1]} at most (predictor.max_lora_rank; null follows the adapters)"
        )
    return most or next(allowed for allowed in LORA_RANKS if rank <= allowed)


def _command(command: str | Sequence[str] | None, variant: Variant) -> tuple[str, ...]:
    """The words that start a server; without any, it is that of the pinned environment."""
    words = tuple(shlex.split(command) if isinstance(command, str) else command or ())
    if not words:
        environment = external_environment("vllm", variant).require()
        return (str(environment.python), "-P", "-m", "vllm.entrypoints.openai.api_server")
    return words


def _own_dtype(student: str) -> Dtype:
    """The floating point type of a student's weights; vLLM would convert float32 to half."""
    config = _content(Path(student) / "config.json") or {}
    found = str(config.get("dtype") or config.get("torch_dtype") or "auto").removeprefix("torch.")
    return cast(Dtype, found) if found in get_args(Dtype) else "auto"


def _check_chat_template(folder: Path) -> None:
    """Refuse a folder without chat template: the server would fail every prompt."""
    config = _content(folder / "tokenizer_config.json")
    if config is None or config.get("chat_template") or any(folder.glob("chat_template*")):
        return
    raise no_chat_template(str(folder))


def _content(file: Path) -> Any:
    """The content of a JSON file; None if it is not there, or damaged."""
    with suppress(OSError, exact_json.JSONDecodeError):
        return exact_json.loads(file.read_bytes())
    return None
