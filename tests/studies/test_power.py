"""Power against textbooks, scipy and simulated studies."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dataenvgym.studies.statistics import detectable_effect, holm, power, sign_flip


def test_the_power_of_the_t_test_is_the_textbooks():
    # Cohen 1988: a paired t test with 34 pairs finds d = .5 with power .81
    assert power(0.5, 34, comparisons=1, test="t") == pytest.approx(0.808, abs=0.001)
    assert power(0.0, 10, comparisons=4, test="t") == pytest.approx(0.05 / 4)


@pytest.mark.parametrize("effect", [8, 10, 16, 20, 48])
def test_power_is_right_where_scipys_noncentral_t_is_not(effect):
    # two pairs: the estimated deviation is that of one normal value, which alone decides
    smallest = effect * np.sqrt(2) / stats.t.isf(0.025, 1)
    known = 1 - 2 * stats.norm.sf(smallest)
    assert power(effect, 2, comparisons=1, test="t") == pytest.approx(known, abs=0.005)


def test_six_pairs_are_significant_only_if_all_have_one_sign():
    assert power(1.0, 6, comparisons=1, test="sign_flip") == pytest.approx(
        stats.norm.cdf(1.0) ** 6, abs=0.02
    )


@pytest.mark.parametrize(("n", "comparisons"), [(5, 1), (6, 2), (8, 7), (1, 1)])
def test_too_few_seeds_for_the_sign_flip_test_find_nothing(n, comparisons):
    assert detectable_effect(n, comparisons=comparisons, test="sign_flip") is None


@pytest.mark.slow
def test_more_seeds_find_less_and_more_comparisons_find_more():
    effects = [detectable_effect(n, comparisons=2, test="sign_flip") for n in range(7, 21)]
    assert all(more < less for less, more in itertools.pairwise(effects))
    assert detectable_effect(10, comparisons=4, test="t") > effects[3]


@pytest.mark.parametrize("n", [10, 12])
def test_simulated_studies_have_the_power_that_was_predicted(n):
    """Three strategies and a baseline, one strategy differs: the whole of a study's test."""
    rng, effect, found = np.random.default_rng(n), 0.0, 0
    effect = detectable_effect(n, comparisons=3, test="sign_flip")
    for _ in range(300):
        baseline, *strategies = rng.normal(size=(4, n)) / np.sqrt(2)  # differences have an SD of 1
        strategies[0] += effect
        ps = [sign_flip((one - baseline).tolist()) for one in strategies]
        found += holm(ps)[0] <= 0.05
    assert found / 300 == pytest.approx(0.8, abs=0.07)
