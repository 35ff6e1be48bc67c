"""Questions about passages, in SQuAD's formats, from files or by dataset name.

Each question is a problem. A row of a source is one of these:

    passage    {"title", "context", "questions": [{"question", "answer" or "answers"}, ...]}
    article    {"title", "paragraphs": [{"context", "qas": [{"question", "answers", "id"}]}]}
    question   {"title", "context", "question", "answer" or "answers", "id"}

A JSON file with the articles under "data", as SQuAD is published, is read as well. Answers are a
text, a list of texts, a list of {"text": ...}, or {"text": [...]}. A question without an answer, as
SQuAD 2.0 has them, is left out, and so is one with a blank part.

The student sees "Topic: TITLE" and the question, not the passage. All splits ask about the same
passages: agents get passages and training questions to teach from; validation and test ask other
questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PositiveInt

from dataenvgym.domains.knowledge.domain import KnowledgeDomain
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import PlainText, takes
from dataenvgym.records import Model, TaskInstance, Text
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import THIRDS, FileOptions, PromptOptions, TaskOptions
from dataenvgym.tasks.rows import HubDataset, SourceRow, UnfitRowError, parsed, read_rows
from dataenvgym.tasks.source import Split

QUESTION_AND_ANSWER = (
    "Let's answer a question directly and concisely.\nQuestion: {instruction}\nAnswer:\n"
)
"""The frame around each question, as in SEAL."""


@dataclass(frozen=True, kw_only=True)
class KnowledgeOptions(TaskOptions, FileOptions, PromptOptions):
    """Options of `KnowledgeTask`.

    Attributes:
        graded_by: "exact_match" with a gold answer, up to case, punctuation and articles, or
            "judge": the model in `others.judge`.
        n_passages: ask about this many passages only, a seeded choice; None asks about all.
        template: the user message, in which `{instruction}` stands for the topic and the question.
        sampling: how the student answers; an answer ends with its line.
        fractions: shares of the questions of a file that several splits use.
    """

    name: str = "knowledge"
    graded_by: Literal["exact_match", "judge"] = "exact_match"
    n_passages: PositiveInt | None = None
    template: PlainText[str] = QUESTION_AND_ANSWER
    sampling: SamplingParameters = SamplingParameters(max_tokens=64, stop=("\n",))
    fractions: Mapping[Split, float] = field(default_factory=lambda: THIRDS)


class KnowledgeTask(Task):
    """Questions about passages that the student does not see, as in SQuAD: task.sources=FILE.

    KnowledgeTask("squad_val.json", n_passages=20)
    """

    self_edit_engine = "self_edit"

    @takes(KnowledgeOptions)
    def __init__(self, options: KnowledgeOptions) -> None:
        domain = KnowledgeDomain(options.prompt, graded_by=options.graded_by)
        rows = partial(question_rows, n_passages=options.n_passages, seed=options.seed)
        self.set_up_rows(domain, options, partial(to_instance, name=options.name), rows=rows)
        need_judge(self, options.graded_by)


def need_judge(task: Task, graded_by: str) -> None:
    """Raise a ConfigurationError if a judge should grade and there is none."""
    if graded_by == "judge" and "judge" not in task.others:
        raise ConfigurationError(
            "graded_by is 'judge', and there is none: set task.others.judge=openai/NAME or "
            "another model, or another task.graded_by"
        )


def _golds(answers: Any) -> list[Any]:
    """The texts in one of the forms of answers."""
    if isinstance(answers, Mapping):
        answers = answers.get("text")
    listed = answers if isinstance(answers, list) else [] if answers is None else [answers]
    return [one.get("text") if isinstance(one, Mapping) else one for one in listed]


class _Question(Model, extra="ignore"):
    """A row with one question."""

    title: Text
    context: Text
    question: Text
    answers: Annotated[tuple[Text, ...], BeforeValidator(_golds)]


def to_instance(row: SourceRow, *, name: str) -> TaskInstance:
    """The problem in a row with one question.

    Raises:
        UnfitRowError: if the question has no answer, or a part is blank.
    """
    answers = row.values.get("answers") or row.values.get("answer")
    asked = parsed(_Question, {**row.values, "answers": answers}, row.where)
    for part in ("title", "context", "question"):
        if not getattr(asked, part).strip():
            raise UnfitRowError(f"{row.where}: field {part!r} is blank")
    golds = [text.strip() for text in asked.answers if text.strip()]
    if not golds:
        raise UnfitRowError(f"{row.where}: the question has no answer: {asked.question!r:.80}")
    data: dict[str, Any] = {"title": asked.title, "passage": asked.context}
    if len(set(golds)) > 1:
        data["answers"] = [*dict.fromkeys(golds)]
    return TaskInstance(
        id=str(row.values.get("id") or row.id),
        task=name,
        instruction=f"Topic: {asked.title}\n{asked.question.strip()}",
        answer=golds[0],
        skill=asked.title,
        category=asked.title,
        data=data,
    )


def question_rows(
    place: Path | HubDataset, *, n_passages: int | None, seed: int
) -> Iterator[SourceRow]:
    """Each question of a source as a row, in the source's order."""
    rows = [question for row in read_rows(place) for question in _questions(row)]
    passages = dict.fromkeys(str(row.values.get("context")) for row in rows)

    def rank(passage: str) -> bytes:
        return hashlib.sha256(f"{seed} {passage}".encode()).digest()

    chosen = set(sorted(passages, key=rank)[:n_passages])
    return (row for row in rows if str(row.values.get("context")) in chosen)


def _questions(row: SourceRow) -> Iterator[SourceRow]:
    """The questions in a row, at any depth."""
    name = next((n for n in ("data", "paragraphs", "questions", "qas") if n in row.values), None)
    if name is None or "question" in row.values:
        yield row
        return
    inside = row.values[name]
    if not isinstance(inside, list) or not all(isinstance(one, dict) for one in inside):
        raise row.fault(name, "a list of objects")
    shared = {key: row.values.get(key) for key in ("title", "context")}
    for i, one in enumerate(inside, start=1):
        yield from _questions(
            SourceRow(f"{row.id}-{i}", f"{row.where}, {name} {i}", {**shared, **one})
        )
