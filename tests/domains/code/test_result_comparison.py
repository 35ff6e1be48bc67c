import math

import pytest

from dataenvgym.domains.code.harness.plain import Items
from dataenvgym.domains.code.result_comparison import (
    canonical,
    canonical_output,
    same_output,
    same_value,
)


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        (1, 1, True), (1, 1.0, True), (True, 1, True), (1, True, True), (1, 2, False),
        (None, 0, False), (None, False, False), ("1", 1, False), ("a", "a", True),
        ((1, (2,)), [1, [2]], True), ([1, 2], [2, 1], False), ([1], [1, 1], False),
        ({1, 2}, [1, 2], False), ({1: "a", None: 2}, {"1": "a", "null": 2}, True),
        ({1: "b", "1": "a"}, {"1": "a"}, False), ({"a": 1, "b": 2}, {"a": 1}, False),
        (0.1 + 0.2, 0.3, True), ([0.1 + 0.2], [0.3], True), (10**18 + 1, 10**18, False),
        (5.0, 5, True), (1e22, 10**22, True), (4999999999.0, 5000000000, False),
        (2.9999999999999996, 3, False), (float(2**53), 2**53 + 1, False),
        ([4999999999.0], [5000000000], False), (4999999999.0, 5000000000.0, True),
        (3, 3.0000000000000004, True), (math.nan, 3, False), (math.inf, 3, False),
        (0.3001, 0.3, False), (math.nan, 0.0, False), (math.inf, 1e308, False),
        (10**400, 1.5, False), (Items([1], cut=False), [1], False),
    ],
)  # fmt: skip
def test_results_are_compared_as_json(value, expected, same):
    assert same_value(value, expected, tolerance=1e-9) is same


def test_endlessly_nested_values_equal_nothing():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert not same_value(deep, deep[0], tolerance=0.0)


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("3\n", "3", True), ("  3  \n\n", "3\n", True), ("1 2 \n3", "1 2\n3\n", True),
        ("1 2 3", "1 2\n3", False), ("1\n\n2", "1\n2", True), ("1\n2", "1\n \n\n2", True),
        ("\n", "1", False), ("1.0", "1", True), ("1.50", "1.5", True), ("1e3", "1000", True),
        ("YES", "yes", False), ("YES", "YES", True), ("", "", True), ("", "0", False),
        ("0.3333333333", "0.3333333334", True), ("0.33", "0.3333", False),
        ("1000000000000000001", "1000000000000000000", False), ("1_0", "10", False),
        ("\u0661", "1", False), ("nan", "NaN", False), ("1" * 100_000, "2" * 100_000, False),
        ("7", "007", False), ("0011", "11", False), ("+7", "7", False), ("007.0", "7", True),
        ("+7.", "7", True), ("7", "07e0", True), ("1e999999", "1e999998", False),
        ("0.1e999999", "1e999998", True),
    ],
)  # fmt: skip
def test_outputs_are_compared_line_by_line_and_number_by_number(output, expected, same):
    assert same_output(output, expected, tolerance=1e-9) is same


def test_whole_numbers_are_compared_by_value_where_that_is_asked_for():
    for output, expected in (("7", "007"), ("0011", "11"), ("+7", "7")):
        assert same_output(output, expected, tolerance=0.0, integers_by_value=True)
    assert not same_output("8", "007", tolerance=0.0, integers_by_value=True)


def test_without_tolerance_only_the_very_number_will_do():
    assert not same_output("0.33333333333", "0.33333333334", tolerance=0.0)
    assert not same_value(0.1 + 0.2, 0.3, tolerance=0.0)
    assert same_output("0.30", "0.3", tolerance=0.0)


def test_without_tolerance_empty_lines_count_but_for_those_at_both_ends():
    assert same_output("\n1\n\n2\n\n", "1\n\n2", tolerance=0.0)
    assert not same_output("1\n\n2", "1\n2", tolerance=0.0)


def test_outputs_that_differ_in_empty_lines_have_one_canonical_form():
    assert canonical_output("1 \n\n2\n") == canonical_output("1\n2") == "1\n2"


def test_equal_results_have_one_canonical_form():
    same = (
        ((1, [2.0]), [1, (2,)]), ({8, 0, 16}, {16, 8, 0}), ({1: "x"}, {"1": "x"}),
        ({"a": 1, "b": 0.1 + 0.2}, {"b": 0.3, "a": True}),
        (Items([1], cut=False), Items([1.0], cut=False)),
    )  # fmt: skip
    others = (
        ([1, 2], [2, 1]), ("1", 1), ({1}, [1]), (0.1, 0.2), (None, 0),
        (Items([1], cut=False), Items([1], cut=True)),
    )  # fmt: skip
    for pairs, are_same in ((same, True), (others, False)):
        for one, other in pairs:
            assert (canonical(one) == canonical(other)) is are_same, one
