"""The statistics of a study: paired tests over seeds, their power, and pairs of strategies.

Seeds (another run of the same strategy) and evaluation instances (another test set) are separate
sources of randomness. There is no percentile bootstrap over the seeds of a task: with so few, its
intervals are too narrow. Power counts the level of Holm's first step, .05 divided by the number of
comparisons: what is found if only one strategy differs. Differences over seeds are taken as normal,
and given in their standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Model
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.metrics.estimators import Estimate, estimate

Test = Literal["t", "sign_flip"]
SeedScores = Mapping[str, Mapping[int, float]]
"""The scores of strategies: by name and seed."""
EXACT = 20
"""The most pairs for which all 2^n sign flips are counted."""
LEVEL, POWER = 0.05, 0.8
_SIMULATED = 10
"""Up to this number of seeds, the power of the sign-flip test is simulated."""


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
    """Two-sided exact p of the paired permutation test; None without pairs.

    It is the share of all 2^n sign flips whose sum is at least as far from 0 as the observed one,
    so 2/2^n at least. Under the null hypothesis each difference is as likely negative as positive.
    """
    if not differences:
        return None
    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    slack = 1e-9 * max(1.0, math.fsum(abs(v) for v in differences))  # the same sum, rounded
    return float(np.mean(np.abs(sums) >= abs(math.fsum(differences)) - slack))


def choose_test(n: int, wanted: Test | None = None) -> Test:
    """The test of n pairs: by default sign flips for up to `EXACT` pairs, else the t test."""
    if wanted == "sign_flip" and n > EXACT:
        raise ConfigurationError(
            f"{n} pairs have 2^{n} sign flips, and all are counted up to {EXACT}; use --test t"
        )
    return wanted or ("sign_flip" if n <= EXACT else "t")


def p_value(differences: Sequence[float], test: Test) -> float | None:
    """Two-sided p of this test."""
    return sign_flip(differences) if test == "sign_flip" else paired_t(differences)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment (1979), in the given order; None stays None and does not count.

    The i-th smallest of m p-values is multiplied by m - i + 1, raised to at least the one before
    it, and limited to 1.
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        adjusted[i] = largest
    return adjusted


def instance_error(differences: Sequence[float]) -> float | None:
    """Standard error of a mean paired difference over instances; None for fewer than two."""
    found = estimate(differences)
    return None if found.sd is None else found.sd / math.sqrt(found.n)


# --- power ---


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
        found = np.abs(sums + effect * totals[:, None])  # the first row has no flipped sign
        extreme = np.sum(found >= found[0] * (1 - 1e-12), axis=0)
        return float(np.mean(extreme <= ways))
    from scipy import stats

    # the noncentral t distribution as a mean over estimated deviations: scipy's is NaN or wrong
    # for many large effects
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
    values = derive_rng(0, "power", n).normal(size=(n, min(20_000, 2**22 >> (n - 1))))
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


# --- pairs of strategies, by their mean score over tasks at each seed ---


class Pair(Model):
    """Two strategies, the one with the higher mean first.

    Attributes:
        difference: of their scores, over the seeds that both have.
        p, p_holm: two-sided; p_holm is adjusted for all pairs.
    """

    better: str
    other: str
    difference: Estimate
    p: float | None
    p_holm: float | None

    @property
    def told_apart(self) -> bool:
        """True if the difference is significant."""
        return self.p_holm is not None and self.p_holm <= LEVEL


def over_tasks(tasks: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    """The mean score over tasks at each seed that all of them have."""
    seeds = sorted(set.intersection(*map(set, tasks.values())))
    return {seed: sum(one[seed] for one in tasks.values()) / len(tasks) for seed in seeds}


def ranking(scores: SeedScores) -> dict[str, Estimate]:
    """The mean score of each strategy over its seeds, the best first."""
    found = {name: estimate(list(of.values())) for name, of in scores.items() if of}
    return dict(sorted(found.items(), key=lambda item: -(item[1].mean or 0.0)))


def compare_pairs(scores: SeedScores, test: Test) -> tuple[Pair, ...]:
    """Compare all pairs of strategies, in the order of their ranking."""
    pairs = list(combinations(ranking(scores), 2))
    found = [
        [scores[better][s] - scores[other][s] for s in sorted({*scores[better]} & {*scores[other]})]
        for better, other in pairs
    ]
    ps = [p_value(differences, test) for differences in found]
    return tuple(
        Pair(better=better, other=other, difference=estimate(differences), p=p, p_holm=adjusted)
        for (better, other), differences, p, adjusted in zip(
            pairs, found, ps, holm(ps), strict=True
        )
    )


def rank_agreement(scores: SeedScores) -> float | None:
    """Kendall's tau between the ranking by every other seed and that by the rest of the seeds.

    None for fewer than three strategies or four seeds in common, and if a half has only ties.
    """
    from scipy import stats

    seeds = sorted(set.intersection(*map(set, scores.values()))) if scores else []
    if len(scores) < 3 or len(seeds) < 4:
        return None
    halves = ([sum(of[s] for s in seeds[i::2]) for of in scores.values()] for i in (0, 1))
    tau = float(stats.kendalltau(*halves).statistic)
    return None if math.isnan(tau) else tau
