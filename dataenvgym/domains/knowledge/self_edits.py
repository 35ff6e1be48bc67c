"""Self-edits: a model writes texts about a passage, and the student is trained on them (SEAL).

    passage -> prompt of the style -> k edits -> training sequences -> text records

The student itself writes, in its present state, or a teacher. Prompts and sequences are those of
SEAL (https://github.com/Continual-Intelligence/SEAL, MIT license).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, cast

import numpy as np
from pydantic import JsonValue, PositiveInt

from dataenvgym.domains.knowledge.environment import Passage, passage_of
from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.events import tell, warn_run
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    SamplingParameters,
    TeacherInterface,
)
from dataenvgym.records import (
    Conversation,
    Message,
    Provenance,
    TaskInstance,
    TextDatum,
    TrainingDatum,
)
from dataenvgym.records.plans import Assignment, EngineFit, Plan
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.edits import Context, Edit
from dataenvgym.tasks.source import Split
from dataenvgym.teachers.prompts import Prompt, as_prompt
from dataenvgym.teachers.teacher import StudentTeacher

Style = Literal[
    "implications", "long_implications", "very_long_implications", "rewrite", "self_qa", "passage"
]

SplitBy = Literal["segments", "lines"]
_QUESTION = re.compile(r"Question\s+\d+:")
_ANSWER = re.compile(r"Answer\s*:")
_PROMPTS: Mapping[Style, str | None] = {"rewrite": "rewrite_passage", "passage": None}
"""Of the styles whose prompt has another name than the style, or that have none."""
KNOWN: Sequence[Split] = ("train", "validation")
"""The splits whose passages are edited; a passage may only have questions in one of them."""
_EXPECTED = 8
"""Sequences that one edit is expected to give, until the first ones are there."""
_MOST_FAILED = 3
"""After so many groups of passages in a row without any edit, no more are asked for."""


class SelfEditEngine:
    """The student (or a teacher) writes implications of the task's passages to train on.

    An assignment gets the passages of its examples and then those of its skill, or else all
    passages. Those that were edited least often come first, in random order. Each is edited
    `samples` times; all sequences of an edit become records, no text twice, up to the wanted
    number. There are fewer if passages run out.

    Args:
        task: a task whose problems have a passage (`data["title"]`, `data["passage"]`).
        teacher: the model that writes; None is the student itself.
        style: what it writes: "implications" (also "long_implications",
            "very_long_implications"), a few versions in other words ("rewrite"), questions and
            answers ("self_qa"), or nothing, so that the passage alone is learned ("passage").
        samples: edits of each passage.
        split: how an edit is divided into sequences (see `train_sequences`).
        append_passage: False leaves the passage itself out (the arm without it).
        prompt: another prompt than that of the style, with `{passage}` and perhaps `{title}`.
        temperature, top_p, max_tokens: of the edits.
    """

    def __init__(
        self,
        task: Task,
        teacher: TeacherInterface | None = None,
        *,
        style: Style = "implications",
        samples: PositiveInt = 5,
        split: SplitBy = "lines",
        append_passage: bool = True,
        prompt: Prompt | Mapping[str, Any] | str | None = None,
        temperature: float = 1.0,
        top_p: float = 0.95,
        max_tokens: int = 1024,
    ) -> None:
        if style == "passage" and (prompt is not None or not append_passage):
            raise ConfigurationError(
                "style is 'passage', in which nothing is written and the passage is learned: "
                "expected append_passage=true and no prompt, or another style"
            )
        self.task = task
        self.teacher = teacher
        self.style = style
        self.samples = 1 if style == "passage" else samples
        self.split: SplitBy = split
        self.append_passage = append_passage
        given = prompt or _PROMPTS.get(style, style)
        self.prompt = as_prompt(given, needs=("passage",), may=("title",)) if given else None
        self.sampling = SamplingParameters(
            temperature=temperature, top_p=top_p, max_tokens=max_tokens
        )
        self._edited: Counter[str] = Counter()

    # --- what an agent asks ---

    @property
    def fit(self) -> EngineFit:
        """Say that each passage alone is given once."""
        left = self.style != "passage" or any(not self._edited[_key(p)] for p in self._passages)
        return EngineFit(needs="counts", writes=left)

    @property
    def skills(self) -> Sequence[str]:
        """The skills of the problems with passages."""
        return tuple(sorted({name for names in self._passages.values() for name in names if name}))

    def prepare(self) -> None:
        if not self._passages:
            raise ConfigurationError(
                f"self-edits are written from passages, and the problems of task "
                f"{self.task.name!r} have none: use task=knowledge, squad or pocket_knowledge, or "
                "another engine (`dataenvgym list agent/engine`)"
            )

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return the records of the plan; fewer if passages run out, or the teacher's budget does.

        Passages whose edits all failed are skipped with a warning; several such groups in a row
        end the call.

        Raises:
            BudgetSpentError: if the teacher's budget is spent before there is any record.
            PredictionError: if edits failed, and there is no record.
        """
        self.prepare()
        records: list[TrainingDatum] = []
        seen: set[str] = set()
        per_edit = [1 if self.style == "passage" else _EXPECTED]
        failed: list[PredictionError] = []  # in a row
        for assignment in plan:
            waiting = self._waiting(assignment, rng)
            wanted = assignment.count
            while wanted > 0 and waiting and len(failed) < _MOST_FAILED:
                n = max(1, round(wanted / (self.samples * fmean(per_edit))))
                chosen, waiting = waiting[:n], waiting[n:]
                try:
                    edits = self.write(chosen, predictor, seed=int(rng.integers(2**31)))
                except BudgetSpentError:
                    if not records:
                        raise
                    return records
                except PredictionError as error:
                    failed.append(error)
                    warn_run(f"passages are skipped: {error}")
                    edits = []
                else:
                    failed.clear()
                per_edit += map(len, edits)
                self._edited.update(map(_key, chosen))
                texts = dict.fromkeys(text for edit in edits for text in edit)
                new = [text for text in texts if text not in seen][:wanted]
                seen.update(new)
                wanted -= len(new)
                provenance = Provenance(skill=assignment.skill, task=assignment.task)
                records += (TextDatum(text=text, provenance=provenance) for text in new)
                tell(f"self-edits: {len(records)} texts")
        if failed and not records:
            raise failed[0]
        return records

    def write(
        self, passages: Sequence[Passage], predictor: PredictorInterface, *, seed: int
    ) -> list[list[str]]:
        """The texts to train on of each edit, `samples` of each passage in a row.

        Failed and empty edits are missing.

        A warning counts the missing ones.

        Raises:
            BudgetSpentError: if the teacher's budget allows no request.
            PredictionError: if all edits failed.
        """
        if self.prompt is None:
            return [self._sequences(passage, "") for passage in passages]
        each = [passage for passage in passages for _ in range(self.samples)]
        teacher = self.teacher or StudentTeacher(predictor)
        sampling = self.sampling.model_copy(update={"seed": seed})
        replies = teacher.ask([*map(self._asked, each)], sampling, purpose="self_edits")
        failed = [reply.reason for reply in replies if isinstance(reply, Failure)]
        if failed and len(failed) == len(replies):
            raise PredictionError(
                f"none of {len(replies)} self-edits was written. The first failure: {failed[0]}"
            )
        texts = ["" if isinstance(reply, Failure) else reply.text.strip() for reply in replies]
        if missing := texts.count(""):
            why = f", the first failure: {failed[0]}" if failed else ""
            warn_run(
                f"{missing} of {len(texts)} self-edits are missing: {len(failed)} failed and "
                f"{missing - len(failed)} are empty{why}"
            )
        return [self._sequences(p, text) for p, text in zip(each, texts, strict=True) if text]

    def state_dict(self) -> dict[str, JsonValue]:
        return {"edited": dict(sorted(self._edited.items()))}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        self._edited = Counter(cast("dict[str, int]", state["edited"]))

    # --- what adaptation asks (see `adaptation.WritesEdits`) ---

    def contexts(self, instances: Sequence[TaskInstance]) -> list[Context]:
        """The passages of the problems, each with its questions."""
        found: dict[Passage, list[TaskInstance]] = {}
        for instance in instances:
            if (passage := passage_of(instance)) is not None:
                found.setdefault(passage, []).append(instance)
        return [Context(context_id(p), tuple(questions)) for p, questions in found.items()]

    def edit_prompt(self, context: Context) -> Conversation:
        if self.prompt is None:
            raise ConfigurationError(
                "style is 'passage', in which nothing is written: choose another style for the "
                "arms with self-edits; arm context_only learns the passage alone"
            )
        return self._asked(_passage_in(context))

    def read_edit(self, context: Context, text: str | None, rng: np.random.Generator) -> Edit:
        passage = _passage_in(context)
        if text is None:
            sequences = train_sequences("", passage)
        elif not text.strip():
            return Edit((), failure="it is empty")
        else:
            sequences = self._sequences(passage, text.strip())
        if not sequences:
            return Edit((), failure="it has no text to train on")
        return Edit([TextDatum(text=text) for text in dict.fromkeys(sequences)])

    # --- passages ---

    @cached_property
    def _passages(self) -> Mapping[Passage, frozenset[str | None]]:
        """The passages of the splits that agents know, each with the skills of its problems."""
        found: dict[Passage, set[str | None]] = {}
        splits = [split for split in KNOWN if split in self.task.splits]
        for instance in (one for split in splits for one in self.task.on(split).instances):
            if (passage := passage_of(instance)) is not None:
                found.setdefault(passage, set()).add(instance.skill)
        return {passage: frozenset(skills) for passage, skills in found.items()}

    def _waiting(self, assignment: Assignment, rng: np.random.Generator) -> list[Passage]:
        """The passages for an assignment, in the order in which they are edited."""
        found = map(passage_of, (done.instance for done in assignment.examples))
        shown = dict.fromkeys(passage for passage in found if passage is not None)
        of_skill = [p for p, skills in self._passages.items() if assignment.skill in skills]
        fitting = [*dict.fromkeys((*shown, *of_skill))] or [*self._passages]
        if self.style == "passage":
            fitting = [passage for passage in fitting if not self._edited[_key(passage)]]
        order = [fitting[int(i)] for i in rng.permutation(len(fitting))]
        return sorted(order, key=lambda p: (self._edited[_key(p)], p not in shown))

    def _asked(self, passage: Passage) -> tuple[Message, ...]:
        assert self.prompt is not None
        *before, last = self.prompt.render(title=passage.title, passage=passage.text)
        # a prompt's last line is without its end, and a text is continued behind it
        end = " " if self.style == "self_qa" else "\n"
        return (*before, last.model_copy(update={"content": last.content + end}))

    def _sequences(self, passage: Passage, text: str) -> list[str]:
        return train_sequences(text, passage, self.split, append_passage=self.append_passage)


