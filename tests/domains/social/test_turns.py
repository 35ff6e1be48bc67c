"""Whose turn it is, and when a scene ends."""

from collections import Counter

import numpy as np
import pytest

from dataenvgym.domains.social.actions import ActionKind, read_action
from dataenvgym.domains.social.profiles import Character, Goal, Scene
from dataenvgym.domains.social.scene import Cast, Rules, SceneState, rules_of
from dataenvgym.errors import ConfigurationError

SCENE = Scene(id="x", scenario="x", goals=(Goal(text="x"), Goal(text="y")))


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


def test_more_than_two_silent_moves_and_fewer_than_two_seats_end_it():
    rules = Rules()
    assert rules.ending(3, 2, 2) is None
    assert rules.ending(3, 2, 3) == "3 moves in a row were silent"
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


# --- against the originals, re-implemented from what their code does ---


def original_end(program, order, most_stale, limit, said):
    """The number of turns after which the original ends a scene of two; None if it does not.

    Its inbox holds the acts of both agents, in their order. Sotopia leaves out those that were not
    in turn; EPO keeps them as "none". An act out of turn is "none" in both.

    Args:
        said: for each turn, the seats in turn and the acts of both.
    """
    inbox = []
    for turn, (in_turn, acts) in enumerate(said, start=1):
        for agent, act in enumerate(acts):
            if agent in in_turn or program == "epo":
                inbox.append(act if agent in in_turn else "none")
        trailing = 0
        while trailing < len(inbox) and inbox[-1 - trailing] == "none":
            trailing += 1
        is_long = turn > limit if program == "epo" else turn >= limit
        if is_long or "leave" in inbox or trailing > most_stale:
            return turn
    return None


@pytest.mark.parametrize("order", ["round_robin", "random", "simultaneous"])
@pytest.mark.parametrize("program", ["sotopia", "epo"])
def test_scenes_of_two_end_where_the_original_ends_them(program, order):
    rng = np.random.default_rng(0)
    people = tuple(Character(id=name, first_name=name, age=30) for name in ("Ann", "Bob"))
    ends = Counter()
    for seed in range(1500):
        limit, most_stale = int(rng.integers(1, 25)), int(rng.integers(0, 6))
        rules = rules_of(program, order=order, turn_limit=limit, most_stale=most_stale)
        state, said = SceneState.begin(Cast(SCENE, people), rules, seed=seed), []
        weights = rng.dirichlet((1, 1.5, 0.1))
        while state.ending is None:
            acts = rng.choice(["speak", "none", "leave"], size=2, p=weights)
            said.append((state.acting, acts))
            kinds = {"speak": "Hi.", "none": "[none]", "leave": "[leave]"}
            state = state.after({seat: read_action(kinds[acts[seat]]) for seat in (0, 1)})
        assert original_end(program, order, most_stale, limit, said) == state.n_turns
        ends[state.ending.split(" ", 1)[1]] += 1
    assert len(ends) >= 3
