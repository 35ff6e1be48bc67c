"""Accuracies by skill and by subskill."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from dataenvgym.environments.skill_tree.forest import Forest
from dataenvgym.environments.skill_tree.transitions import Accuracies, Key
from dataenvgym.records import CompletedTaskInstance


def accuracies_of(
    completed: Sequence[CompletedTaskInstance],
    subskill_of: Callable[[CompletedTaskInstance], str | None],
    forest: Forest,
    *,
    told_apart: bool = True,
) -> Accuracies:
    """Compute shares of right answers by skill and by subskill, failed calls excluded.

    Args:
        subskill_of: returns the open subskill of its skill that an instance belongs to, or None.
        told_apart: if True, an open subskill without instances has no accuracy (None); if False,
            it is left out, and takes its skill's accuracy.
    """
    skills: defaultdict[str, list[bool]] = defaultdict(list)
    subskills: defaultdict[Key, list[bool]] = defaultdict(list)
    for c in completed:
        skill = c.instance.skill
        if c.error is None and skill is not None:
            skills[skill].append(c.was_correct)
            if (name := subskill_of(c)) is not None:
                subskills[skill, name].append(c.was_correct)
    every = {(t.skill, s.name): None for t in forest.trees for s in t.subskills}
    return Accuracies(
        skills={skill: _share(rights) for skill, rights in skills.items()},
        subskills={
            **(every if told_apart else {}),
            **{key: _share(rights) for key, rights in subskills.items()},
        },
    )


def _share(rights: Sequence[bool]) -> float:
    return sum(rights) / len(rights)
