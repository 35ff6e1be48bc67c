"""Every metric against values derived by hand."""

import pytest

from dataenvgym.domains.tool_use.plans.plan import (
    Step,
    best_match,
    corpus_scores,
    edges,
    labels,
    plan_scores,
)
from tests.domains.tool_use.plans.conftest import abc

# Of each tool in either plan, F1 = 2 TP / (2 TP + FP + FN) over this item; macro F1 is the mean.
REFERENCE = [
    ("a", "a", 100.0, 100.0),  # a: TP, so F1 1. The lists are equal.
    ("a", "b", 0.0, 0.0),  # a: FN, b: FP, both F1 0.
    ("ab", "ba", 100.0, 0.0),  # a and b: TP, as sets have no order; lists have, and differ.
    ("ab", "abb", 100.0, 0.0),  # the same set, and another list.
    ("abc", "a", 33.33, 0.0),  # a: TP; b, c: FN, F1 0. 1 / 3
]


@pytest.mark.parametrize(("gold", "predicted", "macro_f1", "accuracy"), REFERENCE)
def test_the_reference_values_of_tool_lists(gold, predicted, macro_f1, accuracy):
    found = corpus_scores([(abc(gold), abc(predicted))])
    assert round(100 * found["tool_macro_f1"], 2) == macro_f1
    assert 100 * plan_scores(abc(gold), abc(predicted))["plan_tools"] == accuracy


@pytest.mark.parametrize(
    ("pairs", "precision", "recall", "f1"),
    [
        # a: predicted 1 and right 1, b: never predicted, so precision 0. Mean .5; recall 1 and 0.
        ([("ab", "a")], 1 / 2, 1 / 2, 1 / 2),
        # a: 1 of 1 predicted, 1 of 2 gold: P 1, R .5, F1 2/3. b: 1 of 2, 1 of 1: P .5, R 1, F1 2/3.
        ([("a", "a"), ("ab", "b"), ("", "b")], 3 / 4, 3 / 4, 2 / 3),
        # pooled over items, not a mean of them: a has TP 2, FN 1: P 1, R 2/3, F1 4/5.
        ([("a", "a"), ("a", "a"), ("a", "")], 1.0, 2 / 3, 4 / 5),
        # c is in no gold plan: P 0, R 0, F1 0. a: P 1, R 1, F1 1.
        ([("a", "ac")], 1 / 2, 1 / 2, 1 / 2),
    ],
)
def test_precision_and_recall_are_means_over_tools_of_pooled_counts(pairs, precision, recall, f1):
    found = corpus_scores([(abc(gold), abc(predicted)) for gold, predicted in pairs])
    assert found["tool_precision"] == pytest.approx(precision)
    assert found["tool_recall"] == pytest.approx(recall)
    assert found["tool_macro_f1"] == pytest.approx(f1)


def plan(*steps):
    return tuple(Step(name, args) for name, args in steps)


GOLD = plan(("f", {"x": "Red", "y": 1}), ("g", {"z": "<node-0>.text"}))


def test_names_and_values_of_arguments_are_sorted_in_lower_case_and_compared_by_call():
    same = plan(("f", {"y": "1", "x": "RED"}), ("g", {"z": "<node-0>.text"}))
    assert labels(GOLD, "argument_values") == labels(same, "argument_values")
    assert plan_scores(GOLD, same) == dict.fromkeys(
        ("plan_tools", "plan_argument_names", "plan_argument_values"), 1.0
    )
    other_value = plan(("f", {"x": "Blue", "y": 1}), ("g", {"z": "<node-0>.text"}))
    assert [*plan_scores(GOLD, other_value).values()] == [1.0, 1.0, 0.0]
    other_name = plan(("f", {"x": "Red"}), ("g", {"z": "<node-0>.text"}))
    assert [*plan_scores(GOLD, other_name).values()] == [1.0, 0.0, 0.0]
    assert [*plan_scores(GOLD, plan(("f", {}))).values()] == [0.0, 0.0, 0.0]


def test_argument_f1_counts_calls_with_all_their_names_or_values():
    other_value = plan(("f", {"x": "Blue", "y": 1}), ("g", {"z": "<node-0>.text"}))
    found = corpus_scores([(GOLD, other_value)])
    # names: both calls agree. values: TP g; f is one FN and one FP: 2 / (2 + 1 + 1)
    assert (found["argument_name_f1"], found["argument_value_f1"]) == (1.0, 0.5)
    found = corpus_scores([(GOLD, GOLD), (GOLD, ())])
    # both calls TP once and FN once: 4 / (4 + 2)
    assert found["argument_name_f1"] == found["argument_value_f1"] == pytest.approx(2 / 3)


def test_an_edge_is_two_consecutive_calls():
    assert edges(abc("abc")) == (("a", "b"), ("b", "c"))
    # gold ab, bc; predicted ac, cb: nothing in common
    assert corpus_scores([(abc("abc"), abc("acb"))])["edge_f1"] == 0.0
    # gold ab, bc; predicted ab, bb: 1 TP, 1 FN, 1 FP: 2 / 4
    assert corpus_scores([(abc("abc"), abc("abb"))])["edge_f1"] == 0.5
    # pooled: TP ab; FN bc of the second item: 2 / (2 + 1)
    pairs = [(abc("ab"), abc("ab")), (abc("bc"), abc("b"))]
    assert corpus_scores(pairs)["edge_f1"] == pytest.approx(2 / 3)


def test_an_f1_without_a_label_in_any_plan_is_left_out():
    assert "edge_f1" not in corpus_scores([(abc("a"), abc("b"))])
    assert corpus_scores([((), ())]) == {}


def test_the_best_match_is_the_plan_with_the_highest_tool_f1_and_the_first_of_equals():
    golds = [abc("ab"), abc("cd"), abc("dc")]
    assert best_match(golds, abc("dx")) == abc("cd")
    assert best_match(golds, abc("ba")) == abc("ab")
    assert best_match(golds, ()) == abc("ab")
