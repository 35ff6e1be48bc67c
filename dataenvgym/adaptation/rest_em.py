"""RestEM: the student that writes self-edits is trained on those that taught it most (SEAL).

    edits of contexts -> trials -> the kept edits -> the student learns to write them -> repeat

The trained student is merged: it is a whole student, which writes the next edits, and from which
the next adapters start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveInt

from dataenvgym.adaptation.inner_loop import trained_by
from dataenvgym.adaptation.trials import EditResult, EditTrials
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import tell, warn_run
from dataenvgym.interfaces import TrainablePredictorInterface, TrainingRun, can
from dataenvgym.records import ChatDatum, Conversation, Message
from dataenvgym.records.checksums import MarkedFolder, load, save
from dataenvgym.runs.texts import several
from dataenvgym.seeding import derive_seed
from dataenvgym.storage import remove_folder
from dataenvgym.students.predictors.checkpoints import write_merged
from dataenvgym.students.trainers import TrainerInterface
from dataenvgym.tasks.edits import Context
from dataenvgym.tasks.source import Split
from dataenvgym.teachers.teacher import StudentTeacher

Keep = Literal["best", "successes"]
StudentOf = Callable[[Path | None], TrainablePredictorInterface]
"""Makes the predictor of the student in a folder; None is the student to begin with."""


def kept_edits(
    results: Sequence[EditResult], keep: Keep = "best", *, needs_gain: bool = False
) -> list[EditResult]:
    """The edits from which the writer learns, in their order.

    Edits that failed, or that could not be scored, are never kept.

    Args:
        keep: "best" keeps for each context the edit with the highest mean accuracy, the first one
            of equal ones; one with unscored answers only if there is no other. "successes" keeps
            every edit with which all answers were right.
        needs_gain: keep only edits whose mean is above the accuracy of the untouched student.
    """
    possible = [
        result
        for result in results
        if result.text
        and not result.failure
        and result.mean is not None
        and not (needs_gain and _rank(result.mean) <= _rank(result.baseline))
    ]
    if keep == "successes":
        return [result for result in possible if result.mean == 1.0 and not result.n_unscored]
    best: dict[str, EditResult] = {}
    for result in possible:
        known = best.get(result.context)
        if known is None or _worth(result) > _worth(known):
            best[result.context] = result
    return [result for result in possible if best[result.context] is result]


def _worth(result: EditResult) -> tuple[bool, float]:
    return not result.n_unscored, _rank(result.mean)


def _rank(accuracy: float | None) -> float:
    """Without the noise of floats: the mean of .8, .6 and 1.0 equals that of .8, .8 and .8."""
    return math.inf if accuracy is None else round(accuracy, 9)


def policy_record(prompt: Conversation, edit: str) -> ChatDatum:
    """The record from which the writer learns: the prompt for an edit, and the edit."""
    system = prompt[0].content if prompt[0].role == "system" else ""
    messages = [message for message in prompt if message.role != "system"]
    return ChatDatum(messages=(*messages, Message(role="assistant", content=edit)), system=system)


@dataclass(frozen=True)
class RestEM:
    """Trains a student to write self-edits, by rounds of selection.

    Args:
        trainer: trains the writer; its options are apart from those of the inner loop (`trainer`).
        rounds: each starts from the student of the one before.
        split: whose contexts are used, without those that are evaluated.
        contexts: the number of contexts, a seeded choice; None takes all.
        edits: edits of each context in each round.
        repeats: trainings of each edit, with different seeds.
        keep: see `kept_edits`.
        needs_gain: see `kept_edits`.
    """

    trainer: TrainerInterface
    _: KW_ONLY
    rounds: PositiveInt = 2
    split: Split = "train"
    contexts: PositiveInt | None = None
    edits: PositiveInt = 5
    repeats: PositiveInt = 1
    keep: Keep = "best"
    needs_gain: bool = False

    def improve(
        self, trials: EditTrials, contexts: Sequence[Context], directory: Path, of: StudentOf
    ) -> tuple[TrainablePredictorInterface, list[EditResult]]:
        """Do one round; return the trained student, and the edits that were kept.

        If none is kept, the student is that of the trials, and the run is warned.

        Args:
            trials: of the student that writes.
            directory: of the round: gets the records, the training and the merged student. If other
                edits were kept there before, it is removed, with the folders of later rounds.
            of: makes the predictor of the merged student. The old one is closed before.
        """
        writer = StudentTeacher(trials.student)
        results = trials.written(
            "selection", contexts, writer, edits=self.edits, repeats=self.repeats
        )
        kept = kept_edits(results, self.keep, needs_gain=self.needs_gain)
        prompts = {context.id: trials.engine.edit_prompt(context) for context in contexts}
        records = [policy_record(prompts[edit.context], edit.text or "") for edit in kept]
        _begin(directory, [record.model_dump(mode="json") for record in records])
        if not kept:
            warn_run(
                f"RestEM kept none of {several(len(results), 'edit')} of "
                f"{several(len(contexts), 'context')} "
                f"(keep={self.keep}, needs_gain={self.needs_gain}): the student stays as it is"
            )
            return trials.student, kept
        folder = directory / "student"
        if not folder.is_dir():
            tell(f"RestEM: the student learns {len(kept)} of {len(results)} edits")
            self._learn(trials, records, directory)
        MarkedFolder(folder, f"remove {folder}; the same command makes it again").check(large=True)
        if can(trials.student, "close"):
            trials.student.close()
        return of(folder), kept

    def _learn(self, trials: EditTrials, records: Sequence[ChatDatum], directory: Path) -> None:
        student = trials.student
        (training := directory / "training").mkdir(parents=True, exist_ok=True)
        run = TrainingRun(directory=training, seed=derive_seed(trials.seed, "policy"))
        student.reset()
        try:
            with trained_by(student, self.trainer):
                student.train(records, run)
            write_merged_student(student, training / "adapter", directory / "student")
        finally:
            student.reset()


def _begin(directory: Path, rows: Sequence[Any]) -> None:
    """Write a round's records; if it had others before, remove it and the rounds after it."""
    file = directory / "records.jsonl"
    if (before := load(file, list[Any])) == rows:
        return
    if before is not None:
        tell("RestEM: other edits are kept than before, so this round starts anew")
        for later in directory.parent.glob("round-*"):
            if _number(later) >= _number(directory):
                remove_folder(later)
    directory.mkdir(parents=True, exist_ok=True)
    save(file, rows)


def _number(of_round: Path) -> int:
    return int(of_round.name.removeprefix("round-"))


def write_merged_student(student: object, checkpoint: Path, folder: Path) -> None:
    """Write a predictor's model with a checkpoint as a whole student, and mark its files.

    Raises:
        ConfigurationError: if the predictor does not tell its model.
        AdapterError: if the checkpoint fits another student.
    """
    if not isinstance(name := getattr(student, "student", None), str):
        raise ConfigurationError(
            f"{type(student).__name__} has no attribute `student`, the name or folder of its "
            "model, into which is merged what it learned: use dataenvgym's predictors"
        )
    write_merged(name, checkpoint, folder)
    MarkedFolder(folder, "remove it, and the same command continues").mark_all()
