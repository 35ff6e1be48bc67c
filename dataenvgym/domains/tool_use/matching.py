"""Whether a student's calls match the gold ones.

Strict: the same names, the same arguments, values equal as JSON (5 and 5.0 are equal).

Lenient: like the AST checker of the Berkeley Function Calling Leaderboard (BFCL v4) for Python. An
argument has several acceptable values; if "" is one of them, the argument may be left out. The
declared types count: an integer is accepted for a number, but not in a list of numbers, and "5" is
not accepted for an integer. Strings, also directly in a list or in a field of an object, are
compared without case, spaces and the characters `,./-_*^`. The order of a list counts. A missing
required argument, or an unexpected one, fails.

Several calls match if they can be paired one to one (`calls_match`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import model_validator

from dataenvgym.domains.tool_use.values import (
    OMITTED,
    is_acceptable_as_json,
    is_acceptable_leniently,
    is_objects,
)
from dataenvgym.records import Tool, ToolCall
from dataenvgym.records.model import Json, Model, Text


class GoldCall(Model):
    """A call that should be made.

    Attributes:
        name: of the tool.
        arguments: the value of each; if `listed`, a list of acceptable values instead.
        listed: whether arguments hold lists of acceptable values, as in BFCL's files. Fields of
            objects among these values, and of objects in lists among them, then hold such lists.
    """

    name: Text
    arguments: dict[str, Json] = {}
    listed: bool = False

    @model_validator(mode="after")
    def _lists(self) -> Self:
        for name, values in self.arguments.items() if self.listed else ():
            if not isinstance(values, list) or not values:
                raise ValueError(f"{name} is {values!r}, expected a list of acceptable values")
            for field, listed in _fields_of(values):
                if not isinstance(listed, list) or not listed:
                    raise ValueError(
                        f"{name}.{field} is {listed!r}, expected a list of acceptable values"
                    )
        return self

    @classmethod
    def of(cls, call: ToolCall) -> GoldCall:
        """A gold call that accepts only this call."""
        return cls(name=call.name, arguments=call.arguments)

    @property
    def acceptable(self) -> dict[str, list[Any]]:
        """The acceptable values of each argument."""
        if self.listed:
            return {name: v for name, v in self.arguments.items() if isinstance(v, list)}
        return {name: [value] for name, value in self.arguments.items()}

    @property
    def call(self) -> ToolCall:
        """A call with the first acceptable value of each argument that is not `OMITTED`."""
        if not self.listed:
            return ToolCall(name=self.name, arguments=self.arguments)
        firsts = _firsts(self.acceptable)
        return ToolCall(name=self.name, arguments={n: _first(v) for n, v in firsts.items()})


def calls_match(
    given: Sequence[ToolCall],
    gold: Sequence[GoldCall],
    *,
    lenient: bool = False,
    ordered: bool = False,
    tools: Sequence[Tool] = (),
) -> bool:
    """Whether the numbers of calls are equal, and each call matches a different gold call.

    Args:
        lenient: compare like BFCL.
        ordered: the calls must come in the order of the gold ones.
        tools: lenient matching takes types and expected arguments from their schemas; without a
            tool's schema, from the gold values.
    """
    if len(given) != len(gold):
        return False
    schemas = schemas_of(tools)
    fits = [
        [
            call_matches(call, wanted, lenient=lenient, parameters=schemas.get(wanted.name))
            for wanted in gold
        ]
        for call in given
    ]
    if ordered:
        return all(row[place] for place, row in enumerate(fits))
    return most_pairs(fits) == len(gold)


def call_matches(
    given: ToolCall,
    gold: GoldCall,
    *,
    lenient: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> bool:
    """Whether a call matches the gold one.

    Args:
        lenient: see `calls_match`.
        parameters: the JSON schema of the tool's arguments.
    """
    right, total = _arguments_right(given, gold, lenient, parameters)
    return given.name == gold.name and right == total


def call_scores(
    given: Sequence[ToolCall],
    gold: Sequence[GoldCall],
    *,
    lenient: bool = False,
    tools: Sequence[Tool] = (),
) -> dict[str, float]:
    """Partial scores of calls, as shares of all calls on either side.

    Returns:
        `names_matched`: of the tools' names, each as often as it is called; 1.0 if there are none.
        `arguments_matched`: of the arguments, with calls of the same name paired so that it is
        largest; absent if no call should be made.
    """
    most = max(len(given), len(gold))
    common = Counter(c.name for c in given) & Counter(c.name for c in gold)
    scores = {"names_matched": common.total() / most if most else 1.0}
    if gold:
        schemas = schemas_of(tools)
        shares = [[_share(c, g, lenient, schemas.get(g.name)) for g in gold] for c in given]
        scores["arguments_matched"] = _best_sum(shares) / most
    return scores


def most_pairs(fits: Sequence[Sequence[bool]]) -> int:
    """The size of a maximum matching between rows and columns that fit each other.

    Uses augmenting paths (Kuhn), in O(rows * columns * rows).
    """
    row_of: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, fit in enumerate(fits[row]):
            if fit and column not in seen:
                seen.add(column)
                if column not in row_of or place(row_of[column], seen):
                    row_of[column] = row
                    return True
        return False

    return sum(place(row, set()) for row in range(len(fits)))


def schemas_of(tools: Sequence[Tool]) -> dict[str, Mapping[str, Any]]:
    """The JSON schema of each tool's arguments, by the tool's name."""
    return {tool.name: tool.parameters for tool in tools}


# --- the arguments of one call --------------------------------------------------------------------


def _arguments_right(
    given: ToolCall, gold: GoldCall, lenient: bool, parameters: Mapping[str, Any] | None
) -> tuple[int, int]:
    """The number of right arguments, and of all arguments on either side."""
    acceptable = gold.acceptable
    schema = parameters or {}
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    right = 0
    for name, values in acceptable.items():
        if name not in given.arguments:
            may_lack = gold.listed and OMITTED in values and not (lenient and name in required)
            right += may_lack
        elif lenient:
            known = not properties or name in properties
            right += known and is_acceptable_leniently(
                given.arguments[name], values, properties.get(name) or {}, listed=gold.listed
            )
        else:
            if gold.listed:
                values = [value for value in values if value != OMITTED]
            right += is_acceptable_as_json(given.arguments[name], values, listed=gold.listed)
    expected = acceptable.keys() | (set(required) if lenient else set())
    return right, len(expected | given.arguments.keys())


def _share(
    given: ToolCall, gold: GoldCall, lenient: bool, parameters: Mapping[str, Any] | None
) -> float:
    if given.name != gold.name:
        return 0.0
    right, total = _arguments_right(given, gold, lenient, parameters)
    return right / total if total else 1.0


def _best_sum(shares: Sequence[Sequence[float]]) -> float:
    """The largest sum of shares with at most one in each row and column."""
    if not shares or not shares[0]:
        return 0.0
    if len(shares) == len(shares[0]) == 1:
        return shares[0][0]
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(shares, maximize=True)
    return math.fsum(shares[row][column] for row, column in zip(rows, columns, strict=True))


def _fields_of(values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The fields of objects among the values, and of objects in lists among them."""
    for value in values:
        for item in value if is_objects(value) else [value]:
            if isinstance(item, dict):
                yield from item.items()


def _firsts(acceptable: Mapping[str, Any]) -> dict[str, Any]:
    """The first acceptable value of each argument or field that is not only `OMITTED`."""
    return {
        name: next(v for v in values if v != OMITTED)
        for name, values in acceptable.items()
        if any(v != OMITTED for v in values)
    }


def _first(value: Any) -> Any:
    """The value with one of the acceptable values in each field; what is in a field is plain."""
    if isinstance(value, dict):
        return _firsts(value)
    return [_firsts(item) for item in value] if is_objects(value) else value
