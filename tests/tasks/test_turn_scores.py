import numpy as np
import pytest

from dataenvgym.tasks.turn_scores import advantages, has_difference, turn_scores, turn_weights


def test_by_group_a_bad_end_weighs_less():
    # the largest of both is the good end's 1
    both = [turn_scores(3, [], final) for final in (0.1, 1.0)]
    assert turn_weights(both) == turn_weights(both, normalize="group")  # the default
    bad, good = turn_weights(both)
    assert bad == pytest.approx([0.09801, 0.099, 0.1])
    assert good == pytest.approx([0.9801, 0.99, 1.0])


def test_without_normalization_weights_are_the_returns_and_with_it_they_keep_their_sign():
    (found,) = turn_weights([(1.0, 0.0, 0.8)], normalize="none")
    assert found == pytest.approx([1.78408, 0.792, 0.8])
    # returns [.5 - .5, -.5] with a discount of 1
    assert turn_weights([(0.5, -0.5)], discount=1.0) == [(0.0, -1.0)]
    for normalize in ("dialogue", "group", "none"):  # all zero stays zero
        assert turn_weights([(0.0, 0.0), ()], normalize=normalize) == [(0.0, 0.0), ()]
        assert turn_weights([], normalize=normalize) == []


def test_random_dialogues_have_the_scores_of_epo():
    """By the formulas of its code (`data/utils/preprocessing.py`), whatever the judge named."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        n_turns = int(rng.integers(1, 12))
        named = [i for i in range(n_turns) if rng.random() < 0.3]
        final = int(rng.integers(0, 11)) / 10
        expected = [1.0 if i in named else 0.0 for i in range(n_turns)]
        if n_turns - 1 not in named:
            expected[-1] = final
        for i in range(n_turns - 2, -1, -1):
            expected[i] += 0.99 * expected[i + 1]
        largest = max(map(abs, expected))
        expected = [value / largest if largest else 0.0 for value in expected]
        scores = turn_scores(n_turns, named, final)
        (found,) = turn_weights([scores], discount=0.99, normalize="dialogue")
        assert found == pytest.approx(tuple(expected), abs=1e-12)


def test_advantages_of_random_groups_are_those_of_grpo_in_verl():
    """By its formula, but for the 1e-6 that it adds to the sample deviation."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        size = int(rng.integers(2, 17))
        rewards = rng.choice([rng.random(size), rng.integers(0, 2, size)])
        deviation = rewards.std(ddof=1)
        expected = (rewards - rewards.mean()) / (deviation + 1e-6)
        close = {"abs": 1e-9, "rel": 1.01e-6 / (deviation or 1)}
        group = [float(reward) for reward in rewards]
        assert advantages(group) == pytest.approx(expected.tolist(), **close)
        scores = [turn_scores(3, [], reward - float(np.mean(group))) for reward in group]
        weights = turn_weights(scores, discount=1.0, normalize="deviation")
        assert weights == [pytest.approx([e] * 3, **close) for e in expected.tolist()]


def test_advantages_are_clipped_and_equal_rewards_have_none():
    values = [1.0] + [0.0] * 24
    assert advantages(values, clip=3)[0] == 3.0
    assert advantages([-v for v in values], clip=3)[0] == -3.0
    assert advantages(values)[0] == pytest.approx(4.8, abs=1e-4)
    assert advantages([0.1] * 3) == advantages([0.0] * 3) == [0, 0, 0]
    assert advantages([1.0]) == [0]


def test_small_and_flat_groups_have_no_difference():
    ones = {"least_group": 3, "least_deviation": 0.1}
    assert not has_difference([1.0, 0.0], **ones)
    assert not has_difference([0.5, 0.55, 0.6], **ones)
    assert has_difference([1.0, 0.0, 0.0], **ones)
    assert not has_difference([0.1, 0.1, 0.1], least_group=2, least_deviation=0.0)
