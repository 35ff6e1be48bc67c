"""Further files of an iteration of `SkillTree`.

    iterations/NNN/
        action.json       the agent's action
        plan.json         the forest after the action: the engine's order
        engine.json       the engine's state after it wrote, if it has a state
        submitted.jsonl   the engine's records (see `iterations`), written after the files above
        trained.jsonl     the student's answers to a sample of the records it was trained on
        forest.json       the forest after the iteration

Iteration 000 has only the forest.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.environments.jsonl_files import read_completed, write_completed
from dataenvgym.environments.skill_tree.actions import TreeAction
from dataenvgym.environments.skill_tree.forest import Forest
from dataenvgym.environments.states import read_state
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

    def write_action(self, action: TreeAction) -> None:
        self._write("action.json", _ACTION.dump_python(action, mode="json"))

    def read_plan(self) -> Forest:
        """The forest after the action.

        Raises:
            RunDirectoryError: if the file is missing.
        """
        path = self.directory / "plan.json"
        if not path.exists():
            raise RunDirectoryError(f"{path} is missing; {self._marks.way_out}")
        return Forest.model_validate(read_json(path))

    def write_plan(self, forest: Forest) -> None:
        self._write("plan.json", forest.model_dump(mode="json"))

    def read_engine(self) -> dict[str, Any]:
        """The state of an engine that has one.

        Raises:
            RunDirectoryError: if the file is missing or damaged.
        """
        return read_state(self.directory / "engine.json")

    def write_engine(self, state: Any) -> None:
        self._write("engine.json", state)

    def read_trained(self) -> list[CompletedTaskInstance] | None:
        """The answers to training records, or None before they were asked."""
        path = self.directory / "trained.jsonl"
        return read_completed(path) if path.exists() else None

    def write_trained(self, completed: list[CompletedTaskInstance]) -> None:
        with self._marks.replacing("trained.jsonl") as path:
            write_completed(path, completed)

    def read_forest(self) -> Forest | None:
        """The forest after the iteration, or None if there is none."""
        path = self.directory / "forest.json"
        return Forest.model_validate(read_json(path)) if path.exists() else None

    def needed_forest(self) -> Forest:
        """The forest after the iteration.

        Raises:
            RunDirectoryError: if the file is missing.
        """
        if (forest := self.read_forest()) is None:
            raise RunDirectoryError(
                f"{self.directory} is finished but has no forest.json; "
                "restore it, or start the run over"
            )
        return forest

    def write_forest(self, forest: Forest) -> None:
        self._write("forest.json", forest.model_dump(mode="json"))

    def _write(self, name: str, value: Any) -> None:
        with self._marks.replacing(name) as path:
            write_json(path, value)
