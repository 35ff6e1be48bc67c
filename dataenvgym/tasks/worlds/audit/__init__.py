"""Checks on a world that need no problems, and the results of an audit.

tools         watches every call, and tries each tool on its own; finds tools that ask for a clock,
              chance or the machine, or change anything but their state
processes     repeats the calls in other processes
legal_values  arguments that a student might give, extreme ones too

A domain adds the checks of its problems.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Violation:
    """A failed check.

    Attributes:
        check: its name; see the package.
        problem: the id of the problem, or "" if it is about the world.
        detail: the observation.
    """

    check: str
    problem: str
    detail: str

    def __str__(self) -> str:
        return f"{self.problem or 'the world'}: check {self.check!r}: {self.detail}"


@dataclass
class Audit:
    """The checks on a world, and those that failed.

    Attributes:
        world: its name.
        tried: the number of "problems", "changed arguments" (of calls that succeeded), "changed
            arguments that a tool refused", "random calls", "extra writes", "extreme calls",
            "constant replies", "calls in another process" and "mutations".
    """

    world: str
    violations: list[Violation] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)
