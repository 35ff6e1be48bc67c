"""The statistics of a study: paired tests over seeds, and the variance among instances.

All functions are pure; intervals over seeds are in `evaluation.estimates`. Two sources of
randomness are treated separately: the seeds (another run of the same strategy) and the evaluation
instances (another test set). There is no percentile bootstrap: with as few seeds as studies have,
its intervals are too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from dataenvgym.errors import ConfigurationError
from dataenvgym.metrics.estimators import estimate

Test = Literal["t", "sign_flip"]

EXACT = 20
"""The most pairs for which all 2^n sign flips are counted."""


def paired_t(differences: Sequence[float]) -> float | None:
    """Two-sided p of the paired t test that the mean difference is 0; None below 2 pairs."""
    found = estimate(differences)
    if found.mean is None or found.sd is None:
        return None
    if found.sd <= 1e-12 * max(1.0, abs(found.mean)):  # all equal: t is infinite, or 0/0
        return 1.0 if abs(found.mean) <= 1e-12 else 0.0
    from scipy import stats

    t = found.mean / (found.sd / math.sqrt(found.n))
    return float(2.0 * stats.t.sf(abs(t), found.n - 1))


def sign_flip(differences: Sequence[float]) -> float | None:
    """Two-sided exact p of the paired permutation test, from all 2^n sign flips.

    It is the share of flips whose sum is at least as far from 0 as the observed one. The test only
    assumes that under the null hypothesis each difference is as likely negative as positive. With n
    pairs, p is at least 2/2^n. None without pairs.

    Raises:
        ConfigurationError: for more than `EXACT` pairs.
    """
    n = len(differences)
    if n > EXACT:
        raise ConfigurationError(
            f"{n} pairs have 2^{n} sign flips, and all are counted up to {EXACT}; use --test t"
        )
    if n == 0:
        return None
    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    found = abs(math.fsum(differences))
    slack = 1e-9 * max(1.0, math.fsum(abs(v) for v in differences))  # the same sum, rounded
    return float(np.mean(np.abs(sums) >= found - slack))


def choose_test(n: int) -> Test:
    """The default test: sign flips for up to `EXACT` pairs, else the t test."""
    return "sign_flip" if n <= EXACT else "t"


def p_value(differences: Sequence[float], test: Test) -> float | None:
    """Two-sided p of this test."""
    return sign_flip(differences) if test == "sign_flip" else paired_t(differences)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment, in the given order; None stays None and does not count.

    The i-th smallest of m p-values is multiplied by m - i + 1, raised to at least the one before
    it, and limited to 1 (Holm, Scandinavian Journal of Statistics 6, 1979).
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        adjusted[i] = largest
    return adjusted


def instance_error(differences: Sequence[float]) -> float | None:
    """Standard error of a mean paired difference over instances: sd / sqrt(n).

    Args:
        differences: for each instance, its reward on one side minus that on the other, averaged
            over seeds if there are several. The result is None for fewer than two.
    """
    found = estimate(differences)
    return None if found.sd is None else found.sd / math.sqrt(found.n)
