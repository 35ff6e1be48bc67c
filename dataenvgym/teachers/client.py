"""The chat client: many conversations at once with one OpenAI-compatible server."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError, PredictionError, need
from dataenvgym.events import checked_key, keep_key, keep_secret, keep_secrets_of, without_secrets
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import Conversation
from dataenvgym.teachers.payloads import ClientOptions

if TYPE_CHECKING:
    from dataenvgym.teachers.dispatcher import Dispatcher


class ChatClient:
    """Asks an OpenAI-compatible server, many conversations at once.

    All methods may be called from any thread. The client connects at first use; a copy, or one sent
    to another process, starts unconnected. It is a context manager, and closes itself when it is
    garbage-collected or the process ends.

    A call with a temporary failure (status 408, 409, 429 or 5xx, or 200 with an error or without
    choices, a timeout, a lost connection) is retried after a pause. The pause doubles each time, or
    is what the server asks for with `retry-after-ms` or `Retry-After`. A permanent failure, also
    that of a content filter whatever its status, or one too many, is a `Failure` of this call,
    never an answer. A reply that was cut off before it said anything is an empty reply. If the
    server refuses the key (401, or 403 before its first answer), this call and all waiting ones
    raise a `ServerError`; so they do if the model does not exist (404), unless `on_disconnect` is
    given to handle that.

    Raises:
        ConfigurationError: for an invalid value.
    """

    @takes(ClientOptions)
    def __init__(self, given: ClientOptions) -> None:
        key = checked_key(given.api_key, "api_key") if given.api_key else None
        keep_secrets_of(given.base_url)
        self.base_url = _normalized(given.base_url)
        self._options = replace(given, base_url=self.base_url, api_key=key)
        self._lock = threading.Lock()
        self._dispatcher: Dispatcher | None = None
        self._finalizer: weakref.finalize[..., ChatClient] | None = None
        self._closed = False

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or a client sent to another process, starts unconnected."""
        return partial(type(self), **vars(self._options)), ()

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters, *, model: str
    ) -> Future[Reply | Failure]:
        """Ask `model` for the next message; the future can be cancelled at any time.

        Raises:
            PredictionError: if the client is closed. The future raises the error of
                `on_disconnect`, and `ServerError` if the server refuses everything.
        """
        return self._started().put(conversation, sampling, model)

    def request(
        self,
        method: str,
        path: str,
        payload: JsonValue | None = None,
        *,
        timeout: float | None = None,
    ) -> Any:
        """Any other request, e.g. `request("GET", "/health")`: tried once, and waited for.

        It does not wait behind conversations, and does not call `on_disconnect`.

        Returns:
            The answer's JSON, or its text if it is not JSON.

        Raises:
            ServerError: if there is no answer, or one with an error status (`error.status`).
            PredictionError: if the client is closed.
        """
        return self._started().request(method, path, payload, timeout)

    def close(self) -> None:
        """Disconnect. Conversations without an answer get a `Failure`; closing twice is fine."""
        with self._lock:
            self._closed = True
        if self._finalizer is not None:
            self._finalizer()

    def __enter__(self) -> ChatClient:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _started(self) -> Dispatcher:
        keep_secret(self._options.api_key)  # this may be another episode than the first one
        keep_secrets_of(self.base_url)
        if self._dispatcher is not None and not self._closed:
            return self._dispatcher
        with self._lock:
            if self._closed:
                raise PredictionError(
                    f"the client of {without_secrets(self.base_url)} is closed: make a new one"
                )
            if self._dispatcher is None:
                from dataenvgym.teachers.dispatcher import Dispatcher

                self._dispatcher = Dispatcher(self._options)
                # also when the process ends
                self._finalizer = weakref.finalize(self, self._dispatcher.close)
            return self._dispatcher


def ask_all(
    submit: Callable[[Conversation, SamplingParameters], Future[Reply | Failure]],
    conversations: Sequence[Conversation],
    sampling: SamplingParameters,
) -> list[Reply | Failure]:
    """Submit all conversations and wait for all replies, which are returned in order."""
    futures: list[Future[Reply | Failure]] = []
    try:
        for conversation in conversations:
            if futures and futures[0].done():
                futures[0].result()  # raises if the server refuses everything: ask no more
            futures.append(submit(conversation, sampling))
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


def _normalized(base_url: str) -> str:
    """The URL without "/v1" and a slash at the end of its path."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"base_url is {without_secrets(base_url)!r}, expected one like 'http://127.0.0.1:8000'"
        )
    return parts._replace(path=parts.path.rstrip("/").removesuffix("/v1")).geturl()


def key_from(variable: str | None, *, option: str = "predictor.api_key_variable") -> str | None:
    """The API key in that environment variable; None for a server without keys.

    Args:
        option: that names the variable, for the message.

    Raises:
        ConfigurationError: if the variable is not set (noted in `noting_needs`), or if its value
            cannot be a key.
    """
    if variable is None:
        return None
    if key := checked_key(os.environ.get(variable, ""), f"the environment variable {variable}"):
        return key
    named = f"that {option} names (not shown, it may be the key)"
    named = named if keep_key(variable) else variable
    need(
        ConfigurationError(
            f"the environment variable {named} is not set: set it to your key, or set "
            f"{option} to null for a server without keys"
        )
    )
    return None
