"""Further files of an iteration of `SkillTree`.

    iterations/NNN/
        action.json       the agent's action
        plan.json         the forest after the action: the engine's order
        engine.json       the engine's state after it wrote, if it has a state
        records.jsonl     the engine's records (see `iterations`), written after the files above
        untaught.jsonl    its answers to a sample of them, before it was trained on them
        trained.jsonl     the student's answers to a sample of the records it was trained on
        forest.json       the forest after the iteration

Iteration 000 has only the forest.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from dataenvgym.environments.iterations import IterationFiles, read_completed, write_completed
from dataenvgym.environments.skill_tree.actions import TreeAction
from dataenvgym.environments.skill_tree.forest import Forest
from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.storage import read_json, write_json

_ACTION: TypeAdapter[TreeAction] = TypeAdapter(TreeAction)


class TreeFiles:
    """The files of one iteration that only `SkillTree` has."""

    def __init__(self, files: IterationFiles) -> None:
        self.directory = files.directory
        self._marks = files.marks

    def read_action(self) -> TreeAction | None:
        """The agent's action, or None if it has not acted yet."""
        path = self.directory / "action.json"
        return _ACTION.validate_python(read_json(path)) if path.exists() else None

    def read_plan(self) -> Forest:
        """The forest after the action; RunDirectoryError if its file is missing."""
        path = self.directory / "plan.json"
        if not path.exists():
            raise RunDirectoryError(f"{path} is missing; {self._marks.way_out}")
        return Forest.model_validate(read_json(path))

    def read_answers(self, name: str) -> list[CompletedTaskInstance] | None:
        """The answers to records, "untaught" or "trained"; None before they were asked."""
        path = self.directory / f"{name}.jsonl"
        return read_completed(path) if path.exists() else None

    def write_answers(self, name: str, completed: list[CompletedTaskInstance]) -> None:
        with self._marks.replacing(f"{name}.jsonl") as path:
            write_completed(path, completed)

    def read_forest(self) -> Forest | None:
        """The forest after the iteration, or None if there is none."""
        path = self.directory / "forest.json"
        return Forest.model_validate(read_json(path)) if path.exists() else None

    def write(self, name: str, value: Any) -> None:
        """Write a file of JSON, of models or not, and mark it."""
        value = value if isinstance(value, dict) else to_jsonable_python(value)
        with self._marks.replacing(name) as path:
            write_json(path, value)
