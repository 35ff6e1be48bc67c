import pytest

from dataenvgym.domains.orchestrate.calls import Account, Usage
from dataenvgym.domains.orchestrate.preferences import (
    Preference,
    kept,
    parse_preference,
    preference_of,
)
from dataenvgym.errors import InvalidInstanceError
from tests.domains.orchestrate.orchestrations import request

NAMES = ("search", "answer", "search-3", "answer-4")


def spent(cost=0.1, seconds=100.0, **calls):
    usage = Usage(prompt_tokens=1, completion_tokens=1, seconds=seconds, cost=cost)
    return Account(tools=usage, calls=calls)


def test_a_preference_is_weights_or_text_and_weights():
    weights = {"accuracy": 1, "cost": 0.5, "search-3": -1}
    plain = parse_preference(weights, NAMES, "row 1")
    assert plain.words == ("What matters to the user, by weight: accuracy 1, cost 0.5, search-3 -1")
    given = {"text": "No search.", "weights": weights}
    assert parse_preference(given, NAMES, "row 1").words == "No search."
    assert preference_of(request(preference=given)).weights == weights
    assert preference_of(request()) is None


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"serach": 1}, "row 7.*'serach'"),
        ({"cost": -1}, "row 7.*'cost'"),
        ({"cost": float("nan")}, r"row 7: preference.*cost"),
        ({"text": "cheap"}, r"row 7.*text"),
    ],
)
def test_an_invalid_preference_is_named_in_one_message(given, match):
    with pytest.raises(InvalidInstanceError, match=match) as error:
        parse_preference(given, NAMES, "row 7")
    assert "\n" not in str(error.value)


def test_how_well_a_preference_was_kept_is_a_weighted_mean():
    wanted = Preference(weights={"accuracy": 1, "cost": 0.5, "latency": 0.5, "search": -1})
    assert kept(wanted, spent(cost=0, seconds=0), True) == 1
    assert kept(wanted, spent(), True) == pytest.approx((1 + 0.5 * 0.5 + 0.5 * 0.8 + 1) / 3)
    assert kept(wanted, spent(search=1), False) == pytest.approx((0.25 + 0.4) / 3)
    assert kept(wanted, spent(cost=9, seconds=900), True) == pytest.approx(2 / 3)
    assert kept(Preference(weights={"search": 2}), spent(search=3), False) == 1


def test_a_preference_about_an_unknown_cost_is_neither_kept_nor_broken():
    assert kept(Preference(weights={"accuracy": 1, "cost": 1}), spent(cost=None), True) is None
    assert kept(Preference(weights={"accuracy": 1, "cost": 0}), spent(cost=None), True) == 1
