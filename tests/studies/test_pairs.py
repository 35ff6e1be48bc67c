"""Pairs of strategies on the score of a suite, and the stability of their ranking."""

import numpy as np
import pytest

from dataenvgym.studies.statistics import (
    compare_pairs,
    holm,
    over_tasks,
    rank_agreement,
    ranking,
    sign_flip,
)


def scores(n=10, **means):
    """Scores at n seeds with these means, noise of .1 that all share, and .01 of their own."""
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.1, n)
    return {
        name: dict(enumerate((mean + shared + rng.normal(0, 0.01, n)).tolist()))
        for name, mean in means.items()
    }


def test_the_score_at_a_seed_is_the_mean_over_the_tasks_that_have_it():
    assert over_tasks({"a": {0: 0.2, 1: 0.4, 7: 9.0}, "b": {0: 0.4, 1: 0.8}}) == pytest.approx(
        {0: 0.3, 1: 0.6}
    )


def test_pairs_are_told_apart_although_seeds_vary_more_than_strategies_do():
    found = compare_pairs(scores(low=0.3, high=0.4, middle=0.35, twin=0.3501), "sign_flip")
    assert {(one.better, one.other) for one in found if one.told_apart} == {
        ("high", "low"), ("high", "middle"), ("high", "twin"), ("middle", "low"), ("twin", "low"),
    }  # fmt: skip
    assert found[0].difference.mean == pytest.approx(0.05, abs=0.01)
    assert len(found) == 6


def test_holm_counts_all_pairs_and_no_star_is_given_before_it():
    made = scores(a=0.3, b=0.305, c=0.31)
    found = compare_pairs(made, "sign_flip")
    ps = [sign_flip([made[one.better][s] - made[one.other][s] for s in range(10)]) for one in found]
    assert [one.p for one in found] == ps
    assert [one.p_holm for one in found] == holm(ps)
    uncorrected = [one for one in found if one.p <= 0.05 < one.p_holm]
    assert [one.told_apart for one in uncorrected] == [False] * len(uncorrected)
    assert uncorrected


def test_only_shared_seeds_are_compared_and_none_gives_no_p():
    (one,) = compare_pairs({"a": {0: 1.0, 1: 2.0}, "b": {1: 0.0, 2: 5.0}}, "t")
    assert one.difference.n == 1
    (one,) = compare_pairs({"a": {0: 1.0}, "b": {7: 0.0}}, "sign_flip")
    assert (one.p, one.told_apart) == (None, False)


def test_strategies_are_ranked_by_their_mean():
    assert list(ranking(scores(low=0.3, high=0.5, middle=0.4))) == ["high", "middle", "low"]


def test_two_halves_of_the_seeds_agree_or_not():
    assert rank_agreement(scores(a=0.3, b=0.5, c=0.4)) == 1.0
    turned = {name: {s: x if s % 2 else -x for s, x in of.items()}
              for name, of in scores(a=0.3, b=0.5, c=0.4).items()}  # fmt: skip
    assert rank_agreement(turned) == -1.0
    assert rank_agreement(scores(a=0.3, b=0.5)) is None  # two always agree or disagree
    assert rank_agreement(scores(3, a=0.3, b=0.5, c=0.4)) is None
    assert rank_agreement({name: dict.fromkeys(range(4), 0.5) for name in "abc"}) is None
