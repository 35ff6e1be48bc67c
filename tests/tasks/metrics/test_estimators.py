"""pass@k, pass^k and majority@k against figures, and against all draws counted one by one."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest

from dataenvgym.tasks.metrics import majority_at_k, pass_at_k, pass_hat_k
from dataenvgym.tasks.metrics.estimators import best_of_k, clustered_estimate, estimate


@pytest.mark.parametrize("c", [0, 2, 6])
def test_pass_at_k_and_pass_hat_k_are_the_share_of_draws(c):
    right = [True] * c + [False] * (6 - c)
    for k in range(1, 7):
        draws = list(combinations(right, k))
        assert pass_at_k(6, c, k) == pytest.approx(np.mean([any(draw) for draw in draws]))
        assert pass_hat_k(6, c, k) == pytest.approx(np.mean([all(draw) for draw in draws]))


def counted(classes: list[tuple[int, int]], silent: int, k: int) -> float:
    """majority@k, draw by draw."""
    votes = [(i, j < right) for i, (size, right) in enumerate(classes) for j in range(size)]
    values = []
    for draw in combinations([*votes, *[(None, False)] * silent], k):
        ballots = Counter(i for i, _ in draw if i is not None)
        winners = [i for i, n in ballots.items() if n == max(ballots.values())]
        shares = [np.mean([right for j, right in draw if j == i]) for i in winners]
        values.append(np.mean(shares) if shares else 0.0)
    return float(np.mean(values))


@pytest.mark.parametrize(
    ("classes", "silent"),
    [
        ([(3, 3), (2, 0)], 0),
        ([(2, 2), (2, 0), (2, 0)], 1),
        ([(1, 0), (1, 1), (1, 0), (1, 0)], 2),
        ([(3, 2), (2, 0), (2, 1)], 0),  # a class that is not judged alike
        ([(4, 0), (2, 2)], 3),
        ([], 4),
    ],
)
def test_the_majority_is_that_of_all_draws_counted_one_by_one(classes, silent):
    n = silent + sum(size for size, _ in classes)
    for k in range(1, n + 1):
        assert majority_at_k(classes, silent, k) == pytest.approx(counted(classes, silent, k))


def test_many_samples_of_many_answers_are_exact_too():
    # two answers, an odd k: the majority is right if more than half of the draws are
    for n, c, k in ((1200, 640, 51), (256, 150, 63)):
        right = sum(comb(c, r) * comb(n - c, k - r) for r in range(k // 2 + 1, k + 1))
        expected = float(Fraction(right, comb(n, k)))
        assert majority_at_k([(c, c), (n - c, 0)], 0, k) == pytest.approx(expected, rel=1e-9)


def test_the_majority_of_all_samples_is_one_draw_however_many_there_are():
    classes = [(2, 1)] * 100_000 + [(1, 1)]
    assert majority_at_k(classes, 7, 200_008) == 0.5
    assert majority_at_k([], 3, 3) == 0.0


# --- estimates over instances ---


def test_the_interval_of_three_values_is_that_of_the_t_table():
    found = estimate([1.0, 2.0, 3.0])
    # t(.975, 2) = 4.30265, sd = 1
    assert (found.n, found.mean, found.sd) == (3, 2.0, 1.0)
    assert found.half_width == pytest.approx(4.30265 / math.sqrt(3), abs=1e-5)
    assert (found.low, found.high) == pytest.approx((2 - 2.48414, 2 + 2.48414), abs=1e-4)


def test_one_seed_has_a_mean_and_no_interval_and_none_has_nothing():
    assert estimate([0.25]).mean == 0.25
    assert estimate([0.25]).low is estimate([0.25]).half_width is None
    assert estimate([]).mean is clustered_estimate([[], []]).mean is None
    assert clustered_estimate([[1.0, 3.0], []]).mean == 2.0
    assert clustered_estimate([[1.0, 3.0]]).half_width is None


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


@pytest.mark.parametrize(
    "tries",
    [
        [(1.0, True), (2.0, False), (3.0, True), (4.0, False)],
        [(1.0, True), (1.0, False), (2.0, True), (2.0, False), (2.0, False)],
        [(5.0, False), (5.0, True), (5.0, True)],
    ],
)
def test_the_best_of_k_is_that_of_all_draws_counted_one_by_one(tries):
    for k in range(1, len(tries) + 1):
        counted = []
        for draw in combinations(tries, k):
            best = [right for score, right in draw if score == max(score for score, _ in draw)]
            counted.append(np.mean(best))
        assert best_of_k(tries, k) == pytest.approx(np.mean(counted))
