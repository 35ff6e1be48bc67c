"""A vLLM server for predictors: adapters come and go, and the server can sleep and recover.

Predictors of one process with the same options share a server (see `connected`), each with its own
adapters. Questions run while adapters stay; adapters change while no questions run, because adding
one during requests has once sent them to the wrong one (vLLM issue 47724).
"""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dataenvgym.errors import AdapterError, ConfigurationError, DataEnvGymError, ServerError
from dataenvgym.events import tell
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation, Message
from dataenvgym.students.predictors.vllm.options import VllmOptions
from dataenvgym.teachers import ChatClient, ask_all

CALL_SECONDS = 120.0
"""Largest duration of a call that manages a server."""

POLL_SECONDS = 0.25
AWAY_SECONDS = 20.0
"""Seconds without an answer after which the process of a server counts as dead."""
LOOK_SECONDS = 10.0
"""Seconds that a server may take to list its models; a working one takes milliseconds."""
TELL_SECONDS = 5.0
"""Seconds between reminders to the user that a server is starting."""

PROBE: Conversation = (
    Message(role="user", content="What is 17 plus 25? Then count from one to five."),
)
"""The question to a server before it sleeps and after it wakes: the answers must agree."""
_PROBED = SamplingParameters(temperature=0.0, max_tokens=24)


class AdapterLock:
    """Lets questions and changes of adapters take turns; a waiting change goes first."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._on_the_way = 0
        self._is_stopped = False

    def enter(self) -> None:
        """Begin a question; waits while an adapter changes, or is about to."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_stopped)
            self._on_the_way += 1

    def leave(self) -> None:
        """End a question that was answered or given up."""
        with self._condition:
            self._on_the_way -= 1
            self._condition.notify_all()

    def stop(self) -> None:
        """Let no question begin until `go`, and wait for those in progress."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_stopped)
            self._is_stopped = True
            try:
                self._condition.wait_for(lambda: not self._on_the_way)
            except BaseException:
                self.go()
                raise

    def go(self) -> None:
        """Let questions begin again."""
        with self._condition:
            self._is_stopped = False
            self._condition.notify_all()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Within the block, no question is in progress, and none begins."""
        self.stop()
        try:
            yield
        finally:
            self.go()


