"""Prices of a model's tokens."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, ValidationError

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Model

_MILLION = 1_000_000


class Price(Model):
    """US dollars for a million tokens.

    Attributes:
        prompt: of prompts. Discounts for prompts that the server has cached are not applied, so a
            cost is an upper bound.
        completion: of answers.
    """

    prompt: float = Field(ge=0.0, allow_inf_nan=False)
    completion: float = Field(ge=0.0, allow_inf_nan=False)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """The cost of these tokens in US dollars."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / _MILLION


def parse_price(price: Price | Mapping[str, float] | None) -> Price | None:
    """The price in a configuration; None if the price is unknown.

    Raises:
        ConfigurationError: if it is not a price.
    """
    if price is None or isinstance(price, Price):
        return price
    try:
        return Price.model_validate(price)
    except ValidationError as error:
        raise ConfigurationError(
            f"price is {price!r}, expected US dollars for a million tokens, such as "
            "{prompt: 0.15, completion: 0.6}, or null where the price is not known"
        ) from error