def context_id(passage: Passage) -> str:
    """The id of the passage as a context: its title, and a hash of title and text."""
    return f"{re.sub(r'[^0-9A-Za-z]+', '_', passage.title):.40}-{_key(passage)}"


def _passage_in(context: Context) -> Passage:
    passage = passage_of(context.questions[0])
    assert passage is not None  # it comes from `contexts`
    return passage


def _key(passage: Passage) -> str:
    return hashlib.sha256("\n".join(passage).encode()).hexdigest()[:16]


def train_sequences(
    edit: str, passage: Passage, split: SplitBy = "lines", *, append_passage: bool = True
) -> list[str]:
    """The texts to train on, each headed by the title; the passage is the last of them.

    "Sure:\\n1. A\\n2. B", split by lines, gives "T\\n1. A", "T\\n2. B" and "T\\n{passage}".

    Args:
        edit: the model's text about the passage.
        split: "segments" divides it at "---". "lines" also divides each segment into lines, without
            a first line before one that begins with "1."; an edit with questions and answers is
            divided before each "Question N:" instead.
        append_passage: False leaves the passage out.
    """
    found = [part.strip() for part in edit.split("---") if part.strip()]
    if split == "lines" and _QUESTION.search(edit) and _ANSWER.search(edit):
        found = re.split(r"\n(?=Question\s+\d+:)", edit.strip())
        if not found[0].lstrip().startswith("Question"):
            found[0] = f"Question 1: {found[0].strip()}"
    elif split == "lines":
        found = [line.strip() for part in found for line in part.splitlines() if line.strip()]
        if len(found) > 1 and found[1].startswith("1."):
            found = found[1:]
    texts = [*found, passage.text.strip()] if append_passage else found
    return [f"{passage.title}\n{text}" for text in texts]