class VllmServer(ABC):
    """A server that answers, its base model, and the adapters that this process has loaded there.

    Args:
        base_url: its URL.
        options: how to ask it.
        api_key: sent with each call, if there is one.

    Attributes:
        adapters: the folder of each adapter that this process has loaded there, by name.
        n_users: how many predictors use it.
        model: the name under which the untouched student is served.
        root: the folder or hub name from which the server loaded it.
        untouched: the adapter of zeros that represents the student, if one is needed.
        max_model_len: largest number of tokens of prompt and reply together.
    """

    def __init__(self, base_url: str, options: VllmOptions, *, api_key: str | None = None) -> None:
        self._manager = ChatClient(base_url, api_key=api_key, timeout=CALL_SECONDS)
        self.base_url = self._manager.base_url
        self._client = options.client(base_url, api_key=api_key, on_disconnect=self.revive)
        self.adapter_lock = AdapterLock()
        self.adapters: dict[str, Path] = {}
        self.n_users = 0
        self._n_wakes = 0
        self.model, self.root = "", ""
        self.max_model_len: int | None = None
        self.untouched: str | None = None
        self._lock = threading.RLock()

    # --- for subclasses ---

    @abstractmethod
    def revive(self) -> None:
        """Make the server answer again, with all adapters; may be called from any thread.

        Raises:
            ServerError: if it does not.
        """

    @abstractmethod
    def restart(self) -> None:
        """End the server and start it again.

        Raises:
            ServerError: for a server that another program started.
        """

    # --- questions ---

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters, *, adapter: str | None
    ) -> Future[Reply | Failure]:
        """Ask the adapter, or the untouched student for None; waits while adapters change."""
        self.adapter_lock.enter()
        try:
            longest = self.max_model_len
            if longest is not None and sampling.max_tokens > longest:
                sampling = sampling.model_copy(update={"max_tokens": longest})
            future = self._client.submit(conversation, sampling, model=self.name_of(adapter))
        except BaseException:
            self.adapter_lock.leave()
            raise
        future.add_done_callback(lambda _: self.adapter_lock.leave())
        return future

    def name_of(self, adapter: str | None) -> str:
        """The model's name in requests: the adapter, or the untouched student for None."""
        name = self.untouched if adapter is None else adapter
        return self.model if name is None else self._served(name)

    # --- adapters ---

    def load(self, name: str, folder: Path) -> None:
        """Serve the adapter in `folder` under a name that has never been used before.

        Reloading under an old name can answer from stale blocks of the prefix cache (vLLM issue
        42125), or read the file again at every step.

        Raises:
            AdapterError: if the server refuses it; it then serves the same adapters as before.
            ServerError: if the server does not answer.
        """
        with self.adapter_lock.stopped():
            self._load(name, folder)
            self.adapters[name] = folder

    def unload(self, name: str) -> None:
        """Stop serving an adapter; an adapter that the server has forgotten is not an error."""
        with self.adapter_lock.stopped():
            self.adapters.pop(name, None)
            self._unload(name)

    def forget(self, name: str) -> None:
        """Stop serving an adapter, if the server is running at all."""
        with suppress(ServerError), self.adapter_lock.stopped():
            self.adapters.pop(name, None)
            self._call("POST", "/v1/unload_lora_adapter", {"lora_name": self._served(name)})

    def _load(self, name: str, folder: Path) -> None:
        try:
            self._manage(*self._loading(name, folder))
        except ServerError as error:
            if error.status is None:
                raise
            if self._served(name) in self._served_names():
                return  # a restart has loaded it
            raise AdapterError(
                f"the server does not take the adapter in {folder}: {error}"
            ) from error

    def _loading(self, name: str, folder: Path) -> tuple[str, dict[str, str]]:
        payload = {"lora_name": self._served(name), "lora_path": str(folder.absolute())}
        return "/v1/load_lora_adapter", payload

    def _unload(self, name: str) -> None:
        try:
            self._manage("/v1/unload_lora_adapter", {"lora_name": self._served(name)})
        except ServerError as error:
            if error.status is None or error.status >= 500:
                raise

    # --- sleep ---

    @contextmanager
    def asleep(self, adapter: str | None) -> Iterator[None]:
        """The GPU's memory is free within the block; needs vLLM's sleep mode, on a GPU.

        Questions and adapters wait until then. Sleep with adapters has corrupted answers without an
        error (vLLM issues 39934, 53888). So a server that answers a probe differently after waking
        is restarted.

        Args:
            adapter: the one that answers the probe.

        Raises:
            ConfigurationError: if the server has no sleep mode.
            ServerError: if its answer differs even after a restart.
        """
        before = self._probe(adapter)
        self._sleep()
        try:
            yield
        except BaseException as error:  # this error counts, even if waking raises another
            try:
                self._wake(adapter, before)
            except DataEnvGymError as another:
                error.add_note(f"the server did not wake up either: {another}")
            raise
        self._wake(adapter, before)

    def _sleep(self) -> None:
        self.adapter_lock.stop()
        try:
            self._manage("/sleep?level=1")
        except BaseException as error:
            self.adapter_lock.go()
            if isinstance(error, ServerError) and error.status == 404:
                raise ConfigurationError(
                    f"the server at {self.base_url} has no sleep mode: start it with "
                    "--enable-sleep-mode and VLLM_SERVER_DEV_MODE=1, or set predictor.sleep=false"
                ) from error
            raise

    def _wake(self, adapter: str | None, before: str) -> None:
        """Take the GPU's memory again, load the adapters again, and check the probe's answer."""
        try:
            self._manage("/wake_up")
            for name in self.adapters:
                self._unload(name)
            self._n_wakes += 1  # and with it their names on the server
            for name, folder in self.adapters.items():
                self._load(name, folder)
        finally:
            self.adapter_lock.go()
        if self._probe(adapter) != before:
            self.restart()
            if (after := self._probe(adapter)) != before:
                raise ServerError(
                    f"the server at {self.base_url} answers a fixed question with {after!r} after "
                    f"sleep and a restart, and {before!r} before: set predictor.sleep=false"
                )

    def _probe(self, adapter: str | None) -> str:
        reply = self.submit(PROBE, _PROBED, adapter=adapter).result()
        if isinstance(reply, Failure):
            raise ServerError(f"the server does not answer the probe: {reply.reason}")
        return reply.text

    def _served(self, name: str) -> str:
        return f"{name}-{self._n_wakes}" if self._n_wakes else name

    # --- health ---

    def is_healthy(self) -> bool:
        """Whether it answers."""
        try:
            self._call("GET", "/health", timeout=5.0)
        except ServerError:
            return False
        return True

    def _wait(self, what: str, seconds: float, check: Callable[[], None] = lambda: None) -> bool:
        """Wait until it answers; False if it takes longer. `check` may raise meanwhile."""
        began, told = time.monotonic(), float("-inf")
        while not self.is_healthy():
            check()
            waited = time.monotonic() - began
            if waited > seconds:
                return False
            if time.monotonic() - told > TELL_SECONDS:
                told = time.monotonic()
                tell(f"{what} ({waited:.0f} of {seconds:.0f} s)")
            time.sleep(POLL_SECONDS)
        return True

    def _reload_lost(self) -> None:
        """Load the adapters that a restarted server lacks.

        Raises:
            ServerError: if it does not accept one of them.
        """
        served = self._served_names()
        for name, folder in self.adapters.items():
            if self._served(name) not in served:
                try:
                    self._call("POST", *self._loading(name, folder))
                except ServerError as error:
                    if self._served(name) not in self._served_names():
                        raise ServerError(
                            f"the vLLM server was started again, and an adapter is lost: {error}"
                        ) from error

    def close(self) -> None:
        """Stop using it."""
        self._client.close()
        self._manager.close()

    def _look(self) -> None:
        """Find the models that are served."""
        found = self._models()
        base = next(model for model in found if not model.get("parent"))
        self.model, self.root = str(base["id"]), str(base.get("root") or base["id"])
        self.max_model_len = base.get("max_model_len")

    def _models(self) -> list[dict[str, Any]]:
        """The base model and the adapters that are served."""
        found: list[dict[str, Any]] = self._call("GET", "/v1/models", timeout=LOOK_SECONDS)["data"]
        return found

    def _served_names(self) -> set[str]:
        return {str(model["id"]) for model in self._models()}

    def _manage(self, path: str, payload: Any = None) -> None:
        """Send a call that must arrive: if the server is away, it is restarted first."""
        try:
            self._call("POST", path, payload)
        except ServerError as error:
            if error.status is not None:
                raise
            self.revive()
            self._call("POST", path, payload)

    def _call(
        self, method: str, path: str, payload: Any = None, timeout: float | None = None
    ) -> Any:
        return self._manager.request(method, path, payload, timeout=timeout)


