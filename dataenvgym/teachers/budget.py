"""The budget and the price of a teacher, and what was spent: `usage.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, NonNegativeInt, ValidationError

from dataenvgym.errors import ConfigurationError
from dataenvgym.options import Free, Given
from dataenvgym.records import Model
from dataenvgym.storage import read_json


class TeacherUsage(Model):
    """Counts of a teacher's calls, for all purposes together.

    Attributes:
        requests: questions that went to the server; a retry by the client is the same request.
        cached: questions answered from the cache, at no cost.
        unasked: questions that the budget did not reach.
        failed: requests that ended without an answer.
        unanswered: requests with an unknown result: they are in progress, or were when the run was
            killed or interrupted.
        malformed: answers that could not be used, even after repair.
        prompt_tokens, completion_tokens: as the server counts them; 0 if it does not report them.
        uncounted: answers for which the server did not report the number of tokens.
        cost: in US dollars; None if the price is unknown, or if there are uncounted answers or
            unanswered requests (never 0 for that reason).
    """

    requests: int = 0
    cached: int = 0
    unasked: int = 0
    failed: int = 0
    unanswered: int = 0
    malformed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    cost: float | None = None


def count_malformed(teacher: object, n: int = 1) -> None:
    """Report `n` unusable answers to the teacher, if it counts them (`count_malformed(n)`)."""
    if n and (count := getattr(teacher, "count_malformed", None)) is not None:
        count(n)


def usage_file(directory: Path) -> Path:
    """The file of a run's teacher usage."""
    return directory / "teacher" / "usage.json"


def begun_file(directory: Path) -> Path:
    """The file with one byte for each request that a run's teacher began."""
    return directory / "teacher" / "begun"


def read_usage(directory: Path) -> TeacherUsage | None:
    """The present usage of the teacher of the run in `directory`; None if it asked nothing."""
    path, begun = usage_file(directory), begun_file(directory)
    n_begun = begun.stat().st_size if begun.exists() else 0
    if not path.exists() and not n_begun:
        return None
    usage = TeacherUsage.model_validate(read_json(path)) if path.exists() else TeacherUsage()
    n_more = n_begun - usage.requests  # begun after the account was last written
    if n_more <= 0:
        return usage
    update = {"requests": n_begun, "unanswered": usage.unanswered + n_more, "cost": None}
    return usage.model_copy(update=update)


Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Price(Model):
    """US dollars for a million tokens.

    Attributes:
        prompt: of prompts. Discounts for prompts that the server has cached are not applied, so a
            cost is an upper bound.
        completion: of answers.
    """

    prompt: Amount
    completion: Amount


def cost_of(
    price: Price | None, prompt_tokens: int | None, completion_tokens: int | None
) -> float | None:
    """US dollars for these tokens; None if that is unknown."""
    if price is None or prompt_tokens is None or completion_tokens is None:
        return None
    return (prompt_tokens * price.prompt + completion_tokens * price.completion) / 1_000_000


def parse_price(price: Price | Mapping[str, float] | None, *, name: str = "price") -> Price | None:
    """The price in a configuration; None if it is unknown; ConfigurationError if it is none."""
    if price is None or isinstance(price, Price):
        return price
    try:
        return Price.model_validate(price)
    except ValidationError as error:
        raise ConfigurationError(
            f"{name} is {price!r}, expected dollars such as {{prompt: 0.15, completion: 0.6}}"
        ) from error


@dataclass(frozen=True, kw_only=True)
class MeterOptions:
    """The options of every teacher.

    Attributes:
        cache: None for none, a folder, or a Redis server ("redis://HOST:PORT").
        max_requests: the most requests of the run, kept exactly, also across kills; None is
            unlimited.
        max_tokens: of prompts and completions. After this number, no request is made. Requests in
            progress are completed, so the sum exceeds the limit by their tokens. Answers that a
            killed run did not receive are not counted.
        max_cost: in US dollars, kept like `max_tokens`; needs a price.
        price: `{prompt: ..., completion: ...}` in US dollars for a million tokens; None if it is
            unknown.
        directory: the run directory; None keeps no transcript, and counts in memory.
    """

    cache: Free[str | Path | None] = None
    max_requests: Free[NonNegativeInt | None] = None
    max_tokens: Free[NonNegativeInt | None] = None
    max_cost: Free[Amount | None] = None
    price: Free[Price | Mapping[str, float] | None] = None
    directory: Given[str | Path | None] = None
