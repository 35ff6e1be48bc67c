"""What replies of models took: tokens, seconds and money."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dataenvgym.records.model import Model


class Usage(Model):
    """Tokens, money and seconds of some calls; None where one of the calls does not say.

    Attributes:
        seconds: without retries.
        cost: in US dollars.
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float | None
    cost: float | None

    def __add__(self, other: Usage) -> Usage:
        return Usage.model_construct(
            **{
                name: None if a is None or b is None else a + b
                for name in Usage.model_fields
                for a, b in [(getattr(self, name), getattr(other, name))]
            }
        )

    @property
    def tokens(self) -> int | None:
        """Of prompts and completions."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


NOTHING = Usage(prompt_tokens=0, completion_tokens=0, seconds=0.0, cost=0.0)
UNKNOWN = Usage(prompt_tokens=None, completion_tokens=None, seconds=None, cost=None)
Costs = dict[str, Usage]
"""The usage of each speaker, by name."""


def add_costs(found: Iterable[Mapping[str, Usage]]) -> Costs:
    """Add up by speaker; a speaker that is missing in one of them took nothing there."""
    total: Costs = {}
    for costs in found:
        for who, usage in costs.items():
            total[who] = total.get(who, NOTHING) + usage
    return total
