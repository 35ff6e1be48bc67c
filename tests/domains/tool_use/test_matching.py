import random

import pytest
from pydantic import ValidationError

from dataenvgym.domains.tool_use.matching import (
    GoldCall,
    call_scores,
    calls_match,
    most_pairs,
    same_json,
)
from dataenvgym.records import Tool, ToolCall


def call(name="f", **arguments) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def listed(name="f", **arguments) -> GoldCall:
    return GoldCall(name=name, arguments=arguments, listed=True)


def schema(required=(), **properties):
    typed = {n: {"type": t} if isinstance(t, str) else t for n, t in properties.items()}
    return {"type": "object", "properties": typed, "required": list(required)}


def call_matches(given, gold, *, lenient=False, parameters=None):
    tools = [] if parameters is None else [Tool(name="f", parameters=parameters)]
    return calls_match([given], [gold], lenient=lenient, tools=tools)


# --- strict ---


@pytest.mark.parametrize(
    ("given", "gold", "same"),
    [
        (5, 5.0, True),
        (1, True, False),
        ("5", 5, False),
        (None, "", False),
        ([1, 2], [1.0, 2], True),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": [None]}, {"b": [None], "a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (10**18, 10**18 + 1, False),
    ],
)
def test_values_are_equal_as_json(given, gold, same):
    assert same_json(given, gold) is same
    assert same_json(gold, given) is same
    assert call_matches(call(x=given), GoldCall.of(call(x=gold))) is same


@pytest.mark.parametrize("lenient", [False, True])
def test_an_empty_field_is_an_ordinary_value_unless_values_are_listed(lenient):
    one, many = call(a={"b": "", "c": 1}), call(a=[{"b": "", "c": 1}])
    empty = GoldCall.of(call(a=""))
    assert call_matches(call(a=""), empty, lenient=lenient)
    assert not call_matches(call(), empty, lenient=lenient)
    assert call_matches(one, GoldCall.of(one), lenient=lenient)
    assert call_matches(many, GoldCall.of(many), lenient=lenient)
    assert not call_matches(call(a={"c": 1}), GoldCall.of(one), lenient=lenient)
    assert not call_matches(call(a=[{"c": 1}]), GoldCall.of(many), lenient=lenient)
    gold = listed(a=[{"b": ["", "x"], "c": [1]}])
    assert call_matches(call(a={"c": 1}), gold, lenient=lenient)


def test_a_strict_match_may_take_one_of_several_listed_values():
    gold = listed(a=[1, 2], b=["x", ""], c=[{"d": ["y", "z"]}])
    assert call_matches(call(a=2.0, c={"d": "z"}), gold)
    assert not call_matches(call(a=3, c={"d": "z"}), gold)
    assert not call_matches(call(a=2, b="X", c={"d": "z"}), gold)
    assert not call_matches(call(a=2, b="", c={"d": "z"}), gold)
    assert not call_matches(call(a=2, c={"d": "w"}), gold)


# --- lenient, as BFCL ---


ARRAY = {kind: {"type": "array", "items": {"type": kind}}
         for kind in ("integer", "number", "string", "array", "object")}  # fmt: skip
MIXED = [{"a": [1, 2], "b": ["x", ""]}]
LENIENT = [
    ("integer", [5], 5, True),
    ("integer", [5], "5", False),
    ("integer", [5], 5.0, False),
    ("integer", [1], True, False),
    ("number", [5.0], 5, True),
    ("number", [0], 0.0, True),
    ("number", ["", None], None, True),
    ("boolean", [True], 1, False),
    ("string", ["a,b./c-d_e*f^g H"], "ABCDEFGh", True),
    ("string", ["it's"], 'it"s', True),
    ("string", ["a b"], "a\tb", False),
    ("string", ["a+b"], "ab", False),
    ("string", ["x", ""], "", True),
    ("string", ["", True], True, True),
    ("string", ["", True], "true", False),
    (ARRAY["integer"], [[1, 2]], [2, 1], False),
    (ARRAY["integer"], [[1, 2]], [1, "2"], False),
    (ARRAY["integer"], ["", []], [], True),
    (ARRAY["number"], [[1.0, 2.5]], [1, 2.5], False),
    (ARRAY["number"], [[1.0, 2.5]], [1.0, 2.5], True),
    (ARRAY["string"], [["A b", "C"]], ["ab", "c."], True),
    (ARRAY["string"], [["A"]], "A", False),
    (ARRAY["string"], [["a"], [["b"]]], [["b"]], True),
    (ARRAY["array"], [[[1, 2], [3]]], [[1, 2], [3]], True),
    (ARRAY["array"], [[[1, 2], [3]]], [[1, 2], [4]], False),
    ("object", MIXED, {"a": 2}, True),
    ("object", MIXED, {"a": 2, "b": "X"}, True),
    ("object", MIXED, {"b": "x"}, False),
    ("object", [{"a": [1]}], {"a": 1, "c": 1}, False),
    ("object", [{"a": [1]}], [1], False),
    ("object", [{"a": [1]}, {"a": [2]}], {"a": 2}, True),
    ("object", [{"a": [["Q of hearts"]]}], {"a": ["Q of hearts"]}, True),
    (ARRAY["object"], [[{"a": ["x"]}, {"a": ["y", "z"]}]], [{"a": "X"}, {"a": "z"}], True),
    (ARRAY["object"], [[{"a": ["x"]}, {"a": ["y"]}]], [{"a": "y"}, {"a": "x"}], False),
    (ARRAY["object"], [[{"a": ["x"]}]], [], False),
    (ARRAY["object"], [""], [], True),
    (ARRAY["object"], [[{"a": ["x"]}]], ["x"], False),
]
"""The declared type, the gold values, what is given, and whether that is acceptable."""


