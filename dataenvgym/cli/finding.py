"""One line of `dataenvgym doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "problem"]


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        state: "missing" if the default episode does not need it, "problem" if it does.
        text: the finding.
        way_out: a command, or other advice; None if nothing is needed.
    """

    name: str
    state: State
    text: str
    way_out: str | None = None
