"""Preference pairs from the student's own errors: the right answer is preferred to the wrong one.

Another engine writes new problems with right answers; the student tries them; where it is wrong,
the two answers make a preference record (chosen, rejected), which trains by DPO.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge
from pydantic import JsonValue, PositiveInt

from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.interfaces import PredictorInterface, Stateful
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    PreferenceDatum,
    SupervisedDatum,
    TrainingDatum,
)
from dataenvgym.records.plans import (
    Engine,
    EngineFit,
    Plan,
    apportion,
    engine_fit,
    generated,
)
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.record_conversion import preference_of


@dataclass(eq=False)
class PreferenceEngine:
    """Turns the student's errors on the records of `engine` into preference records.

    The task's domain makes a problem of each record and judges the student's answer to it. A record
    that is not a problem of the domain makes no pair, nor does an answer that could not be judged.

    Args:
        engine: writes supervised records with right answers.
        task: asks and judges the student, with its `sampling`.
        temperature: of the tries; 0.0 gives the same answers as an evaluation.
        rounds: the most rounds of records to try while pairs are missing, at least 1; an engine
            that wrote nothing is not asked again.
        most_tries: the most records tried for each wanted pair, at least 1.
    """

    engine: Engine
    task: Task
    _: KW_ONLY
    temperature: float = 0.0
    rounds: PositiveInt = 4
    most_tries: Annotated[float, Ge(1)] = 8.0

    @property
    def skills(self) -> Sequence[str]:
        return self.engine.skills

    @property
    def fit(self) -> EngineFit:
        """The other engine's needs, and in any case the number of records."""
        fit = engine_fit(self.engine)
        return replace(fit, needs="counts") if fit.needs == "nothing" else fit

    def prepare(self) -> None:
        attemptable(self.task)
        if (prepare := getattr(self.engine, "prepare", None)) is not None:
            prepare()

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return as many pairs as the plan has records; fewer if the student makes too few errors.

        Each round divides its tries in the plan's proportions. If there are more errors than
        needed, chance decides.

        Raises:
            BudgetSpentError: if the other engine's budget is spent before there is any pair.
            ConfigurationError: if the other engine's records are of another kind.
        """
        wanted = sum(assignment.count for assignment in plan)
        pairs: dict[str, PreferenceDatum] = {}
        tried: set[str] = set()
        error_rate = 0.5
        for _ in range(self.rounds):
            tries = math.ceil((wanted - len(pairs)) / error_rate)
            if (tries := min(tries, int(wanted * self.most_tries) - len(tried))) <= 0:
                break
            try:
                parts = apportion(np.array([float(a.count) for a in plan]), tries)
                scaled = tuple(a.of(n) for a, n in zip(plan, parts, strict=True) if n)
                written = generated(self.engine, scaled, predictor, rng)
            except BudgetSpentError:
                if not pairs:
                    raise
                break
            if not written:
                break
            answered = [r for r in written if isinstance(r, SupervisedDatum | ChatDatum)]
            if not answered:
                raise ConfigurationError(
                    "the preference engine needs supervised records to try the student on, and "
                    f"the engine in it writes records of kind {written[0].kind!r}"
                )
            framed = (r if isinstance(r, ChatDatum) else self.task.frame(r) for r in answered)
            records = [record for record in framed if _question(record) not in tried]
            tried.update(map(_question, records))
            for pair in self._errors(records, predictor, rng):
                pairs[_question(pair)] = pair
            error_rate = max(len(pairs) / max(len(tried), 1), 0.05)
        found = list(pairs.values())
        chosen = sorted(rng.permutation(len(found))[:wanted].tolist())
        return [found[i] for i in chosen]

    def _errors(
        self,
        records: Sequence[SupervisedDatum | ChatDatum],
        predictor: PredictorInterface,
        rng: np.random.Generator,
    ) -> list[PreferenceDatum]:
        changes = {"temperature": self.temperature, "seed": int(rng.integers(2**62))}
        sampling = self.task.sampling.model_copy(update=changes)
        problems = [(r, p) for r in records if (p := self.task.problem_of(r)) is not None]
        tried = self.task.attempt(predictor, [p for _, p in problems], sampling=sampling)
        return [
            pair
            for (record, _), completed in zip(problems, tried, strict=True)
            if not (completed.error or completed.was_correct)
            and (pair := self._pair(record, completed)) is not None
        ]

    def _pair(
        self, record: SupervisedDatum | ChatDatum, tried: CompletedTaskInstance
    ) -> PreferenceDatum | None:
        """Prefer the record's answer to the student's; None if it said nothing, or the same."""
        prompt = self.task.prompt(tried.instance)  # may be longer than the record's
        if isinstance(record, ChatDatum):
            before, whole = len(prompt), record.conversation
            way = whole[before:] if whole[:before] == prompt else whole[-1:]
            right = tried.model_copy(update={"transcript": (*prompt, *way)})
            pair = preference_of(right, tried, prompt)
            return pair and pair.model_copy(update={"provenance": record.provenance})
        answer = tried.transcript[len(prompt)].content
        if answer in ("", record.output):
            return None
        return PreferenceDatum(
            instruction=record.instruction,
            input=record.input,
            system=record.system,
            history=record.history,
            chosen=record.output,
            rejected=answer,
            provenance=record.provenance,
        )

    def state_dict(self) -> dict[str, JsonValue]:
        return self.engine.state_dict() if isinstance(self.engine, Stateful) else {}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        if isinstance(self.engine, Stateful):
            self.engine.load_state_dict(state)


def _question(record: SupervisedDatum | ChatDatum | PreferenceDatum) -> str:
    """A key of the problem: everything before the answer."""
    return "\n".join(message.model_dump_json() for message in record.prompt)
