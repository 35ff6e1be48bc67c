"""The student in a vLLM server."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.interfaces import AdapterJob, Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.options import takes
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.records.tool_formats import tool_format
from dataenvgym.students.llama_factory.training_config import options_of
from dataenvgym.students.predictors.checkpoints import (
    copy_checkpoint,
    kind_of,
    require_kind,
    save_nothing,
)
from dataenvgym.students.predictors.learner import Learner
from dataenvgym.students.predictors.vllm.attached_server import AttachedServer
from dataenvgym.students.predictors.vllm.options import (
    VllmOptions,
    check_nothing_to_start,
    check_records,
    check_tools,
    check_trainer,
    lora_rank,
    served_rank,
)
from dataenvgym.students.predictors.vllm.own_server import OwnServer
from dataenvgym.students.predictors.vllm.server import (
    BesideAdapter,
    VllmServer,
    connected,
    leave_when_collected,
    new_name,
)
from dataenvgym.students.predictors.vllm.starting import start_options
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.teachers import ask_all


class VllmPredictor(Learner):
    """A student that vLLM serves; adapters are swapped while it runs.

    The server is started at first use, and ends with the last predictor that uses it, or with the
    process, even if that is killed. Predictors of one process with the same options share one, each
    with its own adapters; those of several processes share one at a `base_url`. If it dies, it is
    restarted with its adapters, and unanswered questions are asked again. If it dies again before
    the next adapter, that is a ServerError.

    All methods may be called from any thread. `submit` lets each conversation continue when its own
    reply arrives. The server decides which conversations are computed together, so replies may
    differ between runs where two tokens are almost equally likely.

    Raises:
        ConfigurationError: for an invalid value or combination.
        ExternalError: if the pinned environment is needed and not installed.
    """

    @takes(VllmOptions)
    def __init__(self, given: VllmOptions) -> None:
        self._given = given
        trainer = given.trainer or InProcessTrainer()
        super().__init__(
            given.student,
            trainer,
            adapter=given.adapter,
            tool_format=given.tool_format,
            format=given.format,
            chat_template_kwargs=given.chat_template_kwargs,
            threads=getattr(trainer, "threads", 1),
            form=tool_format,
        )
        self.sleep = given.sleep
        if self.chat_template_kwargs and "chat_template" in (given.options or {}):
            raise ConfigurationError(
                "options.chat_template is not the template that training reads, expected it in the "
                "student's folder as chat_template.jinja"
            )
        self._options = options = replace(given, tool_format=self.tool_format)
        check_tools(options)
        self._rank = lora_rank(options_of(self.trainer), self.adapter)
        check_trainer(options_of(self.trainer), options.base_url)
        self._starts: VllmOptions | None = None
        if options.base_url is None:
            self._starts = start_options(self.student, options, rank=self._rank or 1)
        else:
            check_nothing_to_start(options)
        self._server: VllmServer | None = None
        self._base = self.student  # the server's model
        self._disconnect: Callable[[], object] = _nothing
        self._folder: Path | None = self.adapter  # the current adapter
        self._name: str | None = None  # its name on the server
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or one sent to another process, is the untouched student, not yet connected."""
        options = replace(self._given, student=self.student, trainer=self.trainer)
        return partial(type(self), **vars(options)), ()

    # --- answering ---

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation, in their order.

        Raises:
            ServerError: if the server is gone for good.
        """
        return ask_all(self.submit, conversations, sampling)

    @property
    def server(self) -> VllmServer:
        """The server, started or found if needed; the first question does so, too.

        Raises:
            ConfigurationError, ServerError, AdapterError, ExternalError: if that fails.
        """
        with self._lock:
            if self._server is None:
                self._take_up(self._folder)
            assert self._server is not None
            return self._server

    def connect(self) -> VllmServer:
        """Start the server, or find it: what `server` is."""
        return self.server

    @property
    def served_name(self) -> str:
        """The model's name at the server: that of its adapter, if it has one."""
        return self.server.name_of(self._name)

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """A future of the reply or failure to one conversation.

        Raises:
            ServerError: if the server does not start; later, from the future, if it is gone for
                good.
        """
        with self._lock:
            return self.server.submit(conversation, sampling, adapter=self._name)

    # --- learning ---

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Write the dataset and the training's file, run the trainer, load the adapter.

        All files go into `run.directory` (see `Learner.train_on`). If it raises, the student
        answers as before.

        Raises:
            ConfigurationError: for records of several stages, options that cannot work, or records
                with tools if `tool_format` is "native".
            UnsupportedStageError, TrainingError, AdapterError, ServerError: from the trainer and
                `load`.
        """
        self.check_records(training_data)
        server, before = self.server, self._folder  # raises before the training if there is none
        with server.asleep(self._name) if self.sleep else nullcontext():
            start = self._current() if run.start == "adapter" else None
            folder = self.train_on(training_data, run, start)
        with run.phase("load"):
            self.load(folder)
        self.remember_former(before)

    def check_records(self, records: Sequence[TrainingDatum]) -> None:
        check_records(records, self.tool_format)

    def train_each(self, jobs: Sequence[AdapterJob]) -> list[Path | Failure]:
        with self.server.asleep(self._name) if self.sleep else nullcontext():
            return super().train_each(jobs)

    def predict_each(
        self,
        adapters: Sequence[Path | None],
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
    ) -> list[Reply | Failure]:
        """See `AblePredictor`; the server computes `max_loras` of them in one batch."""
        with ExitStack() as stack:
            beside: dict[Path | None, BesideAdapter] = {}
            for folder in adapters:
                if folder not in beside:
                    beside[folder] = self.with_adapter(folder)
                    stack.callback(beside[folder].close)
            futures = [
                beside[folder].submit(conversation, sampling)
                for folder, conversation in zip(adapters, conversations, strict=True)
            ]
            return [future.result() for future in futures]

    def save(self, path: Path) -> None:
        """Write the adapter to the folder `path`, in PEFT's format (see `checkpoints`)."""
        with self._lock:
            if (folder := self._current()) is None:
                save_nothing(path, self.student)
            else:
                copy_checkpoint(folder, path)

    def load(self, path: Path) -> None:
        """Answer with the adapter in `path`; the server keeps running.

        A whole student (from training all weights) needs another server.

        Raises:
            AdapterError: if there is none, or the server does not accept it; the student then
                answers as before.
            ServerError: if the server is not available.
        """
        kind = require_kind(path)
        with self._lock:
            self._take_up(None if kind == "nothing" else path)
            self._former = "unknown"

    def with_adapter(self, folder: Path | None) -> BesideAdapter:
        """A predictor that answers with the adapter in `folder`; None for the untouched student.

        The same server answers for both, with one more adapter until the predictor is closed.

        Raises:
            AdapterError: see `load`; also if either of the two is a whole student, which is another
                base model.
            ServerError: if the server is not available.
        """
        folder = self.adapter if folder is None else folder
        if folder is not None and require_kind(folder) == "nothing":
            folder = None
        with self._lock:
            server = self.server
            if self._base != self.student or (folder and kind_of(folder) == "student"):
                raise AdapterError(
                    f"{folder or self.student} and {self._folder or self.student} do not share a "
                    "base model (one of them is a whole student), so one server cannot answer for "
                    "both: give the speaker a predictor of its own"
                )
            return BesideAdapter(server, folder)

    def reset(self) -> None:
        """Return to the untouched student with its initial adapter."""
        with self._lock:
            self.remember_former(None)
            if self._server is None:
                self._folder = self.adapter
            elif self._folder != self.adapter:
                self._take_up(self.adapter)

    @property
    def has_learned(self) -> bool:
        """Whether it answers with something else than its initial adapter."""
        with self._lock:
            return self._folder not in (None, self.adapter)

    def describe(self) -> dict[str, Any]:
        """The student and its training settings, for the run directory."""
        said = super().describe()
        parser = self._options.tool_parser
        return said if parser is None else {**said, "tool_parser": parser}

    def close(self) -> None:
        """Remove the adapter from the server and stop using it; the next question starts again."""
        with self._lock:
            if self._server is not None and self._name is not None:
                self._server.forget(self._name)
            self._hang_up()

    # --- the server ---

    def _take_up(self, folder: Path | None) -> None:
        """Answer with the adapter in `folder`, or without one; if it raises, nothing changes."""
        is_whole = folder is not None and kind_of(folder) == "student"
        model = self.student if folder is None or not is_whole else str(folder.resolve())
        was_connected = self._server is not None and self._base == model
        server = self._serve(model)
        before, name = self._name, None
        try:
            if folder is not None and not is_whole:
                if kind_of(folder) == "adapter":
                    served_rank(folder)
                name = new_name(folder)
                server.load(name, folder)
        except BaseException:
            if not was_connected:  # the server has nothing yet to answer with
                self._hang_up()
            raise
        self._name, self._folder = name, folder
        if before is not None:
            server.unload(before)

    def _serve(self, model: str) -> VllmServer:
        """Connect to a server with that base model; a server with another one is ended first."""
        if self._server is not None and self._base != model:
            with self._server.adapter_lock.stopped():
                self._hang_up()
        if self._server is None:
            options = replace(self._starts or self._options, student=model)

            def make() -> VllmServer:
                return AttachedServer(options, rank) if self._starts is None else OwnServer(options)

            rank = self._rank if self._starts is None else None
            # all but what the server does not know
            key = repr((replace(options, trainer=None, adapter=None), rank))
            self._server, leave = connected(key, make)
            self._base = model
            # also without a call of close(), and when the process ends
            collected = weakref.finalize(self, leave_when_collected, leave)
            self._disconnect = lambda: collected.detach() and leave()
        return self._server

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
    """Do nothing: there is no connection to close."""
