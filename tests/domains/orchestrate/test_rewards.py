import random

import pytest

from dataenvgym.domains.orchestrate.calls import Account
from dataenvgym.domains.orchestrate.preferences import Preference
from dataenvgym.domains.orchestrate.rewards import efficiency, rewards
from dataenvgym.errors import ConfigurationError
from dataenvgym.records.usage import NOTHING
from dataenvgym.tasks.turn_scores import advantages


def tried(is_solved, cost, seconds, calls=()):
    took = NOTHING.model_copy(update={"cost": cost, "seconds": seconds})
    return is_solved, Account(calls=dict(calls), tools=took)


GROUP = [
    tried(True, 0.02, 40, {"search": 1}),
    tried(True, 0.10, 100, {"search": 3}),
    tried(False, 0.01, 20),
    tried(True, 0.06, 100),
]
WANTED = Preference(weights={"accuracy": 1, "cost": 0.5, "latency": 0.25, "search": 0})


def test_rewards_and_advantages_are_those_of_the_published_example():
    values = rewards("preference", GROUP, WANTED)
    assert values == pytest.approx([1.6319, 1.0, 0, 1.2222], abs=5e-5)
    assert advantages(values) == pytest.approx([0.9636, 0.0526, -1.3891, 0.3729], abs=5e-5)
    assert rewards("efficiency", GROUP) == pytest.approx([0.82, 0.3, 0, 0.5])
    assert rewards("outcome", GROUP) == [1, 1, 0, 1]


def test_tries_without_a_call_count_in_the_normalization_and_equal_columns_are_zero():
    values = rewards("preference", GROUP, Preference(weights={"search": 1}))
    assert values == pytest.approx([1 / 3, 1, 0, 0])
    same = [tried(True, 0.1, 5, {"search": 2})] * 3
    assert rewards("preference", same, Preference(weights={"search": 1, "cost": 1})) == [0, 0, 0]


def test_a_dearer_or_slower_otherwise_equal_try_never_has_the_higher_reward():
    rng = random.Random(0)
    for _ in range(300):
        group = [
            tried(rng.random() < 0.6, rng.random() / 5, 300 * rng.random(), {"a": rng.randrange(4)})
            for _ in range(5)
        ]
        is_solved, first = group[0]
        dearer = tried(is_solved, first.cost + 0.01, first.seconds + 1, first.calls)
        names = ("accuracy", "cost", "latency", "a")
        wanted = Preference(weights={name: rng.random() for name in names})
        for kind in ("outcome", "efficiency", "preference"):
            values = rewards(kind, [*group, dearer], wanted)
            assert values[0] >= values[-1]


def test_the_efficiency_of_a_solved_problem_is_at_least_a_fifth():
    assert efficiency(*tried(True, 9.0, 9.0)) == pytest.approx(0.2)
    assert efficiency(*tried(False, None, None)) == 0


@pytest.mark.parametrize("kind", ["efficiency", "preference"])
def test_an_unknown_cost_is_not_taken_for_zero(kind):
    group = [tried(True, None, 4.0), *GROUP]
    with pytest.raises(ConfigurationError, match="the cost"):
        rewards(kind, group, WANTED)
    assert rewards("outcome", group)[0] == 1
    assert rewards("preference", group, Preference(weights={"accuracy": 1, "cost": 0}))[0] == 1


def test_a_reward_by_preference_needs_one():
    with pytest.raises(ConfigurationError, match="problem has none"):
        rewards("preference", GROUP)
