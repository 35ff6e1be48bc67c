"""Transitions of a forest: pure functions, in the order of a step.

    plant(report)                         a tree for each skill, none opened
    apply_action(forest, action, names)   new subskills are opened, allocations change
    apply_results(forest, results)        made records are counted, accuracies are updated

Between the second and the third, the environment makes records and trains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dataenvgym.environments.skill_tree.actions import Exploit, Explore, TreeAction
from dataenvgym.environments.skill_tree.forest import Forest, Subskill, Tree
from dataenvgym.records import CompletedTaskInstance, PerformanceReport

Key = tuple[str, str]
"""A subskill of the forest: (skill, name)."""


@dataclass(frozen=True)
class Accuracies:
    """Shares of right answers in [0, 1]; None, or no entry, if nothing was asked."""

    skills: Mapping[str, float | None] = field(default_factory=dict)
    subskills: Mapping[Key, float | None] = field(default_factory=dict)


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
        skills={skill: sum(rights) / len(rights) for skill, rights in skills.items()},
        subskills={
            **(every if told_apart else {}),
            **{key: sum(rights) / len(rights) for key, rights in subskills.items()},
        },
    )


@dataclass(frozen=True)
class Results:
    """The result of a step.

    Attributes:
        made: records trained on, by subskill.
        validation, untaught, training: accuracies, as in `Subskill`.
    """

    made: Mapping[Key, int] = field(default_factory=dict)
    validation: Accuracies = field(default_factory=Accuracies)
    untaught: Accuracies = field(default_factory=Accuracies)
    training: Accuracies = field(default_factory=Accuracies)


def plant(report: PerformanceReport, before: Forest | None = None) -> Forest:
    """Plant a tree for each skill of the report, with the subskills that it has in `before`.

    Instances without a skill have no tree.
    """
    trees = {tree.skill: tree for tree in before.trees} if before else {}
    for skill in report.skills:
        if skill.skill:
            trees.setdefault(skill.skill, Tree(skill=skill.skill, category=skill.category))
    return Forest(trees=tuple(trees.values()))


def apply_action(forest: Forest, action: TreeAction, names: Mapping[str, Sequence[str]]) -> Forest:
    """Apply an action to the forest.

    Args:
        action: an action that `parse_tree_action` accepted.
        names: for each explored skill, the new subskills that the engine proposed. Surplus names
            and names of open subskills are ignored.
    """
    moves = {move.skill: move for move in action}
    trees = []
    for tree in forest.trees:
        move = moves.get(tree.skill)
        changes: dict[str, Any] = {"last_move": move and move.kind}
        match move:
            case Explore():
                known = {subskill.name for subskill in tree.subskills}
                new = [n for n in dict.fromkeys(names.get(tree.skill, ())) if n not in known]
                opened = [Subskill(name=n, allocation=move.records_each) for n in new]
                changes["subskills"] = (*tree.subskills, *opened[: move.subskills])
                changes["is_complete"] = len(new) < move.subskills
            case Exploit():
                allocations = (s.allocation + move.changes.get(s.name, 0) for s in tree.subskills)
                changes["subskills"] = tuple(
                    s.model_copy(update={"allocation": max(0, n)})
                    for s, n in zip(tree.subskills, allocations, strict=True)
                )
        trees.append(tree.model_copy(update=changes))
    return Forest(trees=tuple(trees))


def apply_results(forest: Forest, results: Results) -> Forest:
    """Add the made records and the accuracies of `results` to the forest.

    A subskill without its own validation accuracy in `results` gets its skill's.
    """
    trees = []
    for tree in forest.trees:
        overall = results.validation.skills.get(tree.skill)
        subskills = []
        for s in tree.subskills:
            key = tree.skill, s.name
            changes = {
                "generated": s.generated + results.made.get(key, 0),
                "val_accuracy": results.validation.subskills.get(key, overall),
                "untaught_accuracy": results.untaught.subskills.get(key),
                "train_accuracy": results.training.subskills.get(key),
            }
            subskills.append(s.model_copy(update=changes))
        before = tree.val_accuracy
        update = {
            "subskills": tuple(subskills),
            "reward": None if overall is None or before is None else overall - before,
            "val_accuracy": overall,
            "untaught_accuracy": results.untaught.skills.get(tree.skill),
            "train_accuracy": results.training.skills.get(tree.skill),
        }
        trees.append(tree.model_copy(update=update))
    return Forest(trees=tuple(trees))
