"""Contexts, and the self-edits that a model writes about them.

    context --edit_prompt--> model --read_edit--> records to train on, and options of the training

An engine that implements `WritesEdits` says how; the model is the student itself, or a teacher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dataenvgym.errors import PredictionError
from dataenvgym.events import counting
from dataenvgym.interfaces import Failure, SamplingParameters, TeacherInterface
from dataenvgym.records import Conversation, Model, TaskInstance, TrainingDatum
from dataenvgym.records.checksums import load, save
from dataenvgym.seeding import derive_rng, derive_seed


@dataclass(frozen=True)
class Context:
    """Something to learn from, such as a passage or a puzzle, and questions about it.

    Attributes:
        id: names its folder; no other context of the task has it.
        questions: problems of the task, at least one; the first one holds what the context is.
    """

    id: str
    questions: tuple[TaskInstance, ...]


@dataclass(frozen=True)
class Edit:
    """A self-edit as it is trained.

    Attributes:
        records: to train on; none for an edit that failed, or that asks for no training.
        options: of the trainer, chosen by the edit.
        failure: why it failed, e.g. because it cannot be read; "" if it did not.
    """

    records: Sequence[TrainingDatum]
    options: Mapping[str, Any] = field(default_factory=dict)
    failure: str = ""


@runtime_checkable
class WritesEdits(Protocol):
    """An engine whose records come from texts that a model writes about single contexts.

    An engine whose edits have options of their training says so by `chooses_training = True`; such
    edits are not learned together (`arms.at_once`).

    Attributes:
        sampling: of the texts; the seed is replaced.
    """

    sampling: SamplingParameters

    def contexts(self, instances: Sequence[TaskInstance]) -> Sequence[Context]:
        """The contexts of these problems, in the order of their first problems."""
        ...

    def edit_prompt(self, context: Context) -> Conversation:
        """The prompt that asks the model for an edit of the context."""
        ...

    def read_edit(self, context: Context, text: str | None, rng: np.random.Generator) -> Edit:
        """Turn the model's text into records to train on; None uses the context itself."""
        ...


class WrittenEdit(Model):
    """A model's text about a context.

    Attributes:
        context: its id.
        sample: the number of the edit, among those of the same context.
        text: None if the call failed.
        error: why the call failed.
    """

    context: str
    sample: int
    text: str | None
    error: str | None = None


def write_edits(
    engine: WritesEdits,
    contexts: Sequence[Context],
    writer: TeacherInterface,
    file: Path,
    *,
    samples: int,
    seed: int,
    retry_errors: bool = False,
) -> list[tuple[WrittenEdit, Edit | None]]:
    """Let the writer write that many edits of each context, and read them; None: a call failed.

    All first ones are written, then all second ones. They are in `file` after each round of
    samples; those that are there already are not written again.

    Args:
        retry_errors: ask again where a call failed.

    Raises:
        BudgetSpentError: if the writer's budget allows no request.
        PredictionError: if all calls of a round failed.
        RunDirectoryError: if the file is damaged.
    """
    written = load(file, list[WrittenEdit]) or []
    known = {(w.context, w.sample): w for w in written if not (retry_errors and w.error)}
    wanted = [(context, sample) for sample in range(samples) for context in contexts]
    with counting("self-edits", len(wanted)) as count:
        for sample in range(samples):
            missing = [c for c, i in wanted if i == sample and (c.id, i) not in known]
            if missing:
                drawn = {"seed": derive_seed(seed, "edit", sample)}
                sampling = engine.sampling.model_copy(update=drawn)
                asked = [engine.edit_prompt(context) for context in missing]
                replies = writer.ask(asked, sampling, purpose="self_edits")
                failed = [reply.reason for reply in replies if isinstance(reply, Failure)]
                if len(failed) == len(asked):
                    raise PredictionError(
                        f"none of {len(asked)} self-edits was written. The first failure: "
                        f"{failed[0]}. Once the cause is gone, the same command continues"
                    )
                for context, reply in zip(missing, replies, strict=True):
                    known[context.id, sample] = WrittenEdit(
                        context=context.id,
                        sample=sample,
                        text=None if isinstance(reply, Failure) else reply.text,
                        error=reply.reason if isinstance(reply, Failure) else None,
                    )
                save(file, [known[c.id, i] for c, i in wanted if (c.id, i) in known])
            count.reach((sample + 1) * len(contexts))
    edits: list[tuple[WrittenEdit, Edit | None]] = []
    for context, sample in wanted:
        one, edit = known[context.id, sample], None
        if one.text is not None:
            rng = derive_rng(seed, "read", context.id, sample)
            edit = engine.read_edit(context, one.text, rng)
        edits.append((one, edit))
    return edits
