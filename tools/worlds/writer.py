"""Rows of problems, written from phrases and gold calls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from dataenvgym.domains.tool_use.fact_matching import says

Call = tuple[str, Mapping[str, Any]]
Options = dict[str, Any]
"""Further arguments of `Writer.add`."""


class Writer:
    """Collects the rows of one world.

    Attributes:
        rng: for choices.
        rows: written so far.
    """

    def __init__(self) -> None:
        self.rng = Random(0)
        self.rows: list[dict[str, Any]] = []
        self._counts: Counter[str] = Counter()

    def add(
        self,
        skill: str,
        category: str,
        phrases: Sequence[str],
        gold: Sequence[Call] = (),
        *,
        basis: Sequence[str] = (),
        said: Sequence[str] = (),
        others: Iterable[str] = (),
        assertions: Sequence[tuple[str, Mapping[str, Any], bool]] = (),
        may_differ: Sequence[str] | None = None,
        user: Mapping[str, Any] | None = None,
        **words: Any,
    ) -> None:
        """Write a problem.

        Args:
            skill: the kind of request, which also names the problem.
            category: the area of the world.
            phrases: ways to ask, with `{words}` in braces; the problems of a skill take turns.
            gold: the calls.
            basis: of the score; by default the state, and the words if any are required.
            others: answers to the same question about other things, which must not be said; those
                equal to a required fact are left out.
            assertions: check, arguments, and its expected result at the end.
            may_differ: the parts of the state that the assertions alone judge.
        """
        number = self._counts[skill]
        self._counts[skill] += 1
        row: dict[str, Any] = {
            "id": f"{skill.replace(' ', '-')}-{number + 1}",
            "instruction": phrases[number % len(phrases)].format(**words),
            "skill": skill,
            "category": category,
            "gold": [{"name": name, "arguments": dict(given)} for name, given in gold],
            "basis": list(basis or (("state", "said") if said else ("state",))),
        }
        if said:
            row["said"] = list(said)
        wrong = [o for o in dict.fromkeys(others) if not any(says(fact, o) for fact in said)]
        if wrong:
            row["not_said"] = wrong
        if assertions:
            row["assertions"] = [
                {"check": name, "arguments": dict(given), "expected": expected}
                for name, given, expected in assertions
            ]
        if may_differ is not None:
            row["may_differ"] = list(may_differ)
        if user:
            row["user"] = user
        self.rows.append(row)


def rule_named(rule: int, policy: str) -> Options:
    """The words of a refusal: its rule, and none of the other rules of the policy."""
    rules = re.findall(r"(?m)^Rule (\d):", policy)
    return {"said": (f"rule {rule}",), "others": [f"rule {number}" for number in rules]}


def answers(detail: str, *later: str) -> dict[str, Any]:
    """A user who tells a detail when asked, then makes further requests one after the other.

    Every message without a question mark is taken to mean that the last request is fulfilled.
    """
    wishes = [detail, *later]
    states: dict[str, list[dict[str, Any]]] = {"start": [{"say": detail, "then": "wish 1"}]}
    for number, wish in enumerate(wishes, start=1):
        last = number == len(wishes)
        done = {"say": "Thank you, that is all.", "stop": True}
        next_wish = {"say": "" if last else wishes[number], "then": f"wish {number + 1}"}
        polite = {"asked": ["anything else", "something else", "further help"]}
        states[f"wish {number}"] = [
            polite | (done if last else next_wish),
            {"asked": ["?"], "say": wish},
            done if last else next_wish,
        ]
    return {"kind": "script", "states": states}
