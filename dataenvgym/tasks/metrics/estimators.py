"""Estimators of the result of k samples of one instance, given n samples.

Each averages over all ways to draw k of the n samples without replacement. So it does not depend on
the order of the samples, and is unbiased for k new samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from math import comb, exp, lgamma, log, log1p

import numpy as np

from dataenvgym.records import Model


class Estimate(Model):
    """A mean over draws, which are seeds or evaluation instances.

    Attributes:
        n: the number of draws.
        mean: None without draws.
        sd: sample standard deviation (n - 1); None for fewer than two draws.
        low, high: the 95% interval of the mean by Student's t; None for fewer than two draws, or
            fewer than two clusters.
    """

    n: int
    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width."""
        return None if self.high is None or self.mean is None else self.high - self.mean


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and 95% t interval of the values."""
    n = len(values)
    if n == 0:
        return Estimate(n=0)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(n=1, mean=mean)
    from scipy import stats

    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    half = float(stats.t.ppf(0.975, n - 1)) * sd / math.sqrt(n)
    return Estimate(n=n, mean=mean, sd=sd, low=mean - half, high=mean + half)


def noise_floor(
    instance_error: float | None, seed_variance: float | None, n: int = 1
) -> float | None:
    """The gain that chance exceeds in 5% of studies without a true gain: 1.96 standard errors.

    Chance is the choice of n seeds and of the evaluation instances.

    Args:
        instance_error: the standard error due to the choice of instances; without it, None.
        seed_variance: the variance between seeds; without it, only the instances count.
    """
    if instance_error is None:
        return None
    return 1.96 * math.hypot(instance_error, math.sqrt((seed_variance or 0.0) / n))


def clustered_estimate(clusters: Sequence[Sequence[float]]) -> Estimate:
    """Mean and 95% t interval of values in clusters, such as the episodes of one scene.

    Values of the same cluster may depend on each other; the clusters are independent. The variance
    of the mean m of N values in G clusters is

        G / (G - 1) * sum over clusters of (sum over its values of (x - m))^2 / N^2

    (the cluster-robust variance of a mean; Liang and Zeger, 1986), and t has G - 1 degrees of
    freedom. With one value in each cluster, this is `estimate`. Empty clusters do not count.
    """
    filled = [cluster for cluster in clusters if cluster]
    found = estimate([value for cluster in filled for value in cluster])
    if found.mean is None or found.n < 2:
        return found
    if (n_clusters := len(filled)) < 2:
        return found.model_copy(update={"low": None, "high": None})
    from scipy import stats

    mean = found.mean
    squares = math.fsum(math.fsum(value - mean for value in c) ** 2 for c in filled)
    error = math.sqrt(n_clusters / (n_clusters - 1) * squares) / found.n
    half = float(stats.t.ppf(0.975, n_clusters - 1)) * error
    return found.model_copy(update={"low": mean - half, "high": mean + half})


def best_of_k(tries: Sequence[tuple[float, bool]], k: int) -> float:
    """The chance that the try with the highest score among k is right, best of n.

    Tries with the same score share their part. The scores are a judge's, so that this is what a
    user gets who takes the best of k replies by that judge.

    Args:
        tries: the score of each sample, and whether it is right.
    """
    n, above, won = len(tries), 0, 0.0
    for score in sorted({score for score, _ in tries}, reverse=True):
        tied = [is_right for found, is_right in tries if found == score]
        # draws whose best is one of these: none above them, and not all below
        draws = comb(n - above, k) - comb(n - above - len(tied), k)
        won += draws * sum(tied) / len(tied)
        above += len(tied)
    return won / comb(n, k)


_FITS_INTO_FLOATS = 1000
"""Up to this number of samples, there are fewer than 1e300 draws of any size."""


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k samples is right: 1 - C(n-c, k) / C(n, k).

    The unbiased estimator of Chen et al., Evaluating Large Language Models Trained on Code (2021).

    Args:
        n: the number of samples.
        c: the number of right samples.
    """
    return 1.0 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that all k samples are right, pass^k: C(c, k) / C(n, k).

    From Yao et al., tau-bench (2024). Arguments as for `pass_at_k`.
    """
    return comb(c, k) / comb(n, k)


def majority_at_k(classes: Sequence[tuple[int, int]], silent: int, k: int) -> float:
    """The chance that the most frequent answer among k samples is right.

    If several answers are equally frequent, each has an equal share of the vote. If the samples of
    a class are not all judged alike, the class counts with its share of right ones. Samples without
    an answer have no vote; if none of the k has an answer, the result is wrong.

    The result is exact up to rounding, without listing the C(n, k) draws: for each number of votes
    v, the draws in which v votes win are counted class by class, by the number of samples drawn and
    the number of classes with v votes.

    Args:
        classes: for each class of answers, the number of samples, and of right ones.
        silent: the number of samples without an answer.
    """
    n = silent + sum(size for size, _ in classes)
    if k == n:  # there is only one such draw
        largest = max((size for size, _ in classes), default=0)
        winners = [correct / size for size, correct in classes if size == largest > 0]
        return sum(winners) / len(winners) if winners else 0.0
    ways = _ways(n, k)
    most = min(k, max((size for size, _ in classes), default=0))
    won = sum(_won_with(votes, classes, silent, k, ways) for votes in range(1, most + 1))
    return min(1.0, float(won / ways(n, k)))


Ways = Callable[[int, int], float]
"""The number of ways to draw some samples of a group of some size, perhaps scaled."""


def _won_with(
    votes: int, classes: Sequence[tuple[int, int]], silent: int, k: int, ways: Ways
) -> float:
    """Count the draws won with `votes` votes, weighted by the winners' shares of right samples."""
    shape = (k // votes + 1, k + 1)  # classes with `votes` votes, samples drawn
    draws = np.zeros(shape)
    right = np.zeros(shape)  # the same draws, times the sum of their winners' shares
    draws[0, 0] = 1.0
    for size, correct in classes:
        draws_before, right_before = draws, right
        draws, right = np.zeros(shape), np.zeros(shape)
        for drawn in range(min(size, votes - 1) + 1):
            draws[:, drawn:] += ways(size, drawn) * draws_before[:, : k + 1 - drawn]
            right[:, drawn:] += ways(size, drawn) * right_before[:, : k + 1 - drawn]
        if size >= votes:
            before, earlier = (a[:-1, : k + 1 - votes] for a in (draws_before, right_before))
            draws[1:, votes:] += ways(size, votes) * before
            right[1:, votes:] += ways(size, votes) * (earlier + correct / size * before)
    rest = np.array([ways(silent, k - drawn) for drawn in range(k + 1)])
    return float(sum(right[tied] @ rest / tied for tied in range(1, shape[0])))


def _ways(n: int, k: int) -> Ways:
    """C(size, drawn), if such numbers fit into floats.

    Otherwise each is multiplied by p^drawn (1-p)^(size-drawn), which turns counts into
    probabilities. All draws of k out of n get the same factor.
    """
    if n <= _FITS_INTO_FLOATS:
        return lambda size, drawn: float(comb(size, drawn))
    p = (k + 0.5) / (n + 1)

    @cache
    def probability(size: int, drawn: int) -> float:
        if drawn > size:
            return 0.0
        count = lgamma(size + 1) - lgamma(drawn + 1) - lgamma(size - drawn + 1)
        return exp(count + drawn * log(p) + (size - drawn) * log1p(-p))

    return probability
