"""The domain of procedural scenes: it knows the gold replies, and judges records on its scenes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.tasks.claims import Claim, all_hold, claims_of
from dataenvgym.tasks.social.domain import SocialDomain
from dataenvgym.tasks.social.procedural import ProceduralScenes
from dataenvgym.tasks.social.procedural_problem import TURN_LIMIT
from dataenvgym.tasks.social.turns import Rules

_LONG = re.compile(r"(?:^|\n\n)([^\n]+)\n\nYour goal: ([^\n]+)(?:\n|$)")


class ProceduralDomain(SocialDomain):
    """Scenes of a family, which it can play by itself, so that it judges records on them.

    Args:
        family: that the scenes belong to.
        rules, options: see `SocialDomain`.
    """

    def __init__(self, family: ProceduralScenes, rules: Rules | None = None, **options: Any):
        super().__init__(rules or Rules(turn_limit=TURN_LIMIT), **options)
        self._family = family

    @property
    def family(self) -> ProceduralScenes:
        """Whose exercises can be written."""
        return self._family

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """What earns the whole goal score."""
        found = self._family.find(instance.instruction)
        yield from super().gold_replies(instance) if found is None else found[0].replies

    def answer_given(self, completed: CompletedTaskInstance) -> str | None:
        """All that the student said."""
        said = [m.content for m in completed.transcript if m.role == "assistant"]
        return "\n".join(said) or None

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The scene of the family that a conversation begins with, or None."""
        prompt = record.conversation if isinstance(record, ChatDatum) else record.prompt
        problem = self._problem_in(prompt)
        id = record.provenance.id
        return problem.model_copy(update={"id": id}) if problem and id else problem

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether what a record has the student say reaches the goal; None if that is unknown."""
        return all_hold([claim.holds(self._reaches_goal(claim)) for claim in claims_of(record)])

    def overlap_key(self, text: str) -> str:
        """Two scenes on the same operands are the same; without any, the same words."""
        if text.startswith(("[", "(")):  # something that happens in a scene
            return super().overlap_key(text)
        found = self._family.operands_in(self._question_in(text))
        return " ".join(sorted(found)) or super().overlap_key(text)

    def _reaches_goal(self, claim: Claim) -> bool | None:
        problem = self._problem_in(claim.prompt)
        if problem is None or self.asks_model(problem):
            return None
        replies = [m.content for m in claim.prompt if m.role == "assistant"]
        with closing(self.make_environment()) as environment:
            environment.reset(seed=0, options={"instance": problem})
            for reply in (*replies, claim.answer):
                *_, done, truncated, info = environment.step(reply)
                if done or truncated:
                    return bool(info["was_correct"])
        return False

    def _problem_in(self, prompt: Conversation) -> TaskInstance | None:
        asked = next((m.content for m in prompt if m.role == "user"), "")
        question = self._question_in(asked)
        if (found := self._family.find(question)) is None:
            return None
        return TaskInstance(
            id="record",
            task=self._family.name,
            instruction=question,
            skill=found[0].skill.name,
            **self._family.instance_fields(found[0], question),
        )

    def _question_in(self, text: str) -> str:
        """The question in a user message, without what has happened in the scene."""
        opening = self.prompt_template.instruction_in(text)
        if found := _LONG.search(opening):
            return f"{found[1]} {found[2]}"
        return opening.split("\n\n")[0]
