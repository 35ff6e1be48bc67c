"""When an engine gives up on what it asks for: after so many rounds in a row that bring nothing.

Whoever wrote nothing in a whole round is asked little from then on, until something comes: all the
rounds that are left would cost as much each as a round that fills the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def asked_next(missing: Sequence[T], barren: int, attempts: int) -> Sequence[T]:
    """What of the missing is asked for in the next round.

    That is all of it; after `barren` rounds in a row without anything new, at most `attempts` of
    it, spread over the whole, others each time.
    """
    step = math.ceil(len(missing) / attempts) if barren else 1
    return missing[barren % step :: step]
