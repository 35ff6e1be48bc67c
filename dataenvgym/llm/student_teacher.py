"""The student as its own teacher, for self-improvement."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.interfaces import Describes, PredictorInterface, Saves
from dataenvgym.interfaces.helpers import predict_with_schema
from dataenvgym.llm.budget import Price, parse_budget, parse_price
from dataenvgym.llm.metered_teacher import MeteredTeacher
from dataenvgym.llm.payloads import chat_payload
from dataenvgym.llm.teacher_ask import RequestOutcome, TeacherRequest
from dataenvgym.options import Free, Given
from dataenvgym.storage import hash_files


class StudentTeacher(MeteredTeacher):
    """Asks the student in its present state; see `MeteredTeacher` for the rest.

    A student that cannot be constrained by a JSON schema is asked without it.

    Args:
        predictor: the student.
        batch_size: largest number of conversations that it gets at the same time.
        cache: None for none, a folder, or a Redis server ("redis://HOST:PORT"). Training changes
            the student's identity: for each call to `ask`, its adapter is written to a temporary
            folder and hashed, which may take longer than asking a large student.
        max_requests, max_tokens, max_cost: the budget of the run (see `Budget`); None is
            unlimited. The last two need a predictor that counts tokens, as servers do.
        price: `{prompt: ..., completion: ...}` in US dollars for a million tokens; None if it is
            unknown.
        directory: the run directory; None keeps no transcript, and counts in memory.

    Raises:
        ConfigurationError: for an invalid value, for `max_cost` without a price, and for a cache
            with a predictor that has no `describe`.
    """

    def __init__(
        self,
        predictor: PredictorInterface,
        *,
        batch_size: int = 256,
        cache: Free[str | Path | None] = None,
        max_requests: Free[int | None] = None,
        max_tokens: Free[int | None] = None,
        max_cost: Free[float | None] = None,
        price: Free[Price | Mapping[str, float] | None] = None,
        directory: Given[str | Path | None] = None,
    ) -> None:
        check_at_least(1, batch_size=batch_size)
        if cache is not None and not isinstance(predictor, Describes):
            raise ConfigurationError(
                f"cache is {str(cache)!r}, and {type(predictor).__name__} does not say who it is: "
                "give it a method `describe() -> dict`, or set teacher.cache to null"
            )
        price = parse_price(price)
        super().__init__(
            "student",
            concurrency=batch_size,
            cache=cache,
            budget=parse_budget(max_requests, max_tokens, max_cost, price),
            price=price,
            directory=directory,
        )
        self._predictor = predictor
        self._predicting = threading.Lock()

    def identity(self) -> str:
        predictor = self._predictor
        known = {"predictor": predictor.describe() if isinstance(predictor, Describes) else None}
        if isinstance(predictor, Saves):
            with tempfile.TemporaryDirectory() as folder:
                learned = Path(folder) / "learned"
                predictor.save(learned)
                known["learned"] = hash_files(learned) if learned.exists() else None
        return exact_json.dumps(known, default=str, option=exact_json.SORT_KEYS).decode()

    def body(self, request: TeacherRequest) -> bytes:
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
        return {"name": type(self).__name__}
