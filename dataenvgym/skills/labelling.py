"""Completed instances with the skills that a run has found, in place of their gold ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dataenvgym.interfaces import SkillLabel, SkillLabelerInterface
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.skills.added import labels_of, read_added
from dataenvgym.skills.catalog import read_catalog


def labelled(
    completed: Sequence[CompletedTaskInstance], labeler: SkillLabelerInterface
) -> list[CompletedTaskInstance]:
    """The same instances with the labeler's skills."""
    labels = labeler.label([c.instance for c in completed])
    return [_with(c, label) for c, label in zip(completed, labels, strict=True)]


def labelled_as_in_run(
    completed: Sequence[CompletedTaskInstance], directory: Path
) -> list[CompletedTaskInstance]:
    """The same instances with the skills that the run in `directory` knew them by.

    Those of a run without a skill catalog, and those that it never labelled, stay as they are.
    """
    if not (directory / "skills.json").exists():
        return list(completed)
    catalog = read_catalog(directory)
    labels = labels_of(read_added(directory, catalog).to(catalog))
    found = (labels.get((c.instance.id, c.instance.instruction)) for c in completed)
    return [c if x is None else _with(c, x) for c, x in zip(completed, found, strict=True)]


def _with(completed: CompletedTaskInstance, label: SkillLabel) -> CompletedTaskInstance:
    changes = {"skill": label.skill, "category": label.category}
    return completed.model_copy(update={"instance": completed.instance.model_copy(update=changes)})
