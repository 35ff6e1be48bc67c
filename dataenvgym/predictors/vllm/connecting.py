"""From a predictor to its server, wherever that comes from."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dataenvgym.llm import ChatClient, key_from
from dataenvgym.llm.payloads import RequestForm
from dataenvgym.predictors.vllm.attached import AttachedServer
from dataenvgym.predictors.vllm.options import ServerOptions
from dataenvgym.predictors.vllm.own import shared_server
from dataenvgym.predictors.vllm.server import VllmServer
from dataenvgym.tool_formats import ToolFormat


class Connection:
    """A server with a certain base model, a client of it, and the way to be done with both."""

    def __init__(
        self, model: str, server: VllmServer, client: ChatClient, release: Callable[[], None]
    ) -> None:
        self.model = model
        self.server = server
        self.client = client
        # also when nobody calls close(), and when the process ends
        self.close = weakref.finalize(self, _disconnect, client, release)


@dataclass(frozen=True)
class Asking:
    """How a server is asked; see `VllmPredictor`.

    Raises:
        ConfigurationError: for a value that cannot be.
    """

    concurrency: int
    timeout: float
    retries: int
    api_key_variable: str | None
    tool_format: ToolFormat

    def __post_init__(self) -> None:
        self._client("http://127.0.0.1")  # checks the values

    def client_of(self, server: VllmServer) -> ChatClient:
        """A client that has the server brought back if it dies or has lost its adapters."""
        return self._client(server.base_url, api_key=server.api_key, on_disconnect=server.revive)

    def _client(self, base_url: str, **options: Any) -> ChatClient:
        return ChatClient(
            base_url,
            concurrency=self.concurrency,
            timeout=self.timeout,
            retries=self.retries,
            form=RequestForm(tool_format=self.tool_format),
            **options,
        )


@dataclass(frozen=True)
class StartedHere:
    """A server that is started when it is needed."""

    options: ServerOptions
    port: int | None
    start_timeout: float

    def connect(self, model: str, asking: Asking) -> Connection:
        """Connect to a server with that base model."""
        server, release = shared_server(
            self.options.of_model(model), port=self.port, start_timeout=self.start_timeout
        )
        return Connection(model, server, asking.client_of(server), release)


@dataclass(frozen=True)
class RunsAlready:
    """A server that somebody else started.

    Attributes:
        rank: of the adapters that it will get; None for none.
        start_timeout: seconds that it may be away for a restart.
    """

    base_url: str
    rank: int | None
    start_timeout: float

    def connect(self, model: str, asking: Asking) -> Connection:
        """Connect to it, if it has that base model."""
        server = AttachedServer(
            self.base_url,
            model,
            rank=self.rank,
            start_timeout=self.start_timeout,
            api_key=key_from(asking.api_key_variable),
        )
        return Connection(model, server, asking.client_of(server), server.close)


def _disconnect(client: ChatClient, release: Callable[[], None]) -> None:
    client.close()
    release()
