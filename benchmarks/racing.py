"""Simulated races with a known truth: false claims, compute, and what they find.

    python -m benchmarks.racing [STUDIES]

Means and noise are in standard deviations of a difference between two strategies at one seed. Each
study is also evaluated without racing: the paired t test with all seeds, Holm over all pairs.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import print_table, write_results
from dataenvgym.studies.racing import run_race
from dataenvgym.studies.statistics import LEVEL, holm, paired_t

Floats = NDArray[np.float64]
MEASURED = (0.196, 0.227, 0.242, 0.233, 0.238, 0.228, 0.224, 0.216, 0.207)
"""Mean gains of the nine strategies of the README's study."""
SD = 0.021
"""Median standard deviation of their differences to random at a seed (docs/figures.md)."""


@dataclass(frozen=True)
class Truth:
    """The true scores and noise of simulated studies.

    Attributes:
        noise: draws seeds x strategies, independent and with variance 1.
        scale: of the noise, by strategy.
        shared: standard deviation of what all strategies of a seed have in common.
    """

    name: str
    means: Sequence[float]
    noise: Callable[[np.random.Generator, tuple[int, int]], Floats] = lambda rng, shape: rng.normal(
        size=shape
    )
    scale: Sequence[float] | float = 1.0
    shared: float = 1.0

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        shape = (n, len(self.means))
        own = self.noise(rng, shape) * self.scale / np.sqrt(2)
        seeds = self.shared * rng.normal(size=(n, 1))
        return np.asarray(np.array(self.means) + seeds + own)


def heavy(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Student's t with 3 degrees of freedom."""
    return rng.standard_t(3, size=shape) / np.sqrt(3)


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Exponential: now and then a seed is much better."""
    return rng.exponential(size=shape) - 1


def coarse(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Few problems: only -1, 0 and 1, and many ties."""
    return rng.choice([-1.0, 0.0, 1.0], p=[0.25, 0.5, 0.25], size=shape) * np.sqrt(2)


EQUAL = (0.0,) * 5
TRUTHS = (
    Truth("all equal", EQUAL),
    Truth("one best by 1.5", (0, 0, 0, 0, 1.5)),
    Truth("one best by 3", (0, 0, 0, 0, 3)),
    Truth("one worst by 2", (-2, 0, 0, 0, 0)),
    Truth("steps of 2", (0, 2, 4, 6, 8)),
    Truth("as measured (9)", tuple(gain / SD for gain in MEASURED)),
    Truth("nearly equal", (0, 0.01, 0.02, 0.03, 0.04)),
    Truth("equal, heavy tails", EQUAL, heavy),
    Truth("steps of 2, heavy tails", (0, 2, 4, 6, 8), heavy),
    Truth("equal, skewed", EQUAL, skewed),
    Truth("equal, coarse scores", EQUAL, coarse),
    Truth("equal, seeds differ x 10", EQUAL, shared=10.0),
    Truth("equal, noise 1 to 3", EQUAL, scale=(1, 1.5, 2, 2.5, 3)),
    Truth("equal, one of noise 3", EQUAL, scale=(1, 1, 1, 1, 3)),
)


def fixed(scores: Floats) -> list[tuple[int, int]]:
    """Pairs (below, above) that the paired t test with all seeds tells apart, Holm-corrected."""
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    differences = [scores[:, i] - scores[:, j] for i, j in pairs]
    adjusted = holm([paired_t(d.tolist()) for d in differences])
    return [
        pair if d.mean() < 0 else (pair[1], pair[0])
        for pair, d, p in zip(pairs, differences, adjusted, strict=True)
        if p is not None and p <= LEVEL
    ]


def simulate(truth: Truth, n: int, n_studies: int, rng: np.random.Generator) -> dict[str, object]:
    """One row of the table."""
    means, k = truth.means, len(truth.means)
    best = max(range(k), key=lambda i: means[i])
    worse = [i for i in range(k) if means[i] < means[best]]
    false = compute = lost = found = claimed = false_fixed = found_fixed = 0.0
    for _ in range(n_studies):
        scores = truth.draw(n, rng)
        race = run_race({str(i): of.tolist() for i, of in enumerate(scores.T)}, n)
        below = {int(o.strategy): int(o.other or 0)
                 for o in race.standings if o.state == "below"}  # fmt: skip
        false += any(means[i] >= means[j] for i, j in below.items())
        lost += any(means[i] == means[best] for i in below)
        compute += race.share
        found += sum(i in below for i in worse) / max(1, len(worse))
        claimed += int(
            race.standings[0].state == "best" and race.standings[0].strategy == str(best)
        )
        tested = fixed(scores)
        false_fixed += any(means[i] >= means[j] for i, j in tested)
        found_fixed += len({i for i, _ in tested} & {*worse}) / max(1, len(worse))
    shares = {
        "false claims": false,
        "best lost": lost,
        "compute": compute,
        "found": found,
        "best claimed": claimed,
        "all seeds: false": false_fixed,
        "all seeds: found": found_fixed,
    }
    return {"truth": truth.name, "seeds": n} | {k: v / n_studies for k, v in shares.items()}


def main(arguments: Sequence[str]) -> None:
    n_studies = int(arguments[0]) if arguments else 1000
    rows = [
        simulate(truth, n, n_studies, np.random.default_rng(0))
        for n in (10, 20)
        for truth in TRUTHS
    ]
    print_table(rows)
    write_results("racing", {"studies": n_studies, "rows": rows})


if __name__ == "__main__":
    main(sys.argv[1:])
