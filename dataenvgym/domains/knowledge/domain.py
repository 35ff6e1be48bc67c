"""The domain of knowledge: short answers, compared with gold answers or judged by a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import get_args

from dataenvgym.domains.knowledge.environment import (
    GradedBy,
    KnowledgeEnvironment,
    exact_match,
    golds_of,
    normalized,
)
from dataenvgym.errors import check_one_of
from dataenvgym.records import TaskInstance
from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate


class KnowledgeDomain(Domain):
    """Questions with short answers.

    Args:
        graded_by: see `KnowledgeEnvironment`.
    """

    def __init__(
        self, prompt_template: PromptTemplate = PLAIN, *, graded_by: GradedBy = "exact_match"
    ) -> None:
        check_one_of(get_args(GradedBy), graded_by=graded_by)
        self.prompt_template = prompt_template
        self.asks_others = graded_by == "judge"
        self._make = partial(
            KnowledgeEnvironment,
            graded_by=graded_by,
            system_prompt=prompt_template.system,
            template=prompt_template.template,
        )

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> KnowledgeEnvironment:
        return self._make(instances)

    def judge(self, instance: TaskInstance, reply: str) -> bool:
        """Whether the reply is one of the gold answers; no model is asked."""
        said = said_in(reply)
        return bool(normalized(said)) and exact_match(said, golds_of(instance))

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The normalized answer; None if nothing is left of it."""
        return normalized(said_in(reply)) or None

    def overlap_answer(self, instance: TaskInstance) -> str | None:
        """None: the passage, which is there to be learned, has the answers in its words."""
        return None

    def gold_errors(self, instances: Sequence[TaskInstance]) -> Sequence[str | None]:
        """Gold answers of which normalization leaves nothing, which any answer would miss."""
        return [
            None
            if any(map(normalized, golds_of(instance)))
            else f"its gold answers, {golds_of(instance)!r:.200}, have no word that counts"
            for instance in instances
        ]

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        yield from golds_of(instance)
