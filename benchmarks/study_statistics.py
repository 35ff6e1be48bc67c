"""Simulated studies with a known truth: do intervals cover it, and is power as predicted?

    python -m benchmarks.study_statistics [STUDIES]

For intervals, scores are normal around the mean of their task, with a part that the strategies of a
seed share. Task means are evenly spaced from .3 to .7, standard deviations from .05 to .15.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.common import print_table, write_results
from dataenvgym.studies.aggregate import Interval, interquartile_interval, interquartile_mean
from dataenvgym.studies.aggregate import probability_of_improvement as improvement
from dataenvgym.studies.noise import NoiseModel, Variances, suite_sd
from dataenvgym.studies.statistics import (
    Test,
    compare_pairs,
    detectable_effect,
    holm,
    over_tasks,
    p_value,
    power,
)

SHARED = 0.5
"""Correlation of two strategies over seeds."""
EFFECT = 0.05
"""The difference of their means, on each task."""


def draw(n_tasks: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two strategies: tasks x seeds."""
    means = np.linspace(0.3, 0.7, n_tasks)[:, None]
    scale = np.linspace(0.05, 0.15, n_tasks)[:, None]
    shared, *own = rng.normal(size=(3, n_tasks, n))
    one, other = (np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * e for e in own)
    return means + EFFECT + scale * one, means + scale * other


def covers(found: Interval | None, value: float) -> bool:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low <= value <= found.high


def coverage(n_studies: int) -> list[dict[str, float]]:
    """The share of studies whose 95% interval has the true value, by numbers of tasks and seeds."""
    from scipy import stats

    rows = []
    rng = np.random.default_rng(0)
    for n_tasks in (2, 4, 10):
        iqm = float(interquartile_mean(draw(n_tasks, 100_000, rng)[0].ravel()))
        # two runs of different seeds share nothing
        effects = EFFECT / np.linspace(0.05, 0.15, n_tasks) / np.sqrt(2)
        for n in (3, 5, 10):
            # of all pairs of runs, 1 in n has the same seed, and with it a smaller variance
            same = stats.norm.cdf(effects / np.sqrt(1 - SHARED))
            chance = float(np.mean(same / n + stats.norm.cdf(effects) * (1 - 1 / n)))
            covered = [0, 0]
            for _ in range(n_studies):
                one, other = draw(n_tasks, n, rng)
                covered[0] += covers(interquartile_interval(list(one), rng), iqm)
                tables = [
                    {str(i): dict(enumerate(x)) for i, x in enumerate(s)} for s in (one, other)
                ]
                covered[1] += covers(improvement(tables[0], tables[1], rng), chance)
            rows.append({"tasks": n_tasks, "seeds": n, "IQM": covered[0] / n_studies,
                         "P(improvement)": covered[1] / n_studies})  # fmt: skip
    return rows


