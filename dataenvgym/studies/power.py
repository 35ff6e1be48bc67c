"""Power: the smallest difference between two strategies that a study can find.

A strategy is compared with the baseline by a paired test over seeds at level .05, corrected by
Holm. The level here is that of Holm's first step, .05 divided by the number of comparisons: what is
found if only one strategy differs. Differences over seeds are taken as normal, and given in their
standard deviations.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dataenvgym.seeding import derive_rng
from dataenvgym.studies.statistics import Test

LEVEL, POWER = 0.05, 0.8
_SIMULATED = 10
"""Up to this number of seeds, the power of the sign-flip test is simulated."""
_VALUES = 2**22
"""Sums in such a simulation: flips x studies."""


def power(effect: float, n: int, *, comparisons: int, test: Test) -> float:
    """The probability to find a difference of `effect` standard deviations with n seeds."""
    level = LEVEL / comparisons
    if test == "sign_flip":
        # p is a multiple of 2 / 2^n, so fewer p values than `level` says count as significant
        ways = math.floor(level * 2 ** (n - 1) + 1e-9)
        level = ways / 2 ** (n - 1)
    if n < 2 or level == 0:
        return 0.0
    if test == "sign_flip" and n <= _SIMULATED:
        sums, totals = _signed_sums(n)
        found = np.abs(sums + effect * totals[:, None])
        own = np.abs(found[0])  # the first row has no flipped sign
        extreme = np.sum(found >= own * (1 - 1e-12), axis=0)
        return float(np.mean(extreme <= ways))
    from scipy import stats

    # The noncentral t distribution, as a mean over estimated deviations. (That of scipy is NaN or
    # wrong for many large effects.)
    quantiles, weights = _quantiles()
    deviations = np.sqrt(stats.chi2.ppf(quantiles, n - 1) / (n - 1))
    bounds, shift = stats.t.isf(level / 2, n - 1) * deviations, effect * math.sqrt(n)
    return float(weights @ (stats.norm.sf(bounds - shift) + stats.norm.cdf(-bounds - shift)))


@lru_cache
def _quantiles() -> tuple[np.ndarray, np.ndarray]:
    """Quantiles and their weights for a mean over a distribution, denser at both ends."""
    nodes, weights = np.polynomial.legendre.leggauss(256)
    at = (nodes + 1) / 2
    return at**2 * (3 - 2 * at), weights * 3 * at * (1 - at)


@lru_cache
def _signed_sums(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of normal values under half of all sign flips: flips x studies; and sums of signs."""
    flips = np.arange(2 ** (n - 1))[:, None] >> np.arange(n) & 1
    signs = 1.0 - 2.0 * flips  # the other half has the same absolute sums
    values = derive_rng(0, "power", n).normal(size=(n, min(20_000, _VALUES >> (n - 1))))
    return signs @ values, signs.sum(axis=1)


@lru_cache(maxsize=1024)
def detectable_effect(n: int, *, comparisons: int, test: Test) -> float | None:
    """The smallest effect, in standard deviations, that n seeds find with 80% power; or None."""
    low, high = 0.0, 64.0
    if power(high, n, comparisons=comparisons, test=test) < POWER:
        return None
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        if power(middle, n, comparisons=comparisons, test=test) < POWER:
            low = middle
        else:
            high = middle
    return high
