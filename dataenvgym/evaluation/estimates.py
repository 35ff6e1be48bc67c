"""A mean with its 95% interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
