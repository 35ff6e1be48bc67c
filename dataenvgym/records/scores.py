"""Named scores of a finished problem besides its reward, such as the share of tests passed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from dataenvgym.errors import EvaluationError
from dataenvgym.records.model import Finite, Text

Scores = dict[Text, Finite]
"""By name."""


def checked_scores(scores: Any, where: str) -> dict[str, float]:
    """Check the scores from an environment, and return them.

    Args:
        where: their origin, such as "MyEnvironment.respond()".

    Raises:
        EvaluationError: if it is not a mapping from printable names to finite numbers.
    """
    if type(scores) is dict and not scores:  # most steps have none
        return {}
    if not isinstance(scores, Mapping):
        raise EvaluationError(
            f"{where} returned the scores {scores!r}, expected a mapping from names to numbers"
        )
    for name, value in scores.items():
        if not isinstance(name, str) or not name or not name.isprintable():
            raise EvaluationError(
                f"{where} returned a score with the name {name!r}, expected printable text"
            )
        if not isinstance(value, Real) or not math.isfinite(value):
            raise EvaluationError(
                f"{where} returned the score {name!r} as {value!r}, expected a finite number; "
                "leave out what cannot be known"
            )
    return {name: float(value) for name, value in scores.items()}
