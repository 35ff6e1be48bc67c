"""Trials of edits: what the adapters of each edit are worth, over repeated trainings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, NoReturn

from pydantic import TypeAdapter

from dataenvgym.adaptation.edits import Context, Edit, WritesEdits, write_edits
from dataenvgym.adaptation.inner_loop import InnerLoop, adapt, trainer_of
from dataenvgym.checksums import marking, reading_marked
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TaskInterface, TeacherInterface, TrainablePredictorInterface
from dataenvgym.records import Model
from dataenvgym.run_warnings import warn_run
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.storage import read_json, write_json
from dataenvgym.trainers.interface import trainer_with


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
        known = [accuracy for accuracy in self.accuracies if accuracy is not None]
        return fmean(known) if known else None

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

    task: TaskInterface
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
        if (known := self._known(name)) is not None:
            return known
        found = write_edits(
            self.engine,
            contexts,
            writer,
            self.directory / name / "edits.jsonl",
            samples=edits,
            seed=self.seed,
            retry_errors=self.retry_errors,
        )
        by_id = {context.id: context for context in contexts}
        drafts = []
        for one in found:
            edit = None
            if one.text is not None:
                rng = derive_rng(self.seed, "read", one.context, one.sample)
                edit = self.engine.read_edit(by_id[one.context], one.text, rng)
            draft = EditResult(
                context=one.context, sample=one.sample, text=one.text, error=one.error
            )
            drafts.append((draft, by_id[one.context], edit))
        return self._saved(name, self._tried(name, drafts, repeats, at_once))

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
        if (known := self._known(name)) is not None:
            return known
        drafts = [(EditResult(context=c.id, sample=0), c, edit_of(c)) for c in contexts]
        return self._saved(name, self._tried(name, drafts, repeats, at_once))

    def _known(self, name: str) -> list[EditResult] | None:
        file = self.directory / name / "results.json"
        if not file.exists():
            return None
        with reading_marked(file, "remove it, and the same command makes it again"):
            results = TypeAdapter(list[EditResult]).validate_python(read_json(file))
        is_open = self.retry_errors and not all(result.is_complete for result in results)
        return None if is_open else results

    def _tried(
        self, name: str, drafts: Sequence[_Draft], repeats: int, at_once: int | None
    ) -> list[EditResult]:
        if at_once is not None:
            return self._tried_at_once(name, drafts, repeats, at_once)
        loops = []
        for (draft, context, edit), repeat in product(drafts, range(repeats)):
            if edit is None:
                continue
            own = trainer_with(trainer_of(self.student), edit.options) if edit.options else None
            loops.append(
                InnerLoop(
                    f"{name}/{draft.context.replace('/', '_')}/{draft.sample}-{repeat}",
                    context.questions,
                    edit.records,
                    derive_seed(self.seed, "training", repeat),
                    own,
                )
            )
        adapted = iter(
            adapt(self.task, self.student, loops, self.directory, retry_errors=self.retry_errors)
        )
        results = []
        for draft, _, edit in drafts:
            if edit is None:
                results.append(draft)
                continue
            each = [next(adapted) for _ in range(repeats)]
            accuracies = [one.adapter_accuracy for one in each]
            n_unscored, failure = sum(one.n_unscored for one in each), edit.failure
            # an edit that asks for a training that diverges has failed like one that cannot be read
            for i, one in enumerate(each):
                if edit.options and (one.error or "").startswith("DivergedError"):
                    accuracies[i], failure = one.baseline_accuracy, failure or str(one.error)
                    n_unscored -= sum(answer.error is None for answer in one.base)
            results.append(
                draft.model_copy(
                    update={
                        "failure": failure,
                        "n_records": len(edit.records),
                        "baseline": each[0].baseline_accuracy,
                        "accuracies": tuple(accuracies),
                        "n_unscored": n_unscored,
                    }
                )
            )
        return results

    def _tried_at_once(
        self, name: str, drafts: Sequence[_Draft], repeats: int, at_once: int
    ) -> list[EditResult]:
        """Train one adapter on all edits of so many contexts; the result of each context.

        A context one of whose edits was not written does not count.
        """
        of_context: dict[str, list[_Draft]] = {}
        for draft in drafts:
            of_context.setdefault(draft[0].context, []).append(draft)
        contexts = [*of_context.values()]
        groups = [contexts[i : i + at_once] for i in range(0, len(contexts), at_once)]
        if any(edit is not None and edit.options for _, _, edit in drafts):
            refuse_own_training(at_once)
        if failed := [edit.failure for _, _, edit in drafts if edit is not None and edit.failure]:
            warn_run(f"{len(failed)} of {len(drafts)} edits failed, the first one: {failed[0]}")
        loops = [
            InnerLoop(
                f"{name}/at-once-{number:03}/{repeat}",
                [question for tries in group for question in tries[0][1].questions],
                [r for tries in group for _, _, e in tries if e is not None for r in e.records],
                derive_seed(self.seed, "training", repeat),
            )
            for number, group in enumerate(groups)
            for repeat in range(repeats)
        ]
        adapted = iter(
            adapt(self.task, self.student, loops, self.directory, retry_errors=self.retry_errors)
        )
        results = []
        for group in groups:
            each = [next(adapted) for _ in range(repeats)]
            begin = 0
            for tries in group:
                _, context, _ = tries[0]
                end = begin + len(context.questions)
                own = [
                    one.model_copy(
                        update={"base": one.base[begin:end], "answers": one.answers[begin:end]}
                    )
                    for one in each
                ]
                begin = end
                edits = [edit for _, _, edit in tries if edit is not None]
                if error := next((draft.error for draft, _, _ in tries if draft.error), None):
                    results.append(EditResult(context=context.id, sample=0, error=error))
                    continue
                learned = any(edit.records for edit in edits)
                results.append(
                    EditResult(
                        context=context.id,
                        sample=0,
                        failure=next((e.failure for e in edits if not learned), ""),
                        n_records=each[0].n_records,
                        baseline=own[0].baseline_accuracy,
                        accuracies=tuple(one.adapter_accuracy for one in own),
                        n_unscored=sum(one.n_unscored for one in own),
                    )
                )
        return results

    def _saved(self, name: str, results: list[EditResult]) -> list[EditResult]:
        with marking(file := self.directory / name / "results.json"):
            write_json(file, [r.model_dump(mode="json") for r in results])
        return results
