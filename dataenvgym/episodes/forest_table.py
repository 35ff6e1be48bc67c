"""A forest as a table: one row for each subskill, under its skill."""

from __future__ import annotations

from collections.abc import Iterator

from dataenvgym.environments.skill_tree import Forest
from dataenvgym.episodes.texts import score

FOREST_COLUMNS = ("skill", "subskill", "allocation", "made", "validation", "training")


def forest_rows(forest: Forest) -> Iterator[tuple[object, ...]]:
    """The whole skill, then its subskills in the order in which they were opened."""
    for tree in forest.trees:
        accuracies = (score(tree.val_accuracy), score(tree.train_accuracy))
        yield (tree.skill, "(all)", tree.allocation, tree.generated, *accuracies)
        for s in tree.subskills:
            accuracies = (score(s.val_accuracy), score(s.train_accuracy))
            yield ("", s.name, s.allocation, s.generated, *accuracies)
