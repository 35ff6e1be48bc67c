"""Racing: a study that stops each strategy once its place is known, or cannot be known.

The area of a strategy at a seed is taken as

    a(seed) + mean(strategy) + normal noise of one variance

All strategies run with the first `WARM_UP` seeds; each further seed is a round. After a round, each
pair whose two strategies have all seeds so far has an e-value: the evidence for a difference, the
likelihood of the data with a normal prior on its size, divided by that without a difference.
Without one, the e-value ever reaches c with a probability of at most 1 / c, however often one
looks (Ville's inequality). So 1 / (largest e-value so far) is a p-value at any time, and Holm's
correction over all pairs keeps the familywise error at `LEVEL` at any time. A strategy stops

- below another one: their pair is decided by this, or
- undecided: the seeds left are unlikely to decide between it and the leader.

It is the t test of Gönen et al. (The Bayesian Two-Sample t Test, 2005) with the right-Haar prior on
the variance, which makes it valid at any time (Grünwald et al., Safe Testing, 2024; Lindon et al.,
Anytime-Valid Inference in Linear Models, 2022). The warm-up of all strategies adds to the estimate
of the variance. Which runs follow it depends on results, so only the pair's own count: then the
e-values are those of a full study, and to stop only hides the later ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dataenvgym.records import Model
from dataenvgym.studies.statistics import LEVEL, holm

WARM_UP = 3
"""Seeds with which all strategies run before the first decision."""
SPREAD = 4.0
"""Variance of the prior on a difference, in variances of a difference at one seed."""
FUTILE = 0.2
"""A strategy stops undecided below this probability that the seeds left decide."""

Floats = NDArray[np.float64]
State = Literal["best", "racing", "undecided", "below"]
_PLACES = ("best", "racing", "undecided", "below")


class Standing(Model):
    """A strategy in a race.

    Attributes:
        state: "best" if all others are below; "racing" if its next seed is needed; "undecided" if
            it may be the best and has no more seeds to run.
        seeds: how many of its runs are in the race.
        mean: of its scores in the race; None before the first round.
        other: the strategy it is below, or else the leader when it was last compared.
        e: the largest e-value of this pair so far.
        difference: to `other`, mean over the seeds that both have.
        low, high: its interval; together those of all pairs are right in 95% of races, at any time.
    """

    strategy: str
    state: State
    seeds: int
    mean: float | None = None
    other: str | None = None
    e: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None


class Race(Model):
    """A race.

    `standings` has the best mean first; `left_out` the tasks without a score, and why.
    """

    planned: int
    standings: tuple[Standing, ...]
    left_out: dict[str, str] = {}

    @property
    def share(self) -> float:
        """The share of the planned runs that are in the race."""
        return sum(one.seeds for one in self.standings) / (self.planned * len(self.standings))


def log_e_value(mean: Floats, squares: Floats, freedom: int, n: int) -> Floats:
    """Log of the e-value against a mean difference of 0.

    Args:
        mean: of n differences.
        squares: sum of squares with the variance of a difference and `freedom` degrees of freedom.
    """
    spread = 1 + n * SPREAD
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (squares + n * mean**2) / (squares + n * mean**2 / spread)
    ratio = np.where(np.isnan(ratio), 1.0, ratio)  # no difference at any seed
    return np.asarray((freedom + 1) / 2 * np.log(ratio) - np.log(spread) / 2)


def reach(threshold: float, freedom: int, n: int) -> float:
    """The least n * mean^2 / squares whose e-value is at the threshold; infinite if none is."""
    spread = 1 + n * SPREAD
    log_ratio = 2 / (freedom + 1) * (math.log(threshold) + math.log(spread) / 2)
    if log_ratio >= math.log(spread):
        return math.inf
    ratio = math.exp(log_ratio)
    return (ratio - 1) / (1 - ratio / spread)


def least_seeds(strategies: int) -> int:
    """The least number of seeds that can decide a pair in a race of so many strategies."""
    threshold, n = math.comb(strategies, 2) / LEVEL, WARM_UP
    while math.isinf(reach(threshold, _freedom(n, strategies), n)):
        n += 1
    return n


def run_race(scores: Mapping[str, Sequence[float]], planned: int) -> Race:
    """The race of these strategies, from its start to the last round whose results are known.

    Args:
        scores: by strategy, its scores in the order of rounds. Those after its stop are not used.
        planned: the number of rounds, if nothing stops.
    """
    names, k = list(scores), len(scores)
    pairs = _Pairs(k)
    rows = np.full((planned, k), np.nan)
    racing, seeds = set(range(k)), [0] * k
    leader: dict[int, int] = {}
    below: dict[int, int] = {}
    for n in range(1, planned + 1):
        if len(racing) < 2 or any(len(scores[names[i]]) < n for i in racing):
            break
        for i in racing:
            rows[n - 1, i], seeds[i] = scores[names[i]][n - 1], n
        if n < WARM_UP:
            continue
        pairs.look(rows[:n], racing)
        below = pairs.below()
        racing -= below.keys()
        if racing:
            first = max(racing, key=lambda i: float(rows[:n, i].mean()))
            others = racing - {first}
            leader |= dict.fromkeys(others, first)
            leader.pop(first, None)
            racing -= {i for i in others if pairs.is_futile(i, first, planned)}
    if len(racing) == 1:
        racing = set()
    standings = []
    for i, name in enumerate(names):
        state: State = "below" if i in below else "racing" if i in racing else "undecided"
        if state == "undecided" and len(below) == k - 1:
            state = "best"
        other = None if state == "best" else below.get(i, leader.get(i))
        mean = float(rows[: seeds[i], i].mean()) if seeds[i] else None
        compared = {} if other is None else {"other": names[other], **pairs.figures(i, other)}
        one = Standing(strategy=name, state=state, seeds=seeds[i], mean=mean)
        standings.append(one.model_copy(update=compared))
    standings.sort(key=lambda one: (_PLACES.index(one.state), -one.seeds, -(one.mean or 0.0)))
    return Race(planned=planned, standings=tuple(standings))


def simulated_share(means: Sequence[float], planned: int, rng: np.random.Generator) -> float:
    """The share of the planned runs that races with these true means run, over 100 races.

    The standard deviation of a difference at one seed is 1.
    """
    shares = []
    for _ in range(100):
        drawn = np.array(means) + rng.normal(size=(planned, len(means))) / math.sqrt(2)
        scores = {str(i): of.tolist() for i, of in enumerate(drawn.T)}
        shares.append(run_race(scores, planned).share)
    return float(np.mean(shares))


def _freedom(n: int, strategies: int) -> int:
    return n - 1 + (WARM_UP - 1) * (strategies - 2)


class _Pairs:
    """The e-processes of all pairs: matrices, in which [i, j] is about strategy i minus j."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._n = np.zeros((k, k), dtype=int)
        self._mean, self._squares, self._sign = np.zeros((3, k, k))
        self._log_e = np.full((k, k), -np.inf)

    def look(self, rows: Floats, racing: set[int]) -> None:
        """Add a round: all scores so far, seeds x strategies, and the strategies that have all."""
        n, is_racing = len(rows), np.isin(np.arange(self._k), list(racing))
        both = np.logical_and.outer(is_racing, is_racing) & ~np.eye(self._k, dtype=bool)
        differences = rows[:, :, None] - rows[:, None, :]
        mean, warm = differences.mean(axis=0), rows[:WARM_UP]
        rest = warm - warm.mean(axis=0) - warm.mean(axis=1, keepdims=True) + warm.mean()
        squares = np.maximum(0.0, (
            ((differences - mean) ** 2).sum(axis=0)
            + 2 * np.sum(rest**2)  # of all strategies, less what this pair has counted already
            - differences[:WARM_UP].var(axis=0) * WARM_UP
        ))  # fmt: skip
        self._n[both], self._mean[both], self._squares[both] = n, mean[both], squares[both]
        log_e = log_e_value(mean, squares, _freedom(n, self._k), n)
        more = both & (log_e > self._log_e)
        self._log_e[more], self._sign[more] = log_e[more], np.sign(mean[more])

    def below(self) -> dict[int, int]:
        """The strategies that are below another one, each with the one of most evidence."""
        found: dict[int, int] = {}
        for i, j in self._decided():
            low, high = (i, j) if self._sign[i, j] < 0 else (j, i)
            if low not in found or self._log_e[low, high] > self._log_e[low, found[low]]:
                found[low] = high
        return found

    def is_futile(self, i: int, j: int, planned: int) -> bool:
        """True if the seeds left are unlikely to decide this pair.

        The mean of all seeds is predicted from those so far, with their variance and a flat prior;
        earlier rounds, which might also decide, are not counted.
        """
        from scipy import stats

        n, last = int(self._n[i, j]), _freedom(planned, self._k)
        left, freedom = planned - n, _freedom(n, self._k)
        threshold = (math.comb(self._k, 2) - len(self._decided())) / LEVEL
        needed = reach(threshold, last, planned)
        if left == 0 or math.isinf(needed):
            return True
        deviation = math.sqrt(self._squares[i, j] / freedom)
        if deviation == 0:
            return bool(self._mean[i, j] == 0)
        effect = abs(self._mean[i, j]) / deviation
        least, scale = math.sqrt(needed * last / planned), math.sqrt(left / (n * planned))
        chance = stats.t.sf([(least - effect) / scale, (least + effect) / scale], freedom).sum()
        return bool(chance < FUTILE)

    def figures(self, i: int, j: int) -> dict[str, float | None]:
        """The e-value and the difference of i minus j, with its interval."""
        n, mean = int(self._n[i, j]), float(self._mean[i, j])
        most = reach(math.comb(self._k, 2) / LEVEL, _freedom(n, self._k), n)
        half = math.sqrt(most * self._squares[i, j] / n) if math.isfinite(most) else None
        return {
            "e": math.exp(min(700.0, self._log_e[i, j])),
            "difference": mean,
            "low": None if half is None else mean - half,
            "high": None if half is None else mean + half,
        }

    def _decided(self) -> list[tuple[int, int]]:
        pairs = [(i, j) for i in range(self._k) for j in range(i)]
        adjusted = holm([min(1.0, math.exp(-self._log_e[pair])) for pair in pairs])
        return [pair for pair, p in zip(pairs, adjusted, strict=True) if (p or 0.0) <= LEVEL]
