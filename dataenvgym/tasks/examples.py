"""Worked examples in front of the student's problems (few-shot prompts).

    prefix: "Here are solved problems.\\n\\n"
    template: "Problem: {instruction}\\nSolution: {answer}\\n\\n"
    suffix: "Now solve this one.\\n\\n"
    examples:
    - {instruction: "What is 2 + 3?", answer: "#### 5"}

The text is put in front of the first user message when the student is asked, and of a record when
the student is trained with examples. Conversations and records that are stored, checked and shown
do not have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from dataenvgym.errors import ConfigurationError, did_you_mean, first_fault
from dataenvgym.interfaces import (
    Failure,
    ForwardingPredictor,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TrainablePredictorInterface,
)
from dataenvgym.records import Conversation, Model, TrainingDatum
from dataenvgym.registration import config_directory

ExamplesFor = Literal["base", "always"]


class Example(Model):
    """A problem and the reply that solves it."""

    instruction: str = Field(min_length=1)
    answer: str = Field(min_length=1)


class Examples(Model):
    """Worked examples, and the text around them.

    Attributes:
        prefix: the text before the first example.
        template: an example, with `{instruction}` and `{answer}` in it.
        suffix: the text after the last example.
        examples: all of them, in the order in which they are shown.
        nearest: show only this many, those most similar to the problem (BM25; needs the package
            bm25s), the most similar one last. None shows all.
    """

    prefix: str = ""
    template: str = "{instruction}\n{answer}\n\n"
    suffix: str = ""
    examples: tuple[Example, ...] = Field(min_length=1)
    nearest: int | None = Field(default=None, ge=1)

    def before(self, instruction: str) -> str:
        """The text in front of this problem."""
        shown = self.examples if self.nearest is None else self._nearest(instruction)
        parts = self.template.split("{answer}")
        texts = (
            e.answer.join(p.replace("{instruction}", e.instruction) for p in parts) for e in shown
        )
        return f"{self.prefix}{''.join(texts)}{self.suffix}"

    def _nearest(self, instruction: str) -> list[Example]:
        import bm25s

        words = bm25s.tokenize([instruction], stopwords="en", return_ids=False, show_progress=False)
        index = self._index if words[0] else None
        scores = [0.0] * len(self.examples) if index is None else index.get_scores(words[0])
        order = sorted(range(len(self.examples)), key=lambda i: (-scores[i], i))
        return [self.examples[i] for i in reversed(order[: self.nearest])]

    @cached_property
    def _index(self) -> Any:
        """None if no example has a word, as in "2 + 3"."""
        import bm25s

        index = bm25s.BM25()
        texts = [example.instruction for example in self.examples]
        tokens = bm25s.tokenize(texts, stopwords="en", show_progress=False)
        if not any(tokens.ids):
            return None
        index.index(tokens, show_progress=False)
        return index


def examples_of(given: Examples | Mapping[str, Any] | str | Path) -> Examples:
    """The examples in a YAML file, in a section of the configuration, or by a name of ours.

    Raises:
        ConfigurationError: naming the file and the fault.
    """
    where = "task.examples"
    if isinstance(given, str | Path):
        import yaml

        folder = config_directory() / "examples"
        file = Path(given).expanduser()
        if not file.suffix:
            file = folder / f"{given}.yaml"
        where = str(file)
        try:
            given = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            known = sorted(path.stem for path in folder.glob("*.yaml"))
            raise ConfigurationError(
                f"task.examples is {where!r}, which cannot be read ({' '.join(str(error).split())})"
                f".{did_you_mean(file.stem, known)} Expected a YAML file, or one of "
                f"{', '.join(known)}"
            ) from None
    try:
        found = Examples.model_validate(given)
    except ValidationError as error:
        raise ConfigurationError(f"{where}: {first_fault(error)}") from None
    if missing := [n for n in ("{instruction}", "{answer}") if found.template.count(n) != 1]:
        raise ConfigurationError(
            f"{where}: template is {found.template!r}, expected a text with one {missing[0]} in it"
        )
    if found.nearest is not None:
        try:
            import bm25s  # noqa: F401
        except ImportError:
            raise ConfigurationError(
                f"{where}: nearest finds examples with the package bm25s: pip install "
                "'dataenvgym[retrieval]', or leave nearest out"
            ) from None
    return found


class WithExamples(ForwardingPredictor):
    """A student that reads the examples in front of each problem."""

    def __init__(self, predictor: PredictorInterface, examples: Examples) -> None:
        super().__init__(predictor)
        self._examples = examples

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        shown = [with_examples(c, self._examples) for c in conversations]
        return super().predict(shown, sampling)

    def own_submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        shown = with_examples(conversation, self._examples)
        future: Future[Reply | Failure] = self._predictor.submit(shown, sampling)
        return future

    def own_refusals(self, conversations: Sequence[Conversation]) -> Sequence[Failure | None]:
        shown = [with_examples(c, self._examples) for c in conversations]
        refusals: Sequence[Failure | None] = self._predictor.refusals(shown)
        return refusals


def with_examples(conversation: Conversation, examples: Examples) -> Conversation:
    """The conversation with the examples in front of its first user message."""
    for i, message in enumerate(conversation):
        if message.role == "user":
            shown = message.model_copy(
                update={"content": f"{examples.before(message.content)}{message.content}"}
            )
            return (*conversation[:i], shown, *conversation[i + 1 :])
    return conversation


def record_with_examples(record: TrainingDatum, examples: Examples) -> TrainingDatum:
    """The record with the examples in front of its first question."""
    history = getattr(record, "history", ())
    if history:
        (question, reply), *later = history
        first = (f"{examples.before(question)}{question}", reply)
        return record.model_copy(update={"history": (first, *later)})
    is_first = True

    def change(text: str) -> str:
        nonlocal is_first
        before = examples.before(text) if is_first and text else ""
        is_first = False
        return f"{before}{text}"

    return record.with_questions(change)


def shows_to(predictor: PredictorInterface, when: ExamplesFor) -> bool:
    """Whether that student is shown examples now: always, or until it has learned.

    Raises:
        ConfigurationError: if it is unknown whether it has learned.
    """
    if when == "always":
        return True
    has_learned = getattr(predictor, "has_learned", None)
    if has_learned is None and isinstance(predictor, TrainablePredictorInterface):
        raise ConfigurationError(
            f"task.examples_for is 'base', and {type(predictor).__name__} does not say whether it "
            "has learned: give it an attribute has_learned, or set task.examples_for=always"
        )
    return not has_learned
