"""Which strategies a study tells apart: a paired test of each pair, and how stable the ranking is.

Strategies are compared by their mean score over tasks at each seed. Their runs at a seed share
problems, student and order, so a paired difference has less noise than the scores. Holm's
correction counts all pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from dataenvgym.metrics.estimators import Estimate, estimate
from dataenvgym.records import Model
from dataenvgym.studies.statistics import Test, holm, p_value

SeedScores = Mapping[str, Mapping[int, float]]
"""The scores of strategies: by name and seed."""
LEVEL = 0.05


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
    names, found = list(ranking(scores)), []
    for better, other in combinations(names, 2):
        shared = sorted(scores[better].keys() & scores[other].keys())
        found.append((better, other, [scores[better][s] - scores[other][s] for s in shared]))
    ps = [p_value(differences, test) for *_, differences in found]
    return tuple(
        Pair(better=better, other=other, difference=estimate(differences), p=p, p_holm=adjusted)
        for (better, other, differences), p, adjusted in zip(found, ps, holm(ps), strict=True)
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
    return None if tau != tau else tau
