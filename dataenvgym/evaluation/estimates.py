"""A mean with its 95% interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dataenvgym.records import Model


class Estimate(Model):
    """A mean over independent draws: seeds, or evaluation instances.

    Attributes:
        n: how many.
        mean: None without any.
        sd: sample standard deviation (n - 1); None below two.
        low, high: the 95% interval of the mean by Student's t; None below two.
    """

    n: int
    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the interval."""
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