def power_found(n_studies: int) -> list[dict[str, float | str]]:
    """The share of studies that find a difference, and what `dataenvgym study --plan` predicts.

    One of the compared strategies differs from the baseline, by the smallest difference that is
    found with 80% power, or by two thirds of it.
    """
    rows: list[dict[str, float | str]] = []
    rng = np.random.default_rng(0)
    variances = Variances(seed=4e-4, problem=1e-3, residual=0.2, problems=400,
                          seed_correlation=0.5, problem_correlation=0.5)  # fmt: skip
    tests: tuple[Test, ...] = ("sign_flip", "t")
    for test, n, m in itertools.product(tests, (8, 10, 15, 30), (1, 4)):
        least = detectable_effect(n, comparisons=m, test=test) if test == "t" or n <= 15 else None
        for share in (1, 2 / 3) if least is not None else ():
            effect, found, falsely = share * (least or 0.0), 0, 0
            for _ in range(n_studies if n < 15 else n_studies // 2):
                # two strategies' differences to the baseline share its half of the variance
                noise = rng.normal(size=(m + 1, n)) * variances.sd(400) / np.sqrt(2)
                differences = noise[1:] - noise[0]
                differences[0] += effect * variances.sd(400)
                ps = holm([p_value(one.tolist(), test) for one in differences])
                found += (ps[0] or 0.0) <= 0.05
                falsely += any((p or 0.0) <= 0.05 for p in ps[1:])
            studies = n_studies if n < 15 else n_studies // 2
            rows.append({"test": test, "seeds": n, "comparisons": m,
                         "predicted": power(effect, n, comparisons=m, test=test),
                         "found": found / studies, "false claims": falsely / studies})  # fmt: skip
    return rows


DESIGNS = {
    "equal": (0, 0, 0, 0, 0),
    "one ahead": (1, 0, 0, 0, 0),
    "spread": (1, 0.75, 0.5, 0.25, 0),
}
"""True scores of five strategies, as shares of the largest difference."""


def pairs_found(n_studies: int) -> list[dict[str, float | str]]:
    """The pairs of five strategies that studies of a suite of ten tasks tell apart.

    The largest difference is the smallest that `dataenvgym study --plan` says is found with 80%
    power, or two thirds of it. A false claim is any pair told apart that is equal, or in the wrong
    order.
    """
    rows: list[dict[str, float | str]] = []
    rng = np.random.default_rng(0)
    variances = Variances(seed=4e-4, problem=1e-3, residual=0.2, problems=400,
                          seed_correlation=0.5, problem_correlation=0.5)  # fmt: skip
    model = NoiseModel(task="t", conditions={}, strategies=("a", "b"), seeds=10, seconds={},
                       variances={"area": variances}, ceiling=0.2)  # fmt: skip
    sd, own = suite_sd([model] * 10, [400] * 10) or 0.0, variances.sd(400) / 0.2 / np.sqrt(2)
    tests: tuple[tuple[Test, int], ...] = (("sign_flip", 10), ("sign_flip", 12), ("t", 30))
    for (test, n), (name, means), share in itertools.product(tests, DESIGNS.items(), (1, 2 / 3)):
        if name == "equal" and share < 1:
            continue
        effect = share * (detectable_effect(n, comparisons=10, test=test) or 0.0)
        truth = dict(zip("abcde", np.array(means) * effect * sd, strict=True))
        found, falsely, covered = 0, 0, 0
        for _ in range(n_studies):
            shared = rng.normal(0, 0.2, (10, n))
            noise = rng.normal(0, own, (5, 10, n))
            scores = {
                strategy: over_tasks({
                    str(i): dict(enumerate(one))
                    for i, one in enumerate((mean + shared + of).tolist())
                })
                for (strategy, mean), of in zip(truth.items(), noise, strict=True)
            }  # fmt: skip
            pairs = compare_pairs(scores, test)
            (ends,) = (pair for pair in pairs if {pair.better, pair.other} == {"a", "e"})
            difference = truth[ends.better] - truth[ends.other]
            found += ends.told_apart and difference > 0
            falsely += any(p.told_apart and truth[p.better] <= truth[p.other] for p in pairs)
            covered += abs((ends.difference.mean or 0.0) - difference) <= (
                ends.difference.half_width or 0.0
            )
        predicted = 0.0 if name == "equal" else power(effect, n, comparisons=10, test=test)
        rows.append({"test": test, "seeds": n, "design": name, "predicted": predicted,
                     "found": found / n_studies, "false claims": falsely / n_studies,
                     "coverage": covered / n_studies})  # fmt: skip
    return rows


def main(arguments: Sequence[str]) -> None:
    n_studies = int(arguments[0]) if arguments else 2000
    rows = coverage(n_studies)
    print_table(rows)
    powers = power_found(n_studies)
    print_table(powers)
    pairs = pairs_found(n_studies)
    print_table(pairs)
    found = {"studies": n_studies, "coverage": rows, "power": powers, "pairs": pairs}
    write_results("study_statistics", found)


if __name__ == "__main__":
    main(sys.argv[1:])
