"""The student in a vLLM server."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.external.environments import Variant
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.llama_factory import TrainingConfig
from dataenvgym.llm import ask_all
from dataenvgym.predictors.in_process import resolve_student
from dataenvgym.predictors.learnt import (
    copy_learnt,
    describe_learner,
    initial_folder,
    kind_of,
    require_kind,
    save_nothing,
    train_on,
)
from dataenvgym.predictors.vllm.connecting import Asking, Connection, RunsAlready, StartedHere
from dataenvgym.predictors.vllm.options import server_options
from dataenvgym.predictors.vllm.server import VllmServer
from dataenvgym.predictors.vllm.sleeping import asleep
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.storage import read_json
from dataenvgym.tool_formats import DEFAULT, training_format
from dataenvgym.trainers import InProcessTrainer, TrainerInterface
from dataenvgym.trainers.interface import options_of


class VllmPredictor:
    """A student that vLLM serves; adapters are swapped while it runs.

    The server is started when it is first needed, and ended with the last predictor (of any
    process of this machine) that uses it. Predictors with the same options share one, each with
    adapters of its own. If it dies, it is started again with its adapters, and what was not yet
    answered is asked again; if it dies again before the next adapter, that is a ServerError.

    All methods may be called from any thread. `submit` lets each conversation go on when its own
    reply is there. Which conversations are computed together is up to the server, so that replies
    may differ between runs where two tokens are about as likely.

    Args:
        student: "pocket", a folder in Hugging Face format, or a name on its hub. It must have a
            chat template.
        trainer: who trains; the in-process trainer with its default options if None.
        adapter: the folder of what the student has learnt already; `reset` goes back to it.
        base_url: a server that runs already, with the student as its base model; None starts one.
            It must be able to read the adapters' folders.
        api_key_variable: the environment variable with that server's key, if it wants one.
        command: the words that start a server, such as "python -m
            vllm.entrypoints.openai.api_server"; None takes the pinned environment
            (`dataenvgym external install vllm`).
        variant: "cpu" or "cuda"; None takes what the machine has.
        port: where a server that is started listens; None picks a free one. A server with the same
            options that others use already is shared where it is, with a warning.
        dtype: "auto" takes the type of the student's weights.
        max_lora_rank: of adapters; None takes the smallest that holds those of `trainer`.
        max_loras: adapters that one batch can have; with more in use they take turns.
        max_model_len: tokens of prompt and reply together; None is the student's own limit.
        gpus: numbers of the GPUs (CUDA_VISIBLE_DEVICES); None leaves it to what is visible.
        tensor_parallel_size: GPUs that one copy of the model is spread over.
        gpu_memory_utilization: share of each GPU's memory; None is vLLM's default.
        cpu_cache_gib: memory for the cache on CPU.
        sleep: give the GPU's memory back while the trainer works, for one GPU that both use; after
            waking a fixed probe is asked, and a server that answers otherwise is started anew.
        concurrency: conversations that the server gets at the same time, at most.
        timeout: seconds that one try of one question may take.
        retries: how often a question is asked again after a failure that may pass.
        start_timeout: seconds that a server may take to come up; also one at `base_url` that is
            restarted meanwhile, which then gets its adapters again.
        tool_format: how tools and calls are written in what the student is asked and trained on
            (see `tool_formats`).
        options: more options of vLLM's server by name, such as {"quantization": "fp8"}.

    Raises:
        ConfigurationError: for a value or combination that cannot be.
        ExternalError: if the pinned environment is needed and not installed.
    """

    def __init__(
        self,
        student: str | Path = "pocket",
        trainer: TrainerInterface | None = None,
        *,
        adapter: str | Path | None = None,
        base_url: str | None = None,
        api_key_variable: str | None = None,
        command: str | Sequence[str] | None = None,
        variant: Variant | None = None,
        port: int | None = None,
        dtype: str = "auto",
        max_lora_rank: int | None = None,
        max_loras: int = 4,
        max_model_len: int | None = None,
        gpus: Sequence[int] | None = None,
        tensor_parallel_size: int = 1,
        gpu_memory_utilization: float | None = None,
        cpu_cache_gib: int = 1,
        sleep: bool = False,
        concurrency: int = 256,
        timeout: float = 600.0,
        retries: int = 4,
        start_timeout: float = 900.0,
        tool_format: str = DEFAULT,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _OPTIONS}
        self._options: dict[str, Any] = given
        self.student = resolve_student(student)
        self.trainer = trainer or InProcessTrainer()
        self.adapter = initial_folder(adapter)
        self.sleep = sleep
        self.tool_format = tool_format
        self._format = training_format(tool_format)
        self._asking = Asking(concurrency, timeout, retries, api_key_variable, self._format)
        self._source: StartedHere | RunsAlready
        rank = _lora_rank(options_of(self.trainer), self.adapter)
        _check_trainer(options_of(self.trainer), base_url)
        if base_url is None:
            started = server_options(
                self.student,
                rank=rank or 1,
                command=command,
                variant=variant,
                dtype=dtype,
                max_lora_rank=max_lora_rank,
                max_loras=max_loras,
                max_model_len=max_model_len,
                gpus=None if gpus is None else tuple(gpus),
                tensor_parallel_size=tensor_parallel_size,
                gpu_memory_utilization=gpu_memory_utilization,
                cpu_cache_gib=cpu_cache_gib,
                sleep=sleep,
                options=options,
            )
            self._source = StartedHere(started, port, start_timeout)
        else:
            _check_nothing_to_start(
                command=command,
                variant=variant,
                port=port,
                max_lora_rank=max_lora_rank,
                max_model_len=max_model_len,
                gpus=gpus,
                gpu_memory_utilization=gpu_memory_utilization,
                options=options,
            )
            self._source = RunsAlready(base_url, rank, start_timeout)
        self._connection: Connection | None = None
        self._folder: Path | None = self.adapter  # what has been learnt
        self._name: str | None = None  # its name on the server
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied or sent to another process, it is the untouched student, not yet connected."""
        return partial(type(self), **self._options), (self.student, self.trainer)

    # --- answering ---

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation, in their order.

        Raises:
            ServerError: if the server is gone for good.
        """
        return ask_all(self.submit, conversations, sampling)

    def connect(self) -> None:
        """Start the server, or find it; the first question would do so too.

        Raises:
            ConfigurationError, ServerError, AdapterError, ExternalError: if it cannot be.
        """
        self._connected()

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """The reply or failure to one conversation, when it is there.

        Raises:
            ServerError: if the server does not come up; later, from the future, if it is gone for
                good.
        """
        with self._lock:
            connection = self._connected()
            server, traffic = connection.server, connection.server.traffic
            server.follow()
            traffic.enter()
            try:
                model = server.name_of(self._name)
                asked = _within(server.max_model_len, sampling)
                future = connection.client.submit(conversation, asked, model=model)
            except BaseException:
                traffic.leave()
                raise
        future.add_done_callback(lambda _: traffic.leave())
        return future

    # --- learning ---

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Write the dataset and the training's file, have the trainer train, load the adapter.

        All of it goes into `run.directory` (see `learnt.train_on`). If it raises, the student
        answers as before.

        Raises:
            ConfigurationError: for records of several stages, or options that cannot work.
            UnsupportedStageError, TrainingError, AdapterError, ServerError: as the trainer and
                `load` do.
        """
        self._connected()  # a server that cannot be is refused before the training
        with asleep(self, self.server) if self.sleep else nullcontext():
            folder = train_on(
                training_data,
                run,
                trainer=self.trainer,
                student=self.student,
                current=self._current,
                initial=self.adapter,
                tool_format=self._format,
            )
        with run.phase("load"):
            self.load(folder)

    def save(self, path: Path) -> None:
        """Write what was learnt to the folder `path`, in PEFT's format (see `learnt`)."""
        with self._lock:
            if (folder := self._current()) is None:
                save_nothing(path, self.student)
            else:
                copy_learnt(folder, path)

    def load(self, path: Path) -> None:
        """Answer with the adapter in `path`; the server goes on meanwhile.

        A whole student (from a training of all weights) means another server.

        Raises:
            AdapterError: if there is none, or the server does not take it; the student then
                answers as before.
            ServerError: if there is no server to take it.
        """
        kind = require_kind(path)
        with self._lock:
            self._take_up(None if kind == "nothing" else path)

    def reset(self) -> None:
        """Be the untouched student again, with what it had learnt already."""
        with self._lock:
            if self._connection is None:
                self._folder = self.adapter
            elif self._folder != self.adapter:
                self._take_up(self.adapter)

    def describe(self) -> dict[str, Any]:
        """Who the student is and how it learns, for the run directory."""
        name = type(self).__name__
        config = options_of(self.trainer)
        return describe_learner(name, self.student, self.adapter, config, self.tool_format)

    def close(self) -> None:
        """Take the adapter off the server, and be done with it; the next question starts anew."""
        with self._lock:
            if self._connection is not None:
                if self._name is not None:
                    self._connection.server.forget(self._name)
                self._disconnect()

    @property
    def server(self) -> VllmServer:
        """The server, started if need be."""
        return self._connected().server

    # --- the server ---

    def _connected(self) -> Connection:
        """The server, which answers with what has been learnt."""
        with self._lock:
            if self._connection is None:
                self._take_up(self._folder)
            assert self._connection is not None
            return self._connection

    def _take_up(self, folder: Path | None) -> None:
        """Answer with what is in `folder`, or with nothing learnt; if it raises, as before."""
        is_whole = folder is not None and kind_of(folder) == "student"
        model = self.student if folder is None or not is_whole else str(folder.resolve())
        was_connected = self._connection is not None and self._connection.model == model
        connection = self._serve(model)
        before, name = self._name, None
        try:
            if folder is not None and not is_whole:
                name = _new_name(folder)
                connection.server.load(name, folder)
        except BaseException:
            if not was_connected:  # there is nothing on the server yet that could answer
                self._disconnect()
            raise
        self._name, self._folder = name, folder
        if before is not None:
            connection.server.unload(before)

    def _serve(self, model: str) -> Connection:
        """Be connected to a server with that base model; one with another is ended first."""
        if self._connection is not None and self._connection.model != model:
            with self._connection.server.traffic.stopped():
                self._disconnect()
        if self._connection is None:
            self._connection = self._source.connect(model, self._asking)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._name = None, None

    def _current(self) -> Path | None:
        if self._folder is not None and kind_of(self._folder) is None:
            raise AdapterError(
                f"{self._folder}, which the student answers with, is gone: it must stay where it "
                "was loaded from"
            )
        return self._folder


