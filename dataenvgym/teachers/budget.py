"""The budget of a teacher, the account that enforces it, and what was spent: `usage.json`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from dataenvgym.errors import ConfigurationError, first_fault
from dataenvgym.interfaces import Failure, Reply
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


class Price(Model):
    """US dollars for a million tokens.

    Attributes:
        prompt: of prompts. Discounts for prompts that the server has cached are not applied, so a
            cost is an upper bound.
        completion: of answers.
    """

    prompt: float = Field(ge=0.0, allow_inf_nan=False)
    completion: float = Field(ge=0.0, allow_inf_nan=False)


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


class Budget(Model):
    """Limits for a whole run; None is unlimited.

    Attributes:
        max_requests: kept exactly, also across kills: no further request is made.
        max_tokens: of prompts and completions. After this number, no request is made. Requests in
            progress are completed, so the sum exceeds the limit by their tokens. Answers that a
            killed run did not receive are not counted.
        max_cost: in US dollars, kept like `max_tokens`.
    """

    max_requests: int | None = Field(default=None, ge=0, strict=True)
    max_tokens: int | None = Field(default=None, ge=0, strict=True)
    max_cost: float | None = Field(default=None, ge=0.0, allow_inf_nan=False, strict=True)


class Account:
    """Counts the requests to a teacher, from several threads, and reports when the budget is spent.

    Args:
        price: None if it is unknown; the cost is then None.
        usage: the amounts spent before.
    """

    def __init__(self, budget: Budget, price: Price | None, usage: TeacherUsage) -> None:
        self._budget = budget
        self._price = price
        self._usage = usage
        self._lock = threading.RLock()

    @property
    def usage(self) -> TeacherUsage:
        """The amounts spent so far, including requests in progress."""
        with self._lock:
            usage = self._usage
            is_known = not usage.uncounted and not usage.unanswered
            # from all tokens at once: a sum of many small costs would drift
            cost = self.cost_of(usage.prompt_tokens, usage.completion_tokens) if is_known else None
            return usage.model_copy(update={"cost": cost})

    def reserve(self) -> str | None:
        """Enter one request, to be made now; or return why the budget does not allow it."""
        with self._lock:
            usage, budget = self._usage, self._budget
            cost = self.cost_of(usage.prompt_tokens, usage.completion_tokens)
            tokens = usage.prompt_tokens + usage.completion_tokens
            for name, limit, spent, text in (
                ("max_requests", budget.max_requests, usage.requests, f"{usage.requests} requests"),
                ("max_tokens", budget.max_tokens, tokens, f"{tokens} tokens"),
                ("max_cost", budget.max_cost, cost, f"${cost or 0.0:.4f}"),
            ):
                if limit is not None and spent is not None and spent >= limit:
                    return (
                        f"the teacher's budget is spent: {text}, and teacher.{name} is {limit:g}; "
                        f"to continue, set a higher teacher.{name}"
                    )
            self.add(requests=1, unanswered=1)
            return None

    def count(self, outcome: Reply | Failure) -> None:
        """Enter the outcome of a request.

        Raises:
            ConfigurationError: if the server does not count tokens, and the budget needs them.
        """
        with self._lock:
            if isinstance(outcome, Failure):
                self.add(failed=1, unanswered=-1)
                return
            counts = outcome.prompt_tokens, outcome.completion_tokens
            self.add(
                prompt_tokens=counts[0] or 0,
                completion_tokens=counts[1] or 0,
                uncounted=int(None in counts),
                unanswered=-1,
            )
            limits = ("max_tokens", "max_cost")
            limit = next((name for name in limits if getattr(self._budget, name) is not None), None)
            if None in counts and limit is not None:
                raise ConfigurationError(
                    f"{limit} is set, and the teacher's server does not say how many tokens an "
                    "answer took: limit its max_requests instead"
                )

    def add(self, **counts: int) -> None:
        """Add to these fields of the usage, such as `cached=1`."""
        with self._lock:
            sums = {name: getattr(self._usage, name) + n for name, n in counts.items()}
            self._usage = self._usage.model_copy(update=sums)

    def cost_of(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """US dollars for these tokens; None if that is unknown."""
        return cost_of(self._price, prompt_tokens, completion_tokens)


def parse_budget(
    max_requests: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    price: Price | None,
) -> Budget:
    """The budget in a configuration.

    Raises:
        ConfigurationError: for an invalid limit, and for one in money if the price of the model
            is unknown.
    """
    try:
        budget = Budget(max_requests=max_requests, max_tokens=max_tokens, max_cost=max_cost)
    except ValidationError as error:
        raise ConfigurationError(f"{first_fault(error)}; null is no limit") from None
    if max_cost is not None and price is None:
        raise ConfigurationError(
            f"max_cost is {max_cost!r}, and the price of the model is not known: set price, such "
            "as {prompt: 0.15, completion: 0.6}, or limit max_tokens instead"
        )
    return budget
