"""A model behind an OpenAI-compatible API: it answers, and cannot be trained."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.options import Free
from dataenvgym.records import Conversation
from dataenvgym.records.tool_formats import COMPLETION, StudentFormat, is_completion
from dataenvgym.records.tool_formats import tool_format as get_format
from dataenvgym.teachers import ChatClient, ask_all, key_from
from dataenvgym.teachers.budget import Price, parse_price
from dataenvgym.teachers.payloads import RequestForm

_OPENAI = "https://api.openai.com"


class OpenAIPredictor:
    """Asks a model by its name.

    Args:
        model: its name on the server.
        base_url: the server, with or without "/v1".
        api_key_variable: the environment variable with the key; None for a server without keys.
        concurrency: largest number of conversations at the server at the same time.
        timeout: seconds that one try of one question may take.
        retries: how often a question is asked again after a temporary failure.
        price: `{prompt: ..., completion: ...}` in US dollars for a million tokens; None if it is
            unknown. The costs of an evaluation are counted from it.
        tool_format: how tools and calls are sent: "native" uses the API's own fields, the other
            `tool_formats` write them as text.
        format: "chat", or "completion" for a model that completes a bare text (`/v1/completions`).
        chat_template_kwargs: values for the model's chat template, such as {enable_thinking:
            false}, sent with each request: vLLM, SGLang and llama.cpp take them, OpenAI does not.
            The server decides what its template reads; it may leave out the rest without a word.

    Raises:
        ConfigurationError: for an invalid value; at the first question, if the key is missing.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: Free[str] = "https://api.openai.com/v1",
        api_key_variable: Free[str | None] = "OPENAI_API_KEY",
        concurrency: Free[PositiveInt] = 32,
        timeout: Free[PositiveFloat] = 600.0,
        retries: Free[NonNegativeInt] = 4,
        price: Free[Price | Mapping[str, float] | None] = None,
        tool_format: str = "native",
        format: StudentFormat = "chat",
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.base_url = base_url
        self.api_key_variable = api_key_variable
        self.tool_format = tool_format
        self.format = format
        self.chat_template_kwargs = dict(chat_template_kwargs or {})
        self._options: dict[str, Any] = {
            "concurrency": concurrency,
            "timeout": timeout,
            "retries": retries,
            "price": parse_price(price),
        }
        is_bare = is_completion(format, None if tool_format == "native" else tool_format)
        if self.chat_template_kwargs and (is_bare or base_url.startswith(_OPENAI)):
            why = "format completion has no chat template" if is_bare else f"{_OPENAI} takes none"
            raise ConfigurationError(
                f"chat_template_kwargs is {self.chat_template_kwargs}, and {why}: leave it out, or "
                "ask a chat model of a server that takes them (vLLM, SGLang, llama.cpp)"
            )
        self._form = RequestForm(
            tool_format=COMPLETION if is_bare else get_format(tool_format),
            fields={"chat_template_kwargs": self.chat_template_kwargs or None},
        )
        ChatClient(base_url, **self._options)  # checks the address
        self._lock = threading.Lock()
        self._connected: ChatClient | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or one sent to another process, starts unconnected and reads its key there."""
        names = ("base_url", "api_key_variable", "tool_format", "format", "chat_template_kwargs")
        options = {name: getattr(self, name) for name in names}
        return partial(type(self), **options, **self._options), (self.model,)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply or failure for each conversation, in their order."""
        return ask_all(self.submit, conversations, sampling)

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """A future of the reply or failure to one conversation."""
        with self._lock:
            if self._connected is None:
                key = key_from(self.api_key_variable)
                self._connected = ChatClient(
                    self.base_url, api_key=key, scout=True, form=self._form, **self._options
                )
            client = self._connected
        return client.submit(conversation, sampling, model=self.model)

    def close(self) -> None:
        """Disconnect; the next question connects again."""
        with self._lock:
            client, self._connected = self._connected, None
        if client is not None:
            client.close()

    def describe(self) -> dict[str, Any]:
        """The settings of the model, for the run directory."""
        said: dict[str, Any] = {"name": type(self).__name__, "model": self.model}
        said["base_url"] = self.base_url
        if self.chat_template_kwargs:
            said["chat_template_kwargs"] = self.chat_template_kwargs
        if self.format != "chat":
            return {**said, "format": self.format}
        return said if self.tool_format == "native" else {**said, "tool_format": self.tool_format}
