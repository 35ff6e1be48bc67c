"""Options of a student in a vLLM server, checked before any server is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.interfaces import TrainerInterface
from dataenvgym.options import Free, Given
from dataenvgym.records import TrainingDatum
from dataenvgym.records.tool_formats import (
    COMPLETION,
    DEFAULT,
    StudentFormat,
    is_plain,
    text_formats,
    tool_format,
)
from dataenvgym.storage import read_json
from dataenvgym.students.external.environments import Variant
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors.checkpoints import kind_of
from dataenvgym.teachers import ChatClient
from dataenvgym.teachers.payloads import RequestForm

Dtype = Literal["auto", "float32", "bfloat16", "float16"]


@dataclass(frozen=True, kw_only=True)
class VllmOptions:
    """The arguments of `VllmPredictor`.

    Attributes:
        student: "pocket", "smollm2", a folder in Hugging Face format, or a name on its hub.
        trainer: trains the adapters; None uses the in-process trainer with its default options.
        adapter: the folder of the student's initial adapter; `reset` returns to it.
        base_url: a running server, with the student as its base model; None starts one. The server
            must be able to read the adapters' folders.
        api_key_variable: the environment variable with that server's key, if it needs one.
        command: the words that start a server, such as "python -m
            vllm.entrypoints.openai.api_server"; None uses the pinned environment
            (`dataenvgym external install vllm`).
        variant: "cpu" or "cuda"; None detects it.
        port: of a server that is started; None picks a free one.
        dtype: "auto" uses the type of the student's weights.
        max_lora_rank: of adapters; None uses the smallest that fits those of the trainer.
        max_loras: adapters that one batch can have; with more in use they take turns.
        max_model_len: tokens of prompt and reply together; None is the student's own limit.
        gpus: numbers of the GPUs (CUDA_VISIBLE_DEVICES); None uses the visible ones.
        tensor_parallel_size: number of GPUs for one copy of the model.
        data_parallel_size: copies of the model, each on its own GPUs, which share the questions;
            for a model that fits on few of them. This number times `tensor_parallel_size` GPUs are
            needed.
        max_num_seqs: replies that one copy writes at the same time. More answer faster until the
            memory for their tokens is full; fewer leave memory for long ones. None is vLLM's
            default.
        gpu_memory_utilization: share of each GPU's memory; None is vLLM's default.
        sleep: release the GPU's memory while the trainer works, for one GPU that both use. After
            waking, the server must answer a fixed probe as before, or it is restarted.
        concurrency: largest number of conversations at the server at the same time.
        timeout: seconds that one try of one question may take.
        retries: how often a question is asked again after a temporary failure.
        start_timeout: seconds that a server may take to start. A server at `base_url` that is
            restarted in this time gets its adapters again.
        tool_format: how tools and calls are written in prompts and training data (see
            `tool_formats`); None uses "hermes" for "smollm2", the format of its pretraining for a
            pocket student, or else "llama_factory". With "native" the server's chat template
            writes them, and the server parses the calls; the student then cannot be trained on
            records with tools.
        format: "chat" puts prompts into the student's chat template, which it must have.
            "completion" gives the student the bare text to complete, and trains it on prompt and
            completion (docs/real_model.md).
        chat_template_kwargs: values for the student's chat template, such as {enable_thinking:
            false}, in evaluation and training (docs/teachers.md).
        tool_parser: how a started server parses calls for "native": vLLM's
            `--tool-call-parser`, such as "hermes", "llama3_json" or "mistral".
        options: more options of vLLM's server by name, such as {"quantization": "fp8"}.
    """

    student: str | Path = field(default="pocket", kw_only=False)
    trainer: Given[TrainerInterface | None] = field(default=None, kw_only=False)
    adapter: str | Path | None = None
    base_url: Free[str | None] = None
    api_key_variable: Free[str | None] = None
    command: Free[str | Sequence[str] | None] = None
    variant: Free[Variant | None] = None
    port: Free[int | None] = None
    dtype: Dtype = "auto"
    max_lora_rank: PositiveInt | None = None
    max_loras: PositiveInt = 4
    max_model_len: PositiveInt | None = None
    gpus: Free[Sequence[int] | None] = None
    tensor_parallel_size: PositiveInt = 1
    data_parallel_size: Free[PositiveInt] = 1
    max_num_seqs: Free[PositiveInt | None] = None
    gpu_memory_utilization: Free[PositiveFloat | None] = None
    sleep: Free[bool] = False
    concurrency: Free[PositiveInt] = 256
    timeout: Free[PositiveFloat] = 600.0
    retries: Free[NonNegativeInt] = 4
    start_timeout: Free[float] = 900.0
    tool_format: str | None = None
    format: StudentFormat = "chat"
    chat_template_kwargs: Mapping[str, Any] | None = None
    tool_parser: str | None = None
    options: Mapping[str, Any] | None = None

    def client(self, base_url: str, **options: Any) -> ChatClient:
        """A client of the server at that URL."""
        known = (
            COMPLETION if self.format == "completion" else tool_format(self.tool_format or DEFAULT)
        )
        return ChatClient(
            base_url,
            concurrency=self.concurrency,
            timeout=self.timeout,
            retries=self.retries,
            form=RequestForm(
                tool_format=known,
                call_id="call{:05}",
                fields={"chat_template_kwargs": dict(self.chat_template_kwargs or {}) or None},
            ),
            **options,
        )


_FOR_A_START = (
    *("command", "variant", "port", "max_lora_rank", "max_model_len", "gpus"),
    *("gpu_memory_utilization", "max_num_seqs", "options", "tool_parser"),
)

_NOT_SERVED = {
    "use_dora": "DoRA adapters",
    "additional_target": "adapters with whole layers",
    "pissa_init": "adapters of changed weights",
}


def lora_rank(config: TrainingConfig, initial: Path | None) -> int | None:
    """The largest rank of the expected adapters; None if there will be none."""
    ranks = [config.lora_rank] if config.finetuning_type == "lora" else []
    if initial is not None and kind_of(initial) == "adapter":
        ranks.append(served_rank(initial))
    return max(ranks, default=None)


def served_rank(adapter: Path) -> int:
    """The rank of an adapter; AdapterError if vLLM would not compute with it as PEFT does."""
    config = read_json(adapter / "adapter_config.json")
    patterns = ("rank_pattern", "alpha_pattern")  # vLLM ignores them
    rank, wrong = config.get("r", 1), [name for name in patterns if config.get(name)]
    if wrong or not isinstance(rank, int):
        raise AdapterError(
            f"{adapter}: {wrong[0] if wrong else 'r'} is {config[wrong[0]] if wrong else rank!r}, "
            "and vLLM has one rank (a whole number) and one alpha for all layers: set "
            "predictor=in_process, or merge it into the student"
        )
    return rank


def check_trainer(config: TrainingConfig, base_url: str | None) -> None:
    """Raise ConfigurationError for a training whose result vLLM cannot serve."""
    for name, why in _NOT_SERVED.items():
        if config.finetuning_type == "lora" and (
            getattr(config, name, False) or name in config.extra
        ):
            raise ConfigurationError(
                f"trainer.{name} makes {why}, which vLLM does not serve: leave it out (use_rslora "
                "is fine), or set predictor=in_process"
            )
    if base_url is not None and config.finetuning_type != "lora":
        raise ConfigurationError(
            f"finetuning_type {config.finetuning_type!r} makes whole students, which a server "
            "that runs already cannot take up: expected 'lora', or base_url=null"
        )


def check_tools(options: VllmOptions) -> None:
    """Refuse a parser without calls to parse, and calls without a parser."""
    form, parser = options.tool_format or DEFAULT, options.tool_parser
    tool_format(form)
    if parser is not None and (form != "native" or options.format == "completion"):
        raise ConfigurationError(
            f"tool_parser is {parser!r} and tool_format {form!r}, in which calls are part of the "
            "text: leave tool_parser out, or set predictor.tool_format=native"
        )
    if form == "native" and parser is None and options.base_url is None:
        raise ConfigurationError(
            "tool_format is 'native', which is for API models and servers that read calls: set "
            "predictor.tool_parser (hermes, llama3_json, mistral, ...) to start such a server; for "
            f"a student that is trained with tools take one of {', '.join(text_formats())}"
        )


def check_records(records: Sequence[TrainingDatum], form: str | None) -> None:
    """Refuse to train on tools if a server's chat template writes them, which training lacks."""
    with_tools = [r for r in records if not all(is_plain(turn) for _, turn in r.turns())]
    if form == "native" and with_tools:
        raise ConfigurationError(
            f"{len(with_tools)} of {len(records)} records have tools, calls or results, and with "
            "predictor.tool_format=native the server writes those in its own way, which training "
            f"would not see: set predictor.tool_format to one of {', '.join(text_formats())} "
            "(hermes has the words of Qwen's own template), and predictor.tool_parser=null"
        )


def check_nothing_to_start(options: VllmOptions) -> None:
    """Raise ConfigurationError for options of a start if the server runs already."""
    useless = [name for name in _FOR_A_START if getattr(options, name)]
    sizes = ("tensor_parallel_size", "data_parallel_size")
    if useless := [*useless, *(name for name in sizes if getattr(options, name) > 1)]:
        raise ConfigurationError(
            f"base_url names a server that runs already, so {', '.join(useless)} would start "
            "nothing: give one or the other"
        )
