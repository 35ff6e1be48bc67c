"""SEAL's published results: edits of passages, and what their adapters were worth.

These are the files below `knowledge-incorporation/results/query_server` (in later versions
`general-knowledge/...`) of https://github.com/Continual-Intelligence/SEAL, each an object:

    split_newlines   whether an edit was divided into lines, or only at "---"
    articles         {"title", "context", "prompt", "completions": [{"text", "stats", "questions"}]}
    stats            {"baseline_mean", "adapter_mean", ...}, over the repeated trainings
    questions        {"rep", "adapter_correct", ...} for each training and question; may be empty

An empty text is an arm without edits, which learned the passage alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from pydantic import BaseModel, ValidationError

from dataenvgym.adaptation import EditResult
from dataenvgym.domains.knowledge.environment import Passage
from dataenvgym.domains.knowledge.self_edits import SplitBy, context_id, train_sequences
from dataenvgym.errors import InvalidInstanceError, first_fault
from dataenvgym.storage import read_json


class _Question(BaseModel):
    rep: int
    adapter_correct: bool


class _Stats(BaseModel):
    baseline_mean: float
    adapter_mean: float


class _Completion(BaseModel):
    text: str
    stats: _Stats
    questions: list[_Question]

    @property
    def accuracies(self) -> tuple[float, ...]:
        """The accuracy of each training, with SEAL's four digits; their mean if that is known."""
        answers: defaultdict[int, list[bool]] = defaultdict(list)
        for question in self.questions:
            answers[question.rep].append(question.adapter_correct)
        found = [round(fmean(correct), 4) for correct in answers.values()]
        return tuple(found) or (self.stats.adapter_mean,)


class _Article(BaseModel):
    title: str
    context: str
    completions: list[_Completion]


class _Run(BaseModel):
    split_newlines: bool
    articles: list[_Article]


def read_results(file: str | Path) -> Iterator[tuple[Passage, EditResult]]:
    """Each edit with its passage, in the file's order; those of a passage are in a row.

    Raises:
        BrokenFileError: if the file is not JSON.
        InvalidInstanceError: if it is not such a file, naming the first fault.
    """
    try:
        run = _Run.model_validate(read_json(Path(file)))
    except ValidationError as error:
        raise InvalidInstanceError(
            f"{file}: {first_fault(error)}. Expected a file below results/query_server of SEAL"
        ) from None
    split: SplitBy = "lines" if run.split_newlines else "segments"
    for article in run.articles:
        passage = Passage(article.title, article.context)
        for sample, edit in enumerate(article.completions):
            result = EditResult(
                context=context_id(passage),
                sample=sample,
                text=edit.text.strip() or None,
                n_records=len(train_sequences(edit.text, passage, split)),
                baseline=edit.stats.baseline_mean,
                accuracies=edit.accuracies,
            )
            yield passage, result
