"""A teacher behind an OpenAI-compatible server: OpenAI, Azure, vLLM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError
from dataenvgym.llm.budget import Price, parse_budget, parse_price
from dataenvgym.llm.client import ChatClient, key_from
from dataenvgym.llm.metered_teacher import MeteredTeacher
from dataenvgym.llm.payloads import RequestForm, chat_payload
from dataenvgym.llm.teacher_ask import RequestOutcome, TeacherRequest
from dataenvgym.options import Free, Given


class Teacher(MeteredTeacher):
    """Asks a model by its name; see `MeteredTeacher` for cache, budget and transcript.

    A request without an answer in time becomes a failure after some more tries.

    Args:
        model: its name on the server; for Azure, that of the deployment.
        base_url: the server, with or without "/v1"; for Azure
            "https://NAME.openai.azure.com/openai/v1".
        api_key_variable: the environment variable with the key; None for a server without keys.
        api_key_header: send the key in this header, such as Azure's "api-key"; None sends it as
            bearer token, which Azure accepts too.
        concurrency: largest number of requests at the server at the same time.
        timeout: seconds that one try of one request may take.
        retries: how often a request is tried again after a temporary failure.
        max_tokens_field: the field of a request that limits the reply: "max_tokens", or
            "max_completion_tokens", which OpenAI's newer models require.
        fields: more fields of each request (`{reasoning_effort: low}`), or other values for ours;
            None leaves a field out (`{temperature: null}`).
        cache: None for none, a folder, or a Redis server ("redis://HOST:PORT").
        max_requests, max_tokens, max_cost: the budget of the run (see `Budget`); None is
            unlimited.
        price: `{prompt: ..., completion: ...}` in US dollars for a million tokens; None if it is
            unknown.
        directory: the run directory; None keeps no transcript, and counts in memory.

    Raises:
        ConfigurationError: for an invalid value, a missing key, and for `max_cost` without a
            price.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: Free[str] = "https://api.openai.com/v1",
        api_key_variable: Free[str | None] = "OPENAI_API_KEY",
        api_key_header: Free[str | None] = None,
        concurrency: Free[int] = 32,
        timeout: Free[float] = 120.0,
        retries: Free[int] = 4,
        max_tokens_field: Free[str] = "max_completion_tokens",
        fields: Mapping[str, JsonValue] | None = None,
        cache: Free[str | Path | None] = None,
        max_requests: Free[int | None] = None,
        max_tokens: Free[int | None] = None,
        max_cost: Free[float | None] = None,
        price: Free[Price | Mapping[str, float] | None] = None,
        directory: Given[str | Path | None] = None,
    ) -> None:
        if fields is not None and not isinstance(fields, Mapping):
            raise ConfigurationError(f"fields is {fields!r}, expected values by name, or null")
        self._form = RequestForm(max_tokens_field, dict(fields or {}))
        self._client = ChatClient(
            base_url,
            api_key=key_from(api_key_variable, option="teacher.api_key_variable"),
            api_key_header=api_key_header,
            form=self._form,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
        )
        price = parse_price(price)
        super().__init__(
            model,
            concurrency=concurrency,
            cache=cache,
            budget=parse_budget(max_requests, max_tokens, max_cost, price),
            price=price,
            directory=directory,
        )
        self.is_tried = False

    def identity(self) -> str:
        """The server; the model is in the request."""
        return self._client.base_url

    def body(self, request: TeacherRequest) -> bytes:
        """The request as it is sent."""
        return chat_payload(
            request.conversation, request.sampling, model=self.model, form=self._form
        )

    def send(self, requests: Sequence[TeacherRequest]) -> Sequence[Future[RequestOutcome]]:
        """Send the requests to the server."""
        client, model = self._client, self.model
        return [client.submit(r.conversation, r.sampling, model=model) for r in requests]

    def describe(self) -> dict[str, str]:
        """The settings of the teacher."""
        return {
            "name": type(self).__name__,
            "model": self.model,
            "base_url": self._client.base_url,
        }

    def close(self) -> None:
        """Disconnect; requests in progress fail."""
        self._client.close()
