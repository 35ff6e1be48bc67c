"""The student in a vLLM server."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from dataenvgym.errors import AdapterError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.llm import ask_all, key_from
from dataenvgym.predictors.checkpoints import (
    copy_checkpoint,
    describe_learner,
    initial_folder,
    kind_of,
    require_kind,
    save_nothing,
    train_on,
)
from dataenvgym.predictors.former_adapter import RemembersFormer
from dataenvgym.predictors.in_process import own_tool_format, resolve_student
from dataenvgym.predictors.vllm.attached import AttachedServer
from dataenvgym.predictors.vllm.beside import BesideAdapter, new_name
from dataenvgym.predictors.vllm.options import (
    Asking,
    VllmOptions,
    check_nothing_to_start,
    check_records,
    check_tools,
    check_trainer,
    chosen,
    lora_rank,
    with_defaults,
)
from dataenvgym.predictors.vllm.own import OwnServer
from dataenvgym.predictors.vllm.server import VllmServer
from dataenvgym.predictors.vllm.sleeping import asleep
from dataenvgym.predictors.vllm.starting import ServerOptions, server_options
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.tool_formats import tool_format
from dataenvgym.trainers import InProcessTrainer, TrainerInterface
from dataenvgym.trainers.interface import options_of


class VllmPredictor(RemembersFormer):
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
        options: see `VllmOptions`.

    Raises:
        ConfigurationError: for a value or combination that cannot be.
        ExternalError: if the pinned environment is needed and not installed.
    """

    def __init__(
        self,
        student: str | Path = "pocket",
        trainer: TrainerInterface | None = None,
        **options: Unpack[VllmOptions],
    ) -> None:
        self._given, options = options, with_defaults(options)
        self.student = resolve_student(student)
        self.trainer = trainer or InProcessTrainer()
        self.adapter = initial_folder(options["adapter"])
        self.sleep = options["sleep"]
        self.tool_format = options["tool_format"] or own_tool_format(self.student)
        options["tool_format"] = self.tool_format
        check_tools(options)
        self._format = tool_format(self.tool_format)
        self._parser = options["tool_parser"]
        self._asking = Asking(**chosen(options, Asking))
        self._port, self._key_variable = options["port"], options["api_key_variable"]
        self._start_timeout = options["start_timeout"]
        self._rank = lora_rank(options_of(self.trainer), self.adapter)
        self._base_url = options["base_url"]
        check_trainer(options_of(self.trainer), self._base_url)
        self._starts: ServerOptions | None = None
        if self._base_url is None:
            self._starts = server_options(self.student, options, rank=self._rank or 1)
        else:
            check_nothing_to_start(options)
        self._server: VllmServer | None = None
        self._base = self.student  # what the server has as its model
        self._disconnect: Callable[[], object] = _nothing
        self._folder: Path | None = self.adapter  # what has been learned
        self._name: str | None = None  # its name on the server
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied or sent to another process, it is the untouched student, not yet connected."""
        return partial(type(self), **self._given), (self.student, self.trainer)

    # --- answering ---

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation, in their order.

        Raises:
            ServerError: if the server is gone for good.
        """
        return ask_all(self.submit, conversations, sampling)

    def connect(self) -> VllmServer:
        """Start the server, or find it; the first question would do so too.

        Raises:
            ConfigurationError, ServerError, AdapterError, ExternalError: if it cannot be.
        """
        with self._lock:
            if self._server is None:
                self._take_up(self._folder)
            assert self._server is not None
            return self._server

    @property
    def server(self) -> VllmServer:
        """The server, started if need be."""
        return self.connect()

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """The reply or failure to one conversation, when it is there.

        Raises:
            ServerError: if the server does not come up; later, from the future, if it is gone for
                good.
        """
        with self._lock:
            return self.connect().submit(conversation, sampling, adapter=self._name)

    # --- learning ---

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Write the dataset and the training's file, have the trainer train, load the adapter.

        All of it goes into `run.directory` (see `checkpoints.train_on`). If it raises, the student
        answers as before.

        Raises:
            ConfigurationError: for records of several stages, options that cannot work, or records
                with tools if `tool_format` is "native".
            UnsupportedStageError, TrainingError, AdapterError, ServerError: as the trainer and
                `load` do.
        """
        check_records(training_data, self.tool_format)
        self.connect()  # a server that cannot be is refused before the training
        before = self._folder
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
        self.remember_former(before)

    def save(self, path: Path) -> None:
        """Write what was learned to the folder `path`, in PEFT's format (see `checkpoints`)."""
        with self._lock:
            if (folder := self._current()) is None:
                save_nothing(path, self.student)
            else:
                copy_checkpoint(folder, path)

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
            self._former = "unknown"

    def with_adapter(self, folder: Path | None) -> BesideAdapter:
        """A predictor that answers with the adapter in `folder`; None for the untouched student.

        The same server answers for both, with one more adapter until the predictor is closed.

        Raises:
            AdapterError: as `load`, and where a whole student is or would be served: that is
                another base model.
            ServerError: if there is no server to take it.
        """
        folder = self.adapter if folder is None else folder
        if folder is not None and require_kind(folder) == "nothing":
            folder = None
        with self._lock:
            server = self.connect()
            if self._base != self.student or (folder and kind_of(folder) == "student"):
                raise AdapterError(
                    f"{folder or self.student} and {self._folder or self.student} do not share a "
                    "base model (one of them is a whole student), so one server cannot answer for "
                    "both: give the speaker a predictor of its own"
                )
            return BesideAdapter(server, folder)

    def reset(self) -> None:
        """Be the untouched student again, with what it had learned already."""
        with self._lock:
            self.remember_former(None)
            if self._server is None:
                self._folder = self.adapter
            elif self._folder != self.adapter:
                self._take_up(self.adapter)

    def describe(self) -> dict[str, Any]:
        """Who the student is and how it learns, for the run directory."""
        name = type(self).__name__
        config = options_of(self.trainer)
        said = describe_learner(name, self.student, self.adapter, config, self.tool_format)
        return said if self._parser is None else {**said, "tool_parser": self._parser}

    def close(self) -> None:
        """Take the adapter off the server, and be done with it; the next question starts anew."""
        with self._lock:
            if self._server is not None and self._name is not None:
                self._server.forget(self._name)
            self._hang_up()

    # --- the server ---

    def _take_up(self, folder: Path | None) -> None:
        """Answer with what is in `folder`, or with nothing learned; if it raises, as before."""
        is_whole = folder is not None and kind_of(folder) == "student"
        model = self.student if folder is None or not is_whole else str(folder.resolve())
        was_connected = self._server is not None and self._base == model
        server = self._serve(model)
        before, name = self._name, None
        try:
            if folder is not None and not is_whole:
                name = new_name(folder)
                server.load(name, folder)
        except BaseException:
            if not was_connected:  # there is nothing on the server yet that could answer
                self._hang_up()
            raise
        self._name, self._folder = name, folder
        if before is not None:
            server.unload(before)

    def _serve(self, model: str) -> VllmServer:
        """Be connected to a server with that base model; one with another is ended first."""
        if self._server is not None and self._base != model:
            with self._server.traffic.stopped():
                self._hang_up()
        if self._server is None:
            self._server, self._base = self._find(model), model
            # also when nobody calls close(), and when the process ends
            self._disconnect = weakref.finalize(self, self._server.close)
        return self._server

    def _find(self, model: str) -> VllmServer:
        if self._starts is not None:
            return OwnServer(
                self._starts.of_model(model),
                self._asking,
                port=self._port,
                start_timeout=self._start_timeout,
            )
        assert self._base_url is not None
        return AttachedServer(
            self._base_url,
            model,
            self._asking,
            rank=self._rank,
            start_timeout=self._start_timeout,
            api_key=key_from(self._key_variable),
        )

    def _hang_up(self) -> None:
        self._disconnect()
        self._server, self._name, self._disconnect = None, None, _nothing

    def _current(self) -> Path | None:
        if self._folder is not None and kind_of(self._folder) is None:
            raise AdapterError(
                f"{self._folder}, which the student answers with, is gone: it must stay where it "
                "was loaded from"
            )
        return self._folder


def _nothing() -> None:
    """There is nothing to hang up."""
