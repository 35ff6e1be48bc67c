"""The gate: refuses a trained student that has forgotten more than chance explains.

The problems that both students were scored on are compared in pairs, before and after the training:
those of each held skill, and all of them together. `loss_p` is the exact one-sided paired
permutation test of their mean reward; for rewards of 0 and 1 it is McNemar's exact test. It holds
if, without a real change, each problem gets better as often as worse by the same amount, as with
answers that vary from training to training. Tarone's correction keeps the probability of a false
refusal in an iteration at or below the level, and does not count skills in which too few answers
changed to show anything (Tarone, Biometrics 46, 1990).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from dataenvgym.records import CompletedTaskInstance, Refusal

_STEPS = 100
"""Differences are rounded to this many steps of the largest one, so that their sums can be counted;
differences of 0 and 1 stay exact."""
_ALL = ""
"""The key of all held problems together, also of those without a skill."""


def refusal(
    before: Sequence[CompletedTaskInstance],
    after: Sequence[CompletedTaskInstance],
    level: float,
    taught: Collection[str | None] = (),
) -> Refusal | None:
    """Compare a student's answers before and after a training; None lets it pass.

    Problems that were not scored on either side because of an error do not count.

    Args:
        level: the largest probability of a refusal by chance, in (0, 1).
        taught: skills that are not held.
    """
    rewards = {c.instance.id: c.reward for c in before if c.error is None}
    changes: defaultdict[str, list[float]] = defaultdict(list)
    for c in after:
        skill = c.instance.skill or _ALL
        if c.error is None and c.instance.id in rewards and (not skill or skill not in taught):
            for group in dict.fromkeys((skill, _ALL)):
                changes[group].append(c.reward - rewards[c.instance.id])
    if len(changes) == 2 and len({*map(len, changes.values())}) == 1:
        del changes[_ALL]  # a single skill: the same problems would be tested twice
    return worse_than_chance(changes, level)


def worse_than_chance(changes: Mapping[str, Sequence[float]], level: float) -> Refusal | None:
    """Test each group of changes in reward; None if none of them got worse.

    Args:
        changes: by skill; under "" those of all problems together.
        level: of all tests together.
    """
    found = {skill: loss_p(group) for skill, group in changes.items()}
    # the smallest factor that covers all tests which could reach the corrected level
    factor = next(k for k in range(1, len(found) + 2)
                  if sum(least <= level / k for _, least in found.values()) <= k)  # fmt: skip
    worse = sorted((p, skill) for skill, (p, _) in found.items() if p <= level / factor)
    if not worse:
        return None
    skills = tuple(skill for _, skill in worse if skill)
    lost = [change for skill in skills or (_ALL,) for change in changes[skill]]
    return Refusal(skills=skills, drop=-float(np.mean(lost)), p=worse[0][0] * factor)


def loss_p(changes: Sequence[float]) -> tuple[float, float]:
    """The p of the mean change being this low by chance, and the least p that it could have.

    Args:
        changes: reward after minus before, for each problem.
    """
    largest = max((abs(change) for change in changes), default=0.0)
    steps = np.rint(np.array(changes) / (largest or 1.0) * _STEPS).astype(int)
    steps = steps[steps != 0]
    if not len(steps):
        return 1.0, 1.0
    steps //= np.gcd.reduce(steps)
    # chances[i]: of the signs being such that the gains add up to i
    chances = np.zeros(int(np.abs(steps).sum()) + 1)
    chances[0] = 1.0
    for step in np.abs(steps):
        moved = np.concatenate([np.zeros(step), chances[:-step]])
        chances = (chances + moved) / 2
    gains = int(steps[steps > 0].sum())
    return float(chances[: gains + 1].sum()), 0.5 ** len(steps)