def test_a_lenient_match_takes_the_values_that_bfcl_takes():
    def matches(declared, values, given):
        gold, parameters = listed(x=values), schema(x=declared)
        return call_matches(call(x=given), gold, lenient=True, parameters=parameters)

    assert [(*row[:3], matches(*row[:3])) for row in LENIENT] == LENIENT


def test_an_argument_may_be_left_out_only_if_that_is_listed_and_it_is_not_required():
    gold = listed(a=[1], b=["x", ""])
    assert call_matches(call(a=1), gold, lenient=True, parameters=schema(a="integer", b="string"))
    required = schema(("b",), a="integer", b="string")
    assert not call_matches(call(a=1), gold, lenient=True, parameters=required)
    assert not call_matches(call(b="x"), gold, lenient=True)


def test_an_argument_that_is_not_expected_fails():
    gold = listed(a=[1])
    parameters = schema(a="integer", b="string")
    assert not call_matches(call(a=1, b="x"), gold, lenient=True, parameters=parameters)
    assert not call_matches(call(a=1, z="x"), gold, lenient=True, parameters=parameters)
    undeclared = schema(b="string")
    assert not call_matches(call(a=1), gold, lenient=True, parameters=undeclared)


def test_without_a_schema_the_types_are_those_of_the_gold_values():
    assert call_matches(call(a=5), listed(a=[5.0]), lenient=True)
    assert not call_matches(call(a="5"), listed(a=[5]), lenient=True)
    nested = GoldCall.of(call(a={"b": "X y"}, c=[{"d": 1}]))
    assert call_matches(call(a={"b": "xy"}, c=[{"d": 1.0}]), nested, lenient=True)
    assert not call_matches(call(a={"b": "xy"}, c=[{"d": 2}]), nested, lenient=True)


def test_listed_arguments_that_are_not_lists_are_refused():
    with pytest.raises(ValidationError, match="acceptable"):
        listed(a=1)
    with pytest.raises(ValidationError, match="expected a list"):
        listed(a=[])
    with pytest.raises(ValidationError, match=r"a.b is 1, expected a list"):
        listed(a=[[{"b": 1}]])


def test_the_call_of_listed_values_has_the_first_that_is_not_omitted():
    gold = listed(a=["", True], b=[""], c=[{"d": [1, 2], "e": ["", "x"], "f": [""]}])
    assert gold.call == call(a=True, c={"d": 1, "e": "x"})
    assert call_matches(gold.call, gold, lenient=True)


# --- several calls ---


def test_each_call_is_paired_with_a_gold_call_of_its_own_wherever_that_is_possible():
    gold = [listed(a=[1, 2]), listed(a=[1])]
    assert calls_match([call(a=2), call(a=1)], gold)
    assert not calls_match([call(a=2), call(a=2)], gold)
    for other in ([call(a=1)], [call(a=1)] * 3, [call("g", a=1), call(a=1)]):
        assert not calls_match(other, gold)
    generator = random.Random(0)
    for _ in range(300):
        n = generator.randint(1, 5)
        fits = [[generator.random() < 0.4 for _ in range(n)] for _ in range(n)]
        given = [call(a=row) for row in range(n)]
        gold = [listed(a=[-1, *(row for row in range(n) if fits[row][i])]) for i in range(n)]
        assert most_pairs(given, gold) == largest_by_trying(fits)


def largest_by_trying(fits, row=0, taken=frozenset()):
    if row == len(fits):
        return 0
    best = largest_by_trying(fits, row + 1, taken)
    for column, fit in enumerate(fits[row]):
        if fit and column not in taken:
            best = max(best, 1 + largest_by_trying(fits, row + 1, taken | {column}))
    return best


# --- scores ---


def test_scores_say_how_far_names_and_arguments_are_right():
    gold = [GoldCall.of(call("f", a=1, b=2)), GoldCall.of(call("g", c=3))]
    right = [call("g", c=3), call("f", a=1, b=2)]
    assert call_scores(right, gold) == {"names_matched": 1.0, "arguments_matched": 1.0}
    half = [call("f", a=1, b=9), call("h", c=3)]
    assert call_scores(half, gold) == {"names_matched": 0.5, "arguments_matched": 0.25}
    assert call_scores([], gold) == {"names_matched": 0.0, "arguments_matched": 0.0}
    assert call_scores([], []) == {"names_matched": 1.0}
    assert call_scores([call()], []) == {"names_matched": 0.0}
    more = [*right, call("f", a=1, b=2), call("f", a=1, b=2)]
    assert call_scores(more, gold) == {"names_matched": 0.5, "arguments_matched": 0.5}
