"""Teachers: a model behind an OpenAI-compatible server (OpenAI, Azure, vLLM), or the student."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic import JsonValue, NonNegativeInt, PositiveFloat, PositiveInt

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, can, predict_with_schema
from dataenvgym.options import Free, takes
from dataenvgym.storage import hash_files
from dataenvgym.teachers.budget import MeterOptions
from dataenvgym.teachers.client import ChatClient, key_from
from dataenvgym.teachers.metered_teacher import MeteredTeacher, RequestOutcome, TeacherRequest
from dataenvgym.teachers.payloads import RequestForm, chat_payload


@dataclass(frozen=True, kw_only=True)
class TeacherOptions(MeterOptions):
    """The options of `Teacher`.

    Attributes:
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
    """

    model: str = field(kw_only=False)
    base_url: Free[str] = "https://api.openai.com/v1"
    api_key_variable: Free[str | None] = "OPENAI_API_KEY"
    api_key_header: Free[str | None] = None
    concurrency: Free[PositiveInt] = 32
    timeout: Free[PositiveFloat] = 120.0
    retries: Free[NonNegativeInt] = 4
    max_tokens_field: Free[str] = "max_completion_tokens"
    fields: Mapping[str, JsonValue] | None = None


class Teacher(MeteredTeacher):
    """Asks a model by its name; see `MeteredTeacher` for cache, budget and transcript.

    A request without an answer in time becomes a failure after some more tries.

    Raises:
        ConfigurationError: for a missing key, and for `max_cost` without a price.
    """

    @takes(TeacherOptions)
    def __init__(self, given: TeacherOptions) -> None:
        self._form = RequestForm(given.max_tokens_field, dict(given.fields or {}))
        self._client = ChatClient(
            given.base_url,
            api_key=key_from(given.api_key_variable, option="teacher.api_key_variable"),
            api_key_header=given.api_key_header,
            form=self._form,
            concurrency=given.concurrency,
            timeout=given.timeout,
            retries=given.retries,
        )
        super().__init__(given.model, given.concurrency, given)
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


@dataclass(frozen=True, kw_only=True)
class StudentTeacherOptions(MeterOptions):
    """The options of `StudentTeacher`.

    Attributes:
        predictor: the student.
        batch_size: largest number of conversations that it gets at the same time.
    """

    predictor: PredictorInterface = field(kw_only=False)
    batch_size: PositiveInt = 256


class StudentTeacher(MeteredTeacher):
    """The student itself, in its current state: self-improvement.

    A student that cannot be constrained by a JSON schema is asked without it.

    With a `cache`, training changes the student's identity: for each call to `ask`, its adapter is
    written to a temporary folder and hashed, which may take longer than asking a large student.
    `max_tokens` and `max_cost` need a predictor that counts tokens, as servers do.

    Raises:
        ConfigurationError: for `max_cost` without a price, and for a cache with a predictor that
            has no `describe`.
    """

    @takes(StudentTeacherOptions)
    def __init__(self, given: StudentTeacherOptions) -> None:
        predictor, cache = given.predictor, given.cache
        if cache is not None and not can(predictor, "describe"):
            raise ConfigurationError(
                f"cache is {str(cache)!r}, and {type(predictor).__name__} does not say who it is: "
                "give it a method `describe() -> dict`, or set teacher.cache to null"
            )
        super().__init__("student", given.batch_size, given)
        self._predictor = predictor
        self._predicting = threading.Lock()

    def identity(self) -> str:
        """The student, and what it has learned."""
        predictor = self._predictor
        known = {"predictor": predictor.describe() if can(predictor, "describe") else None}
        if can(predictor, "save"):
            with tempfile.TemporaryDirectory() as folder:
                learned = Path(folder) / "learned"
                predictor.save(learned)
                known["learned"] = hash_files(learned) if learned.exists() else None
        return exact_json.dumps(known, default=str, option=exact_json.SORT_KEYS).decode()

    def body(self, request: TeacherRequest) -> bytes:
        """The request in the form of a server's."""
        return chat_payload(request.conversation, request.sampling, model=self.model)

    def send(self, requests: Sequence[TeacherRequest]) -> Sequence[Future[RequestOutcome]]:
        """Let the student answer; all requests with the same sampling form one batch."""
        futures: dict[int, Future[RequestOutcome]] = {r.position: Future() for r in requests}
        seed_of = attrgetter("sampling.seed")
        alike = sorted(requests, key=seed_of)  # stable: otherwise in their order
        for _, group in groupby(alike, key=seed_of):
            members = list(group)
            asked = [request.conversation for request in members]
            with self._predicting:
                replies = predict_with_schema(self._predictor, asked, members[0].sampling)
            for request, reply in zip(members, replies, strict=True):
                futures[request.position].set_result(reply)
        return list(futures.values())

    def describe(self) -> dict[str, Any]:
        """The settings of the teacher."""
        return {"name": type(self).__name__}
