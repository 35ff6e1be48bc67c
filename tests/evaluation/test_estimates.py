"""A mean with its interval, against the t table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dataenvgym.evaluation.estimates import estimate


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


def test_the_interval_holds_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        found = estimate(rng.normal(1.0, 2.0, size=5).tolist())
        inside += found.low <= 1.0 <= found.high
    assert 0.935 < inside / 2000 < 0.965
