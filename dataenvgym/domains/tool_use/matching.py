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
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import model_validator

from dataenvgym.records import Tool, ToolCall
from dataenvgym.records.model import Json, Model, Text

OMITTED = ""
"""If it is among the acceptable values, the argument or field may be left out."""
KINDS: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
"""The names of JSON's types; a value has the first that fits."""


def kind_of(value: Any) -> str | None:
    """The name of a value's type in JSON; None if it has none."""
    return next((name for kind, name in KINDS.items() if isinstance(value, kind)), None)


_IGNORED = re.compile(r"[ ,./\-_*^]")
Compare = Callable[[Any, Any], bool]


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
            fields = _fields_of(values) if isinstance(values, list) else ()
            for where, listed in ((name, values), *((f"{name}.{f}", v) for f, v in fields)):
                if not isinstance(listed, list) or not listed:
                    raise ValueError(f"{where} is {listed!r}, expected a list of acceptable values")
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
    tools: Sequence[Tool] = (),
) -> bool:
    """Whether the numbers of calls are equal, and each call matches a different gold call.

    Args:
        lenient: compare like BFCL.
        tools: lenient matching takes types and expected arguments from their schemas; without a
            tool's schema, from the gold values.
    """
    same_number = len(given) == len(gold)
    return same_number and most_pairs(given, gold, lenient=lenient, tools=tools) == len(gold)


def most_pairs(
    given: Sequence[ToolCall],
    gold: Sequence[GoldCall],
    *,
    lenient: bool = False,
    tools: Sequence[Tool] = (),
) -> int:
    """The largest number of calls that each match a different gold call; see `calls_match`."""
    shares = _shares(given, gold, lenient, tools)
    return round(_best_sum([[float(share == 1.0) for share in row] for row in shares]))


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
        scores["arguments_matched"] = _best_sum(_shares(given, gold, lenient, tools)) / most
    return scores


# --- the arguments of one call --------------------------------------------------------------------


def _shares(
    given: Sequence[ToolCall], gold: Sequence[GoldCall], lenient: bool, tools: Sequence[Tool]
) -> list[list[float]]:
    """`_share` of each call (a row) with each gold call (a column)."""
    schemas = {tool.name: tool.parameters for tool in tools}
    return [[_share(c, g, lenient, schemas.get(g.name, {})) for g in gold] for c in given]


def _share(given: ToolCall, gold: GoldCall, lenient: bool, schema: Mapping[str, Any]) -> float:
    """The share of right arguments, of all on either side; 0.0 for calls of different tools."""
    if given.name != gold.name:
        return 0.0
    acceptable = gold.acceptable
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
            right += _is_one_of(given.arguments[name], values, same_json, gold.listed)
    expected = acceptable.keys() | given.arguments.keys() | (set(required) if lenient else set())
    return right / len(expected) if expected else 1.0


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
        for item in value if _is_objects(value) else [value]:
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
    return [_firsts(item) for item in value] if _is_objects(value) else value


# --- the value of one argument --------------------------------------------------------------------


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 5 and 5.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def is_acceptable_leniently(
    value: Any, values: Sequence[Any], schema: Mapping[str, Any], *, listed: bool
) -> bool:
    """Whether BFCL's checker accepts a value.

    If the acceptable values have another type than the schema declares, the value must equal one of
    them.

    Args:
        schema: the JSON schema of the argument; {} takes the type from the acceptable values.
        listed: whether objects there hold lists of acceptable values in their fields.
    """
    first = _kind_of_first(values)
    declared = schema.get("type")
    if not isinstance(declared, str):
        declared = first or "string"
    found = kind_of(value)
    if declared == "number" and found == "integer":
        found = "number"
    if found not in (declared, first):
        return False
    items = (schema.get("items") or {}).get("type") if found == declared == "array" else None
    if isinstance(items, str) and not any(_items_fit(value, a, items) for a in values):
        return False
    if found != declared or first not in (None, declared):
        return any(same_json(value, answer) for answer in values)
    return _is_one_of(value, values, _same_leniently, listed)


def _is_one_of(value: Any, values: Sequence[Any], same: Compare, listed: bool) -> bool:
    """Whether the value is one of these; objects, also in lists, are compared by field."""
    for answer in values:
        if isinstance(value, dict) and isinstance(answer, dict):
            if _fields_match(value, answer, same, listed):
                return True
        elif _is_objects(value) and _is_objects(answer):
            if len(value) == len(answer) and all(
                _fields_match(v, a, same, listed) for v, a in zip(value, answer, strict=True)
            ):
                return True
        elif same(value, answer):
            return True
    return False


def _fields_match(
    value: Mapping[str, Any], answer: Mapping[str, Any], same: Compare, listed: bool
) -> bool:
    same_field = _same_text if same is _same_leniently else same
    if not listed:
        return value.keys() == answer.keys() and all(same_field(value[n], answer[n]) for n in value)
    return value.keys() <= answer.keys() and all(
        any(same_field(value[name], a) for a in acceptable)
        if name in value
        else OMITTED in acceptable
        for name, acceptable in answer.items()
    )


def _same_leniently(value: Any, answer: Any) -> bool:
    """Whether strings, also directly in lists, are equal; an omitted list counts as empty."""
    if isinstance(value, list):
        answer = [] if answer == OMITTED else answer
        if not isinstance(answer, list) or len(value) != len(answer):
            return False
        return all(map(_same_text, value, answer))
    return _same_text(value, answer)


def _same_text(value: Any, answer: Any) -> bool:
    if isinstance(value, str) and isinstance(answer, str):
        value, answer = (_IGNORED.sub("", t).lower().replace("'", '"') for t in (value, answer))
    return same_json(value, answer)


def _items_fit(value: Sequence[Any], answer: Any, declared: str) -> bool:
    if not isinstance(answer, list):
        return True
    kinds = (declared, _kind_of_first(answer))
    return all(kind_of(item) in kinds for item in value)


def _kind_of_first(values: Sequence[Any]) -> str | None:
    return next((kind_of(value) for value in values if value != OMITTED), None)


def _is_objects(value: Any) -> bool:
    """Whether it is a list of objects that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)
