import math

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.turn_scores import turn_scores, turn_weights


def weights(n_turns: int, named: tuple[int, ...], final: float) -> tuple[float, ...]:
    (found,) = turn_weights([turn_scores(n_turns, named, final)])
    return found


def test_a_named_turn_and_the_end_share_the_weight():
    # scores [1, 0, .8]; from the back: .8, then .99 * .8 = .792, then 1 + .99 * .792 = 1.78408.
    # divided by 1.78408: 1, .792 / 1.78408 = .44393, .8 / 1.78408 = .44841
    assert turn_scores(3, [0], 0.8) == (1.0, 0.0, 0.8)
    assert weights(3, (0,), 0.8) == pytest.approx([1.0, 0.4439, 0.4484], abs=5e-5)


def test_a_named_last_turn_scores_1_with_any_end():
    # scores [1, 0, 1]; from the back: 1, .99, 1 + .99 * .99 = 1.9801.
    # divided by 1.9801: 1, .99 / 1.9801 = .49997, 1 / 1.9801 = .50502
    assert turn_scores(3, [0, 2], 0.8) == (1.0, 0.0, 1.0)
    assert weights(3, (0, 2), 0.8) == pytest.approx([1.0, 0.5, 0.505], abs=5e-5)


def test_by_dialogue_a_bad_end_weighs_as_much_as_a_good_one():
    # scores [0, 0, f] give [.9801 f, .99 f, f], and f falls out when divided by the largest, f
    assert weights(3, (), 0.1) == pytest.approx([0.9801, 0.99, 1.0])
    assert weights(3, (), 1.0) == pytest.approx([0.9801, 0.99, 1.0])


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


@pytest.mark.parametrize(
    ("scored", "message"),
    [
        (lambda: turn_scores(3, [0], 8.0), "divide it by the largest"),
        (lambda: turn_scores(3, [0], math.nan), "final score is nan"),
        (lambda: turn_scores(3, [1, 3, -1], 0.8), r"turns \[-1, 3\] are named"),
        (lambda: turn_scores(0, [], 0.8), "n_turns is 0"),
        (lambda: turn_weights([(math.inf,)]), "finite"),
        (lambda: turn_weights([(1.0,)], discount=1.5), "discount is 1.5"),
        (lambda: turn_weights([(1.0,)], normalize="scene"), "normalize is 'scene'"),
    ],
)
def test_invalid_dialogues_are_refused(scored, message):
    with pytest.raises(ConfigurationError, match=message):
        scored()  # type: ignore[operator]