_SERVERS: dict[str, VllmServer] = {}
# Reentrant: a predictor may be garbage collected, and leave its server, while another one starts.
_LOCK = threading.RLock()


def connected(key: str, make: Callable[[], VllmServer]) -> tuple[VllmServer, Callable[[], None]]:
    """The server of this process with that key, made if there is none; and how to leave it.

    The last user that leaves a server closes it.
    """
    with _LOCK:
        if (server := _SERVERS.get(key)) is None:
            server = _SERVERS[key] = make()
        server.n_users += 1

    def leave() -> None:
        with _LOCK:
            server.n_users -= 1
            if not server.n_users:
                del _SERVERS[key]
                server.close()

    return server, leave


def leave_when_collected(leave: Callable[[], None]) -> None:
    """Leave a server for a predictor that is garbage: in a thread that may wait.

    Any thread may collect it, also that of a loop for whose answer a starting server waits.
    """
    if threading.current_thread() is threading.main_thread():
        leave()
    else:
        threading.Thread(target=leave, daemon=True).start()


class BesideAdapter:
    """Answers with an adapter of its own, or as the untouched student; close it when done.

    Args:
        folder: with the adapter; None for the untouched student.

    Raises:
        AdapterError, ServerError: see `VllmServer.load`.
    """

    def __init__(self, server: VllmServer, folder: Path | None) -> None:
        self._server = server
        self._name = None if folder is None else new_name(folder)
        if self._name is not None and folder is not None:
            server.load(self._name, folder)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """See `VllmPredictor.predict`."""
        return ask_all(self.submit, conversations, sampling)

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """See `VllmPredictor.submit`."""
        return self._server.submit(conversation, sampling, adapter=self._name)

    def close(self) -> None:
        """Remove the adapter from the server."""
        if self._name is not None:
            self._server.forget(self._name)


def new_name(folder: Path) -> str:
    """A new name for an adapter: a hash of its weights, and a random part."""
    files = sorted(folder.glob("*.safetensors"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return f"{digest[:12]}-{uuid.uuid4().hex[:8]}"