_OPTIONS = (
    *("adapter", "base_url", "api_key_variable", "command", "variant", "port", "dtype"),
    *("max_lora_rank", "max_loras", "max_model_len", "gpus", "tensor_parallel_size"),
    *("gpu_memory_utilization", "cpu_cache_gib", "sleep", "concurrency", "timeout", "retries"),
    *("start_timeout", "tool_format", "options"),
)


_NOT_SERVED = {
    "use_dora": "DoRA adapters",
    "additional_target": "adapters with whole layers",
    "pissa_init": "adapters of changed weights",
}


def _lora_rank(config: TrainingConfig, initial: Path | None) -> int | None:
    """The largest rank of the adapters that will come; None if none will."""
    ranks = [config.lora_rank] if config.finetuning_type == "lora" else []
    if initial is not None and kind_of(initial) == "adapter":
        ranks.append(int(read_json(initial / "adapter_config.json").get("r", 1)))
    return max(ranks, default=None)


def _check_trainer(config: TrainingConfig, base_url: str | None) -> None:
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


def _check_nothing_to_start(**given: Any) -> None:
    if useless := [name for name, value in given.items() if value]:
        raise ConfigurationError(
            f"base_url names a server that runs already, so {', '.join(useless)} would start "
            "nothing: give one or the other"
        )


def _within(longest: int | None, sampling: SamplingParameters) -> SamplingParameters:
    """At most as many tokens as the server takes."""
    if longest is None or sampling.max_tokens <= longest:
        return sampling
    return sampling.model_copy(update={"max_tokens": longest})


def _new_name(folder: Path) -> str:
    """A name that no adapter has had: what it holds, and a random part."""
    files = sorted(folder.glob("*.safetensors"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return f"{digest[:12]}-{uuid.uuid4().hex[:8]}"
