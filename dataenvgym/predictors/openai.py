"""A model behind an OpenAI-compatible API: it answers, and cannot be trained."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.llm import ChatClient, ask_all, key_from
from dataenvgym.llm.payloads import RequestForm
from dataenvgym.records import Conversation
from dataenvgym.tool_formats import tool_format as get_format


class OpenAIPredictor:
    """Asks a model by its name.

    Args:
        model: its name on the server.
        base_url: the server, with or without "/v1".
        api_key_variable: the environment variable with the key; None for a server without.
        concurrency: conversations that the server gets at the same time, at most.
        timeout: seconds that one try of one question may take.
        retries: how often a question is asked again after a failure that may pass.
        tool_format: how tools and calls are sent: "native" as the API has them, or as text in one
            of the other `tool_formats`.

    Raises:
        ConfigurationError: for an impossible value; without a key, when it is first
            asked.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key_variable: str | None = "OPENAI_API_KEY",
        concurrency: int = 32,
        timeout: float = 600.0,
        retries: int = 4,
        tool_format: str = "native",
    ) -> None:
        self.model = model
        self.base_url = base_url
        self.api_key_variable = api_key_variable
        self.tool_format = tool_format
        self._options: dict[str, Any] = {
            "concurrency": concurrency,
            "timeout": timeout,
            "retries": retries,
        }
        self._form = RequestForm(tool_format=get_format(tool_format))
        ChatClient(base_url, **self._options)  # checks the values
        self._lock = threading.Lock()
        self._connected: ChatClient | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied or sent to another process, it is not yet connected, and finds its key there."""
        options = {
            "base_url": self.base_url,
            "api_key_variable": self.api_key_variable,
            "tool_format": self.tool_format,
            **self._options,
        }
        return partial(type(self), **options), (self.model,)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation, in their order."""
        return ask_all(self.submit, conversations, sampling)

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """The reply or failure to one conversation, when it is there."""
        return self._client.submit(conversation, sampling, model=self.model)

    def close(self) -> None:
        """Hang up; asked again, it connects again."""
        with self._lock:
            client, self._connected = self._connected, None
        if client is not None:
            client.close()

    def describe(self) -> dict[str, Any]:
        """Which model it is, for the run directory."""
        said = {"name": type(self).__name__, "model": self.model, "base_url": self.base_url}
        return said if self.tool_format == "native" else {**said, "tool_format": self.tool_format}

    @property
    def _client(self) -> ChatClient:
        with self._lock:
            if self._connected is None:
                key = key_from(self.api_key_variable)
                self._connected = ChatClient(
                    self.base_url, api_key=key, scout=True, form=self._form, **self._options
                )
            return self._connected
