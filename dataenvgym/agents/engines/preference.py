"""Preference pairs from the student's own errors: the right answer before the one that it gave.

Another engine writes new problems with right answers; the student tries them; where it is wrong,
the two answers make a preference record (chosen, rejected), which trains by DPO.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from pydantic import JsonValue

from dataenvgym.agents.engines.generating import generated
from dataenvgym.agents.policies.plain import apportion
from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.interfaces import (
    PredictorInterface,
    Reply,
    SamplingParameters,
    Stateful,
    TaskInterface,
)
from dataenvgym.plans import Engine, Plan
from dataenvgym.records import PreferenceDatum, SupervisedDatum, TrainingDatum
from dataenvgym.scoring import extract_final_answer, grade_pairs
from dataenvgym.tasks.prompt_template import prompt_template_of


class PreferenceOptions(TypedDict, total=False):
    """Keyword arguments of `PreferenceEngine` that an engine built on it passes on."""

    temperature: float
    rounds: int
    most_tries: float


class PreferenceEngine:
    """The errors that the student makes on the records of `engine`, as preference records.

    An answer is wrong if its final answer is not that of the record; where the record marks no
    final answer, if its words are not the record's.

    Args:
        engine: writes supervised records with right answers.
        task: how the student is asked (its prompts) and draws its answers (its `sampling`), where
            it says so.
        temperature: of the tries; 0.0 takes the answers that it would give in an evaluation.
        rounds: how often more records are asked for while errors are missing, at least 1; an engine
            that wrote nothing is not asked again.
        most_tries: the most records tried, for each pair that is wanted, at least 1.
    """

    def __init__(
        self,
        engine: Engine,
        task: TaskInterface,
        *,
        temperature: float = 0.0,
        rounds: int = 4,
        most_tries: float = 8.0,
    ) -> None:
        if rounds < 1 or most_tries < 1:
            raise ConfigurationError(
                f"rounds is {rounds} and most_tries is {most_tries}, expected 1 or more of both"
            )
        self.engine = engine
        self._task = task
        self.rounds = rounds
        self.most_tries = most_tries
        sampling: SamplingParameters = getattr(task, "sampling", SamplingParameters())
        self._sampling = sampling.model_copy(update={"temperature": temperature})

    @property
    def skills(self) -> Sequence[str]:
        return self.engine.skills

    @property
    def chooses(self) -> bool:
        """Whether it can do without a skill and examples: if the other engine can."""
        return bool(getattr(self.engine, "chooses", False))

    @property
    def needs_examples(self) -> bool:
        """Whether the other engine cannot do without examples."""
        return bool(getattr(self.engine, "needs_examples", False))

    @property
    def writes_nothing(self) -> bool:
        """Whether the other engine never writes a record."""
        return bool(getattr(self.engine, "writes_nothing", False))

    def prepare(self) -> None:
        """Have the other engine load what it writes from."""
        if (prepare := getattr(self.engine, "prepare", None)) is not None:
            prepare()

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """As many pairs as the plan has records; fewer where the student makes too few errors.

        Each round shares its tries out as the plan does; of more errors than are wanted, chance
        decides.

        Raises:
            BudgetSpentError: if the other engine's budget is spent before there is any pair.
            ConfigurationError: if the other engine's records are of another kind.
        """
        template = prompt_template_of(self._task)
        wanted = sum(assignment.count for assignment in plan)
        pairs: dict[str, PreferenceDatum] = {}
        tried: set[str] = set()
        error_rate = 0.5
        for _ in range(self.rounds):
            tries = math.ceil((wanted - len(pairs)) / error_rate)
            if (tries := min(tries, int(wanted * self.most_tries) - len(tried))) <= 0:
                break
            try:
                asked_for = _scaled(plan, tries)
                written = generated(self.engine, asked_for, predictor, rng)
            except BudgetSpentError:
                if not pairs:
                    raise
                break
            if not written:
                break
            framed = map(template.frame, _supervised(written))
            records = [record for record in framed if record.instruction not in tried]
            tried.update(record.instruction for record in records)
            for pair in self._errors(records, predictor, rng):
                pairs[pair.instruction] = pair
            error_rate = max(len(pairs) / max(len(tried), 1), 0.05)
        found = list(pairs.values())
        chosen = sorted(rng.permutation(len(found))[:wanted].tolist())
        return [found[i] for i in chosen]

    def _errors(
        self,
        records: Sequence[SupervisedDatum],
        predictor: PredictorInterface,
        rng: np.random.Generator,
    ) -> list[PreferenceDatum]:
        sampling = self._sampling.model_copy(update={"seed": int(rng.integers(2**62))})
        replies = predictor.predict([record.prompt for record in records], sampling)
        answered = [
            (record, reply.text)
            for record, reply in zip(records, replies, strict=True)
            if isinstance(reply, Reply) and reply.text
        ]
        right = self.are_right(answered)
        return [_pair(*tried) for tried, ok in zip(answered, right, strict=True) if not ok]

    def are_right(self, answered: Sequence[tuple[SupervisedDatum, str]]) -> list[bool]:
        """Whether each text answers its record as well as the record's own output does."""
        return _are_right(answered)

    def state_dict(self) -> dict[str, JsonValue]:
        return self.engine.state_dict() if isinstance(self.engine, Stateful) else {}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        if isinstance(self.engine, Stateful):
            self.engine.load_state_dict(state)


def _scaled(plan: Plan, total: int) -> Plan:
    """The plan with counts in the same proportions that add up to `total`."""
    counts = apportion(np.array([float(assignment.count) for assignment in plan]), total)
    return tuple(a.of(n) for a, n in zip(plan, counts, strict=True) if n)


def _supervised(records: Sequence[TrainingDatum]) -> list[SupervisedDatum]:
    supervised = [record for record in records if isinstance(record, SupervisedDatum)]
    if records and not supervised:
        raise ConfigurationError(
            f"the preference engine needs supervised records to try the student on, and the "
            f"engine in it writes records of kind {records[0].kind!r}"
        )
    return supervised


def _are_right(answered: Sequence[tuple[SupervisedDatum, str]]) -> list[bool]:
    """Whether each text answers its record as well as the record's own output."""
    golds = [extract_final_answer(record.output) for record, _ in answered]
    answers = [extract_final_answer(text) for _, text in answered]
    both = [(g, a) for g, a in zip(golds, answers, strict=True) if g is not None and a is not None]
    verdicts = iter(grade_pairs(both))
    right = []
    for gold, answer, (record, text) in zip(golds, answers, answered, strict=True):
        if gold is None:
            right.append(text.split() == record.output.split())
        else:
            right.append(answer is not None and next(verdicts).equal)
    return right


def _pair(record: SupervisedDatum, answer: str) -> PreferenceDatum:
    return PreferenceDatum(
        instruction=record.instruction,
        input=record.input,
        system=record.system,
        history=record.history,
        chosen=record.output,
        rejected=answer,
        provenance=record.provenance,
    )
