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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import PositiveInt

from dataenvgym import exact_json
from dataenvgym.domains.knowledge.domain import KnowledgeDomain
from dataenvgym.domains.knowledge.environment import GradedBy
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import PlainText, takes
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import THIRDS, PromptOptions, RowOptions, TaskOptions
from dataenvgym.tasks.row_source import Places, RowSource
from dataenvgym.tasks.rows import HubDataset, SourceRow, UnfitRowError, read_rows
from dataenvgym.tasks.source import Split

T = TypeVar("T")
QUESTION_AND_ANSWER = (
    "Let's answer a question directly and concisely.\nQuestion: {instruction}\nAnswer:\n"
)
"""The frame around each question, as in SEAL."""


@dataclass(frozen=True)
class KnowledgeOptions(TaskOptions, RowOptions, PromptOptions):
    """Options of `KnowledgeTask`.

    Attributes:
        sources: one path for all splits, or {train: ..., validation: ..., test: ...}; `eval` of one
            path uses all its problems (see `RowSource`).
        name: name of the task.
        graded_by: "exact_match" with a gold answer, up to case, punctuation and articles, or
            "judge": the model in `others.judge`.
        n_passages: ask about this many passages only, a seeded choice; None asks about all.
        template: the user message, in which `{instruction}` stands for the topic and the question.
        sampling: how the student answers; an answer ends with its line.
        fractions: shares of the questions of a file that several splits use.
    """

    sources: Places
    _: KW_ONLY
    name: str = "knowledge"
    graded_by: GradedBy = "exact_match"
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
        source = RowSource(
            options.sources,
            partial(to_instance, name=options.name),
            options,
            name=options.name,
            overlap_key=domain.overlap_key,
            gold_errors=domain.gold_errors,
            rows=partial(question_rows, n_passages=options.n_passages, seed=options.seed),
        )
        self.set_up(source, domain, options, name=options.name)
        if options.graded_by == "judge" and "judge" not in self.others:
            raise ConfigurationError(
                "graded_by is 'judge', and there is none: set task.others.judge=openai/NAME or "
                "another model, or task.graded_by=exact_match"
            )


def to_instance(row: SourceRow, *, name: str) -> TaskInstance:
    """The problem in a row with one question.

    Raises:
        UnfitRowError: if the question has no answer, or a part is blank.
    """
    values = row.values
    title, passage, asked = (
        _text(row, name, values.get(name)) for name in ("title", "context", "question")
    )
    for part, text in (("title", title), ("context", passage), ("question", asked)):
        if not text.strip():
            raise UnfitRowError(f"{row.where}: field {part!r} is blank: {text!r:.80}")
    golds = [text.strip() for text in _answers(row) if text.strip()]
    if not golds:
        raise UnfitRowError(f"{row.where}: the question has no answer: {asked!r:.80}")
    data: dict[str, Any] = {"title": title, "passage": passage}
    if len(set(golds)) > 1:
        data["answers"] = [*dict.fromkeys(golds)]
    return TaskInstance(
        id=str(values.get("id") or row.id),
        task=name,
        instruction=f"Topic: {title}\n{asked.strip()}",
        answer=golds[0],
        skill=title,
        category=title,
        data=data,
    )


def question_rows(
    place: Path | HubDataset, *, n_passages: int | None, seed: int
) -> Iterator[SourceRow]:
    """Each question of a source as a row, in the source's order."""
    rows = [question for row in _rows(place) for question in _questions(row)]
    if n_passages is None:
        return iter(rows)
    passages = dict.fromkeys(str(row.values.get("context")) for row in rows)

    def rank(passage: str) -> bytes:
        return hashlib.sha256(f"{seed} {passage}".encode()).digest()

    chosen = set(sorted(passages, key=rank)[:n_passages])
    return (row for row in rows if str(row.values.get("context")) in chosen)


def _rows(place: Path | HubDataset) -> Iterator[SourceRow]:
    """The rows of a source; those of SQuAD's own files are its articles."""
    if isinstance(place, Path) and place.suffix == ".json" and place.is_file():
        content: Any = None
        with suppress(exact_json.JSONDecodeError):  # `read_rows` reads other files
            content = exact_json.loads(place.read_bytes())
        if isinstance(content, dict) and isinstance(content.get("data"), list):
            for number, article in enumerate(content["data"], start=1):
                where = f"{place}, article {number}"
                yield SourceRow(f"{place.stem}-{number}", where, _checked(where, article, dict))
            return
    yield from read_rows(place)


def _questions(row: SourceRow) -> Iterator[SourceRow]:
    values = row.values
    if "paragraphs" in values:
        for i, passage in enumerate(
            _checked(f"{row.where}, paragraphs", values["paragraphs"], list), start=1
        ):
            where = f"{row.where}, paragraph {i}"
            inner = {"title": values.get("title"), **_checked(where, passage, dict)}
            yield from _questions(SourceRow(f"{row.id}-{i}", where, inner))
        return
    name = next((name for name in ("questions", "qas") if name in values), None)
    if name is None:
        yield row
        return
    shared = {"title": values.get("title"), "context": values.get("context")}
    for i, asked in enumerate(_checked(f"{row.where}, {name}", values[name], list), start=1):
        where = f"{row.where}, question {i}"
        yield SourceRow(f"{row.id}-{i}", where, {**shared, **_checked(where, asked, dict)})


def _answers(row: SourceRow) -> Sequence[str]:
    found = row.values.get("answers") or row.values.get("answer")
    if isinstance(found, Mapping):
        found = found.get("text")
    if found is None:
        return ()
    listed = found if isinstance(found, list) else [found]
    texts = (one.get("text") if isinstance(one, Mapping) else one for one in listed)
    return [_text(row, "answers", text) for text in texts]


def _text(row: SourceRow, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInstanceError(
            f"{row.where}, field {name!r}: found {type(value).__name__} {value!r:.80}, expected "
            "text; a passage has title, context and questions, and a question has question and "
            "answer (or answers)"
        )
    return value


def _checked(where: str, value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise InvalidInstanceError(
            f"{where}: found {type(value).__name__} {value!r:.80}, expected a {kind.__name__}"
        )
    return value
