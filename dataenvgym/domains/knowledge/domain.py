"""The domain of knowledge: short answers, compared with gold answers or judged by a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dataenvgym.domains.knowledge.choice import read_choice
from dataenvgym.domains.knowledge.environment import (
    Given,
    Grader,
    KnowledgeEnvironment,
    golds_of,
    normalized,
)
from dataenvgym.domains.knowledge.instructions import instruction_checks
from dataenvgym.records import ChatDatum, SupervisedDatum, TaskInstance
from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate


class KnowledgeDomain(Domain):
    """Questions with short answers.

    Args:
        graded_by: see `KnowledgeEnvironment`.

    Attributes:
        alone: judges gold answers and records, without asking a model.
    """

    word_runs_identify = ("problem",)  # the passage, which is to be learned, has the answers
    alone: KnowledgeDomain

    def __init__(
        self, prompt_template: PromptTemplate = PLAIN, *, graded_by: Grader = "exact_match"
    ) -> None:
        self.prompt_template = prompt_template
        self.graded_by = graded_by
        self.asks_others = graded_by == "judge"
        self.alone = KnowledgeDomain(prompt_template) if self.asks_others else self

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> KnowledgeEnvironment:
        if self.graded_by == "instructions":
            instruction_checks()  # raises here if they are not installed
        options = self.prompt_template.options
        return KnowledgeEnvironment(instances, graded_by=self.graded_by, **options)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The normalized answer, None if nothing is left of it; or the letter of a choice."""
        if self.graded_by == "choice" and "choices" in instance.data:
            return read_choice(said_in(reply), instance.data_as(Given).choices)
        if self.graded_by == "instructions":
            return said_in(reply).strip() or None
        return normalized(said_in(reply)) or None

    def gold_errors(self, instances: Sequence[TaskInstance]) -> Sequence[str | None]:
        """Gold answers of which normalization leaves nothing, which any answer would miss."""
        return [
            None
            if self.graded_by in ("choice", "instructions")  # checked when they are read
            or any(map(normalized, golds_of(instance)))
            else f"its gold answers, {golds_of(instance)!r:.200}, have no word that counts"
            for instance in instances
        ]

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        if self.graded_by != "instructions":
            yield from golds_of(instance)

    def gold_record(self, instance: TaskInstance) -> SupervisedDatum | ChatDatum | None:
        return super(KnowledgeDomain, self.alone).gold_record(instance)

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        return super(KnowledgeDomain, self.alone).problem_of_record(record)
