"""When an engine gives up: after several rounds in a row without a new record.

After a round without new records, ask only for a sample of what is missing, until one comes: each
further whole round would cost as much as one that fills the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def asked_next(missing: Sequence[T], barren: int, attempts: int) -> Sequence[T]:
    """Choose the missing records to ask for in the next round.

    If the last round brought something new (`barren` is 0), all of them; else `attempts` of them
    at most, spread evenly over the list, and different ones each time.
    """
    step = math.ceil(len(missing) / attempts) if barren else 1
    return missing[barren % step :: step]
