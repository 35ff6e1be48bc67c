"""A tree policy that asks a teacher, skill by skill, whether to explore or exploit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import JsonValue

from dataenvgym.agents.tree.policies import AlternatingPolicy
from dataenvgym.agents.tree.situation import TreePolicy, TreeSituation, TreeStep, within_budget
from dataenvgym.environments.skill_tree.actions import (
    Exploit,
    Explore,
    TreeAction,
    parse_tree_action,
)
from dataenvgym.environments.skill_tree.forest import Forest, Tree
from dataenvgym.errors import InvalidActionError
from dataenvgym.interfaces import SamplingParameters, TeacherInterface
from dataenvgym.teachers.budget import count_malformed
from dataenvgym.teachers.prompts import PromptLike, as_prompt
from dataenvgym.teachers.structured import TEXT, Schema, ask_json, object_of

SCHEMA: Schema = {
    "anyOf": [
        object_of(
            action={**TEXT, "enum": ["explore"]},
            subskills={"type": "integer", "minimum": 1},
            records={"type": "integer", "minimum": 0},
        ),
        object_of(action={**TEXT, "enum": ["exploit"]}, changes={"type": "object"}),
    ]
}


@dataclass(eq=False)
class LLMTreePolicy:
    """A teacher decides on each skill; it sees the tree and the results of earlier decisions.

    After an unusable answer or a failed call, `fallback` decides.

    Args:
        teacher: the model that decides.
        prompt: has `{skill}` and `{tree}`, and may have `{budget}` and `{history}`; one of our
            names, a mapping, or a `Prompt`.
        fallback: decides where the teacher does not; None is `AlternatingPolicy`.
        temperature, max_tokens: of the teacher's answers.

    Attributes:
        remembered: the most earlier decisions on a skill that the teacher sees.
        n_fallbacks: the number of decisions that `fallback` made so far.
    """

    teacher: TeacherInterface
    prompt: PromptLike = "explore_exploit"
    _: KW_ONLY
    fallback: TreePolicy | None = None
    temperature: float = 0.0
    max_tokens: int = 512
    remembered: ClassVar[int] = 5

    def __post_init__(self) -> None:
        names = {"needs": ("skill", "tree"), "may": ("budget", "history")}
        self._question = as_prompt(self.prompt, **names)
        self._fallback = AlternatingPolicy() if self.fallback is None else self.fallback
        self._sampling = SamplingParameters(
            temperature=self.temperature, max_tokens=self.max_tokens
        )
        self.n_fallbacks = 0

    def act(self, situation: TreeSituation, count: int, rng: np.random.Generator) -> TreeAction:
        forest = situation.forest
        if not forest.trees:
            return ()
        budget = count // len(forest.trees)
        asked = [
            self._question.render(
                skill=tree.skill,
                tree=shown_tree(tree),
                budget=budget,
                history="\n".join(self._remembered(tree.skill, situation.history)),
            )
            for tree in forest.trees
        ]
        sampling = self._sampling.model_copy(update={"seed": int(rng.integers(2**31))})
        answers = ask_json(self.teacher, asked, SCHEMA, sampling, purpose="actions")
        instead = {move.skill: move for move in self._fallback.act(situation, count, rng)}
        moves: list[Explore | Exploit] = []
        for tree, answer in zip(forest.trees, answers, strict=True):
            move = self._move(tree, answer, forest)
            if move is None:
                self.n_fallbacks += 1
                move = instead.get(tree.skill)
            if move is not None:
                moves.append(move)
        return within_budget(forest, tuple(moves), count)

    def state_dict(self) -> dict[str, JsonValue]:
        """The number of fallbacks."""
        return {"n_fallbacks": self.n_fallbacks}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        n_fallbacks = state["n_fallbacks"]
        assert isinstance(n_fallbacks, int)
        self.n_fallbacks = n_fallbacks

    def _remembered(self, skill: str, history: Sequence[TreeStep]) -> list[str]:
        """A line for each of the last decisions on the skill."""
        lines = []
        for step in history:
            if (move := step.move(skill)) is None:
                continue
            if isinstance(move, Explore):
                said = f"explored {move.subskills} subskills with {move.records_each} records each"
            else:
                changes = (f"{name} {by:+d}" for name, by in move.changes.items() if by)
                said = f"exploited: {', '.join(changes) or 'no change'}"
            if (reward := step.rewards.get(skill)) is not None:
                said += f"; reward {100 * reward:+.0f} points"
            accuracy = _percent(step.accuracies.get(skill))
            lines.append(f"Iteration {step.iteration}, accuracy {accuracy} before: {said}")
        return lines[-self.remembered :]

    def _move(self, tree: Tree, answer: Any | None, forest: Forest) -> Explore | Exploit | None:
        """Parse an answer as a move; None if the move is impossible."""
        if answer is None:
            return None
        chosen = {"changes": answer.get("changes")}
        if answer["action"] == "explore":
            chosen = {"subskills": answer["subskills"], "records_each": answer["records"]}
        value = {"kind": answer["action"], "skill": tree.skill, **chosen}
        try:
            (move,) = parse_tree_action([value], forest)
        except InvalidActionError:
            count_malformed(self.teacher)
            return None
        return move


def shown_tree(tree: Tree) -> str:
    """Render the tree for a language model."""
    head = f"{tree.skill}: accuracy {_percent(tree.val_accuracy)}"
    if tree.last_move and tree.reward is not None:
        head += f" (the last step was to {tree.last_move}, and changed it by {tree.reward:+.0%})"
    if not tree.subskills:
        return f"{head}, no subskills yet" + (", and there are none" if tree.is_complete else "")
    lines = [
        f"- {s.name}: {s.allocation} records in each step, {s.generated} made so far, accuracy "
        f"{_percent(s.val_accuracy)}, on its newest records before they were trained on "
        f"{_percent(s.untaught_accuracy)}, on all its training records {_percent(s.train_accuracy)}"
        for s in tree.subskills
    ]
    return "\n".join([f"{head}{', no further subskills' if tree.is_complete else ''}", *lines])


def _percent(accuracy: float | None) -> str:
    return "unknown" if accuracy is None else f"{accuracy:.0%}"
