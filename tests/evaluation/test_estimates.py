"""A mean with its interval, against the t table."""

import math

import numpy as np
import pytest

from dataenvgym.evaluation.estimators import clustered_estimate, estimate


def test_the_interval_of_three_values_is_that_of_the_t_table():
    found = estimate([1.0, 2.0, 3.0])
    # t(.975, 2) = 4.30265, sd = 1
    assert (found.n, found.mean, found.sd) == (3, 2.0, 1.0)
    assert found.half_width == pytest.approx(4.30265 / math.sqrt(3), abs=1e-5)
    assert (found.low, found.high) == pytest.approx((2 - 2.48414, 2 + 2.48414), abs=1e-4)


def test_one_seed_has_a_mean_and_no_interval_and_none_has_nothing():
    assert estimate([0.25]).mean == 0.25
    assert estimate([0.25]).low is estimate([0.25]).half_width is None
    assert estimate([]).mean is None


def test_the_interval_contains_the_mean_as_often_as_promised():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        found = estimate(rng.normal(1.0, 2.0, size=5).tolist())
        inside += found.low <= 1.0 <= found.high
    assert 0.935 < inside / 2000 < 0.965


def test_values_of_one_cluster_do_not_count_as_independent():
    found = clustered_estimate([[1.0, 3.0], [5.0]])
    # By hand: N = 3, mean m = 3. Sums of x - m by cluster: (1 - 3) + (3 - 3) = -2, and 5 - 3 = 2.
    # G / (G - 1) = 2 / 1, so the variance of m is 2 * (2^2 + 2^2) / 3^2 = 16 / 9, its root 4 / 3.
    # t(.975, 1) = 12.7062, and the half width is 12.7062 * 4 / 3 = 16.9416.
    assert (found.n, found.mean) == (3, 3.0)
    assert found.half_width == pytest.approx(16.9416, abs=1e-3)
    assert found.half_width > estimate([1.0, 3.0, 5.0]).half_width


def test_clusters_of_one_value_are_as_independent_draws():
    values = [1.0, 4.0, 6.0, 7.5]
    found, plain = clustered_estimate([[v] for v in values]), estimate(values)
    assert (found.mean, found.sd) == (plain.mean, plain.sd)
    assert found.half_width == pytest.approx(plain.half_width)


def test_one_cluster_has_a_mean_and_no_interval():
    assert clustered_estimate([[1.0, 3.0], []]).mean == 2.0
    assert clustered_estimate([[1.0, 3.0]]).half_width is None
    assert clustered_estimate([[], []]).mean is None


def test_the_clustered_interval_contains_the_mean_as_often_as_promised():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(1000):
        centers = rng.normal(1.0, 2.0, size=30)
        found = clustered_estimate([rng.normal(c, 0.5, size=4).tolist() for c in centers])
        inside += found.low <= 1.0 <= found.high
    assert 0.93 < inside / 1000 < 0.97
