"""Whose turn it is, and when a scene ends."""

from __future__ import annotations

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.social.actions import ActionKind
from dataenvgym.tasks.social.turns import Rules, rules_of


def test_round_robin_passes_over_those_who_left():
    rules = Rules()
    turns = [rules.acting(0, (0, 1, 2), last, seed=0) for last in (-1, 0, 1, 2)]
    assert turns == [(0,), (1,), (2,), (0,)]
    assert rules.acting(0, (0, 2), 0, seed=0) == (2,)
    assert rules.acting(0, (0, 1), 2, seed=0) == (0,)


def test_a_random_order_depends_on_the_seed_and_reaches_every_seat():
    rules = Rules("random")

    def order(seed):
        return [rules.acting(n, (0, 1, 3), -1, seed=seed)[0] for n in range(40)]

    assert order(1) == order(1) != order(2)
    assert set(order(1)) == {0, 1, 3}


def test_simultaneous_is_everybody():
    assert Rules("simultaneous").acting(5, (0, 2), 1, seed=0) == (0, 2)


def test_sotopia_ends_at_the_limit_and_epo_after_it():
    sotopia, epo = rules_of("sotopia"), rules_of("epo")
    assert sotopia.ending(19, 2, 0) is None
    assert sotopia.ending(20, 2, 0) == "20 turns are over"
    assert epo.ending(20, 2, 0) is None
    assert epo.ending(21, 2, 0) == "21 turns are over"
    assert epo.kinds == (ActionKind.NONE, ActionKind.SPEAK, ActionKind.LEAVE)
    assert sotopia.kinds == tuple(ActionKind)


def test_more_than_two_stale_turns_and_fewer_than_two_seats_end_it():
    rules = Rules()
    assert rules.ending(3, 2, 2) is None
    assert rules.ending(3, 2, 3) == "nobody did anything in 3 turns"
    assert rules.ending(3, 1, 0) == "fewer than two are left"


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Rules("rondo"), "order is 'rondo'"),
        (lambda: Rules(turn_limit=0), "turn_limit is 0"),
        (lambda: Rules(most_stale=-1), "most_stale is -1"),
        (lambda: rules_of("epos"), "Did you mean 'epo'"),
    ],
)
def test_impossible_rules_are_refused(make, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        make()
