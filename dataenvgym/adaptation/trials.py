"""Trials of edits: what the adapters of each edit are worth, over repeated trainings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, NoReturn

from dataenvgym.adaptation.inner_loop import Adapted, InnerLoop, adapt, trainer_of
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import TeacherInterface, TrainablePredictorInterface
from dataenvgym.records import Model
from dataenvgym.records.checksums import phase
from dataenvgym.seeding import derive_seed
from dataenvgym.students.llama_factory.training_config import trainer_with
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.edits import Context, Edit, WritesEdits, write_edits


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known; None without any."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


class EditResult(Model):
    """An edit of a context, and the accuracy of its adapters on the context's questions.

    Attributes:
        sample: the number of the edit, among those of the same context.
        text: what was written; None if nothing was.
        error: why the call for the edit failed; such an edit does not count.
        failure: why the edit itself failed. It counts: nothing is trained, so there is no gain.
        n_records: what each adapter was trained on.
        baseline: the accuracy of the untouched student; None if no answer could be scored.
        accuracies: of the adapter of each training; None if no answer could be scored.
        n_unscored: questions, over all trainings, for which a call or a training failed.
    """

    context: str
    sample: int
    text: str | None = None
    error: str | None = None
    failure: str = ""
    n_records: int = 0
    baseline: float | None = None
    accuracies: tuple[float | None, ...] = ()
    n_unscored: int = 0

    @property
    def mean(self) -> float | None:
        """The mean accuracy over the trainings that could be scored; None without any."""
        return mean_of(self.accuracies)

    @property
    def is_complete(self) -> bool:
        return self.error is None and not self.n_unscored


class Work(NamedTuple):
    """The most work of an arm for one seed; an edit that fails trains nothing, so it may be less.

    Attributes:
        edits: to be written.
        questions: to the student, trained or not; without those for an edit.
    """

    arm: str
    contexts: int
    edits: int
    trainings: int
    questions: int


def asked(contexts: Sequence[Context]) -> int:
    """The number of questions about these contexts."""
    return sum(len(context.questions) for context in contexts)


_Draft = tuple[EditResult, Context, Edit | None]
"""An edit before it is tried; without an edit if the call for it failed."""
_Tried = tuple[EditResult, Context, list[Edit]]
"""Edits of a context that one adapter learns, and their result so far."""


def refuse_own_training(at_once: int | str) -> NoReturn:
    """Raise ConfigurationError: one adapter would learn edits that choose their training."""
    raise ConfigurationError(
        f"arms.at_once is {at_once}, and edits choose options of their own training: an adapter of "
        "several edits has those of the trainer. Leave arms.at_once out"
    )


@dataclass(frozen=True)
class EditTrials:
    """Tries edits on one student, with all files in one folder.

    Attributes:
        student: is untouched before and after each trial.
        seed: of the edits and the trainings.
        retry_errors: try again what a failed call left open.
    """

    task: Task
    engine: WritesEdits
    student: TrainablePredictorInterface
    directory: Path
    seed: int
    retry_errors: bool = False

    def written(
        self,
        name: str,
        contexts: Sequence[Context],
        writer: TeacherInterface,
        *,
        edits: int,
        repeats: int,
        at_once: int | None = None,
    ) -> list[EditResult]:
        """Let the writer write `edits` edits of each context, and try each of them.

        Args:
            name: of these trials in the folder.
            repeats: trainings of each edit, with different seeds.
            at_once: the number of contexts, all of whose edits train one adapter, which is asked
                all of their questions; there is one result for each context. None trains an
                adapter for each edit.

        Raises:
            BudgetSpentError: if the writer's budget allows no request.
        """
        by_id = {context.id: context for context in contexts}

        def drafts() -> list[_Draft]:
            written = write_edits(
                self.engine,
                contexts,
                writer,
                self.directory / name / "edits.jsonl",
                samples=edits,
                seed=self.seed,
                retry_errors=self.retry_errors,
            )
            names = ("context", "sample", "text", "error")
            return [
                (EditResult(**{n: getattr(one, n) for n in names}), by_id[one.context], edit)
                for one, edit in written
            ]

        return self._results(name, drafts, repeats, at_once)

    def given(
        self,
        name: str,
        contexts: Sequence[Context],
        edit_of: Callable[[Context], Edit],
        *,
        repeats: int,
        at_once: int | None = None,
    ) -> list[EditResult]:
        """Try one edit of each context, which no model writes."""

        def drafts() -> list[_Draft]:
            return [(EditResult(context=c.id, sample=0), c, edit_of(c)) for c in contexts]

        return self._results(name, drafts, repeats, at_once)

    def _results(
        self, name: str, drafts: Callable[[], list[_Draft]], repeats: int, at_once: int | None
    ) -> list[EditResult]:
        return phase(
            self.directory / name / "results.json",
            lambda: self._tried(name, drafts(), repeats, at_once),
            list[EditResult],
            redo=lambda known: self.retry_errors and not all(one.is_complete for one in known),
        )

    def _tried(
        self, name: str, drafts: Sequence[_Draft], repeats: int, at_once: int | None
    ) -> list[EditResult]:
        """Train an adapter for each edit, or for all edits of so many contexts.

        The results of edits that are trained together are those of their contexts; a context one of
        whose edits was not written does not count.
        """
        if at_once is None:
            groups = {
                f"{draft.context.replace('/', '_')}/{draft.sample}-": [
                    (draft, context, [] if edit is None else [edit])
                ]
                for draft, context, edit in drafts
            }
        else:
            groups = _joined(drafts, at_once)
        trained = {folder: of for folder, of in groups.items() if any(edits for *_, edits in of)}
        loops = []
        for (folder, group), repeat in product(trained.items(), range(repeats)):
            edits = [edit for *_, of_context in group for edit in of_context]
            options = edits[0].options
            loops.append(
                InnerLoop(
                    f"{name}/{folder}{repeat}",
                    [question for _, context, _ in group for question in context.questions],
                    [record for edit in edits for record in edit.records],
                    derive_seed(self.seed, "training", repeat),
                    trainer_with(trainer_of(self.student), options) if options else None,
                )
            )
        adapted = iter(
            adapt(self.task, self.student, loops, self.directory, retry_errors=self.retry_errors)
        )
        results = []
        for folder, group in groups.items():
            each = [next(adapted) for _ in range(repeats if folder in trained else 0)]
            begin = 0
            for draft, context, edits in group:
                end = begin + len(context.questions)
                own = [one.on(slice(begin, end)) for one in each]
                results.append(draft if draft.error else _scored(draft, edits, own))
                begin = end
        return results


def _joined(drafts: Sequence[_Draft], at_once: int) -> dict[str, list[_Tried]]:
    """The edits of so many contexts in each group, by the name of its folder."""
    if any(edit is not None and edit.options for *_, edit in drafts):
        refuse_own_training(at_once)
    if failed := [edit.failure for *_, edit in drafts if edit is not None and edit.failure]:
        warn_run(f"{len(failed)} of {len(drafts)} edits failed, the first one: {failed[0]}")
    of_context: dict[str, list[_Draft]] = {}
    for draft in drafts:
        of_context.setdefault(draft[0].context, []).append(draft)
    tried: list[_Tried] = []
    for context, of in of_context.items():
        error = next((draft.error for draft, *_ in of if draft.error), None)
        result = EditResult(context=context, sample=0, error=error)
        tried.append((result, of[0][1], [edit for *_, edit in of if edit is not None]))
    return {
        f"at-once-{start // at_once:03}/": tried[start : start + at_once]
        for start in range(0, len(tried), at_once)
    }


def _scored(draft: EditResult, edits: Sequence[Edit], trainings: Sequence[Adapted]) -> EditResult:
    """The result of edits of a context that were trained together."""
    failure = "" if any(edit.records for edit in edits) else edits[0].failure
    accuracies, n_unscored = [], 0
    for one in trainings:
        accuracy, lost = one.adapter_accuracy, one.n_unscored
        if edits[0].options and one.has_diverged:
            # an edit that asks for such a training has failed like one that cannot be read
            accuracy, failure = one.baseline_accuracy, failure or str(one.error)
            lost -= sum(answer.error is None for answer in one.base)
        accuracies.append(accuracy)
        n_unscored += lost
    changes = {
        "failure": failure,
        "n_records": trainings[0].n_records,
        "baseline": trainings[0].baseline_accuracy,
        "accuracies": tuple(accuracies),
        "n_unscored": n_unscored,
    }
    return draft.model_copy(update=changes)
