"""Self-teaching: the student's own tries at training problems become its records.

The student tries each problem several times. `SelfTeachingEngine` plays the problems, and its
subclasses make records of the tries:

- `SelfAnswersEngine` picks one try, whose messages are learned:
  `SelfConsistencyEngine` the majority answer,
  `RejectionSamplingEngine` a right answer;
- `ContrastEngine` makes preference pairs of a right try and a wrong one;
- `ScoredTriesEngine` (scored_tries) gives each turn of each try a weight;
- `BranchedTriesEngine` (branched_tries) plays a try again from one of its turns on, to compare,
  and `SegmentPairsEngine` (segment_pairs) makes pairs of segments of that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, cast

import numpy as np
from annotated_types import Gt, Le
from pydantic import JsonValue, PositiveFloat, PositiveInt

from dataenvgym.events import tell
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, PreferenceDatum, TaskInstance, TrainingDatum
from dataenvgym.records.plans import EngineFit, Plan
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.metrics.answers import answers_of, classes_of, sameness_of
from dataenvgym.tasks.record_conversion import preference_of, prefix_records, record_of


@dataclass(eq=False)
class SelfTeachingEngine(ABC):
    """Writes records from the student's own tries; a subclass chooses which (`learn`).

    An assignment with a skill gets problems of that skill; one with examples, problems of their
    skill if it is known; any other, problems of all skills. Each problem is used once.

    Args:
        task: the task whose training split has the problems.
        samples: the student's tries at each problem.
        temperature: of the student's answers, above 0.
        tries: the most problems tried for each wanted record.

    Attributes:
        records_per_problem: the most records that a problem is expected to give.
        learns_once: True if a problem is used once in a run; False if once in an iteration.
    """

    fit = EngineFit(needs="counts")
    records_per_problem = 1
    learns_once = True

    task: Task
    _: KW_ONLY
    samples: PositiveInt = 8
    temperature: PositiveFloat = 1.0  # greedy answers are all alike
    tries: PositiveInt = 4

    def __post_init__(self) -> None:
        changes = {"temperature": self.temperature, "top_p": 1.0}
        self.sampling = self.task.sampling.model_copy(update=changes)
        self._used: set[str] = set()

    # --- what a subclass says ---

    @abstractmethod
    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[TrainingDatum]:
        """Make records of the student's tries at one problem, the best first; perhaps none.

        Args:
            tries: `samples` of them, including failed ones.
        """

    def learn_all(
        self, problems: Sequence[Sequence[CompletedTaskInstance]]
    ) -> Sequence[Sequence[TrainingDatum]]:
        """Do the same for several problems; override it to handle them together."""
        return [self.learn(tries) for tries in problems]

    # --- what an agent asks ---

    @property
    def skills(self) -> Sequence[str]:
        """The skills of the training split."""
        return tuple(sorted({p.skill for p in self.task.on("train").instances if p.skill}))

    def prepare(self) -> None:
        _ = self.task.on("train").instances
        attemptable(self.task)

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return the records of the plan; fewer if answers to learn from are rare."""
        seed = int(rng.integers(2**31))
        wishes: Counter[str | None] = Counter()  # records of each skill; None means any
        for assignment in plan:
            skills = {example.instance.skill for example in assignment.examples}
            shared = skills.pop() if len(skills) == 1 else None
            wishes[shared if assignment.skill is None else assignment.skill] += assignment.count
        problems = self.task.on("train").instances
        order = [problems[int(i)] for i in rng.permutation(len(problems))]
        left = {skill: self.tries * count for skill, count in wishes.items()}
        records: list[TrainingDatum] = []
        tried: set[str] = set()
        wave = 0
        while chosen := self._choose(order, tried, wishes, left):
            tried |= {problem.id for problem, _ in chosen}
            tries = self.play([p for p, _ in chosen], predictor, derive_seed(seed, wave))
            found = self.learn_all(tries)
            for (problem, skill), lessons in zip(chosen, found, strict=True):
                left[skill] -= 1
                if taken := lessons[: wishes[skill]]:
                    wishes[skill] -= len(taken)
                    if self.learns_once:
                        self._used.add(problem.id)
                    records += taken
            wave += 1
            tell(f"self-teaching: {len(records)} records from {len(tried)} problems")
        return records

    def state_dict(self) -> dict[str, JsonValue]:
        return {"used": [*sorted(self._used)]}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        self._used = set(cast("list[str]", state["used"]))

    def _choose(
        self,
        order: Sequence[TaskInstance],
        tried: set[str],
        wishes: dict[str | None, int],
        left: dict[str | None, int],
    ) -> list[tuple[TaskInstance, str | None]]:
        """Choose new problems of each skill: as many as its records need, within its limit."""
        each = self.records_per_problem
        rooms = {skill: min(-(-count // each), left[skill]) for skill, count in wishes.items()}
        chosen: list[tuple[TaskInstance, str | None]] = []
        for problem in order:
            if problem.id in tried or problem.id in self._used:
                continue
            skill = problem.skill if rooms.get(problem.skill) else None
            if rooms.get(skill):
                rooms[skill] -= 1
                chosen.append((problem, skill))
        return chosen

    def play(
        self, problems: Sequence[TaskInstance], predictor: PredictorInterface, seed: int
    ) -> Sequence[Sequence[CompletedTaskInstance]]:
        """Let the student try each problem `samples` times; subclasses may play differently."""
        seeds = (derive_seed(seed, sample) % 2**31 for sample in range(self.samples))
        rounds = [
            self.task.attempt(
                predictor, problems, sampling=self.sampling.model_copy(update={"seed": seed})
            )
            for seed in seeds
        ]
        return [*zip(*rounds, strict=True)]


@dataclass(kw_only=True, eq=False)
class SelfAnswersEngine(SelfTeachingEngine):
    """Writes records from one of the student's tries; a subclass chooses which (`pick`).

    Args:
        prefixes: also add a record for each beginning of a try, cut after each of the student's
            messages. Trainers learn every reply of a record, so early replies are learned more
            often than late ones. All these records count toward the wanted number.
    """

    prefixes: bool = False

    @abstractmethod
    def pick(self, tries: Sequence[CompletedTaskInstance]) -> CompletedTaskInstance | None:
        """Pick the try at a problem to learn from, or None; failed tries are among them."""

    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[TrainingDatum]:
        """Make a record of the picked try, and with `prefixes` of its beginnings."""
        if (picked := self.pick(tries)) is None:
            return ()
        prompt = self.task.prompt(picked.instance)
        if self.prefixes:
            return prefix_records(picked, prompt)
        record = record_of(picked, prompt)
        return () if record is None else (record,)


class RejectionSamplingEngine(SelfAnswersEngine):
    """The student learns its own answers that the task's scorer judges right.

    Also known as expert iteration. It needs the gold answers of the training split to tell right
    from wrong; it needs no worked solutions.
    """

    def pick(self, tries: Sequence[CompletedTaskInstance]) -> CompletedTaskInstance | None:
        """Pick the first right try."""
        return next((c for c in tries if c.was_correct), None)


@dataclass(kw_only=True, eq=False)
class SelfConsistencyEngine(SelfAnswersEngine):
    """The student learns its own majority answers, without gold answers or a teacher.

    It uses no gold answers: training makes the student surer of its most frequent answer. That
    helps where the majority answer is right more often than a single one, and harms elsewhere.

    The task's domain decides which answers are the same: in math, equal final answers; in code,
    programs with the same results. If the domain cannot compare answers, whole texts are compared.

    Args:
        agreement: the least share of answers that must agree, above 0.
    """

    agreement: Annotated[float, Gt(0), Le(1)] = 0.75

    def pick(self, tries: Sequence[CompletedTaskInstance]) -> CompletedTaskInstance | None:
        """Pick the first try of the majority if it is large enough; scores are not used."""
        answers = [answer for answer, _ in answers_of(self.task, tries)]
        place, votes = majority(answers, sameness_of(self.task, tries[0].instance))
        return tries[place] if votes / self.samples >= self.agreement else None


def majority(answers: Sequence[str | None], same: Callable[[str, str], bool]) -> tuple[int, int]:
    """Find the place of the first most frequent answer, and its number of votes.

    None is not a vote; without any, the result is (0, 0). `same` compares answers like 1/2 and 0.5.
    """
    found, votes = classes_of(answers, same)
    if not found:
        return 0, 0
    winner = max(range(len(found)), key=votes.count)
    return answers.index(found[winner]), votes.count(winner)


class ContrastEngine(SelfTeachingEngine):
    """Preference pairs (DPO): the student's right tries against its wrong ones.

    Writes a preference record for each problem that the student solves only sometimes.

    The prompt is the common beginning of a solved and a failed try; chosen and rejected are the
    messages where they first differ (see `preference_of`). In a conversation with tools the
    rejected message may come before the error itself. So the engine takes the pair of tries that
    differ last, whose messages are closest to the error.

    It needs the gold answers of the training split to tell right from wrong. The records train by
    DPO; `trainer.pref_ftx=1` also trains the student on the chosen messages.
    """

    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[PreferenceDatum]:
        """One pair; none if no try is right or none is wrong. Failed calls are neither."""
        right = [c for c in tries if c.was_correct]
        wrong = [c for c in tries if not c.was_correct and c.error is None]
        if not right or not wrong:
            return ()
        prompt = self.task.prompt(tries[0].instance)
        pairs = (preference_of(one, other, prompt) for one in right for other in wrong)
        found = [pair for pair in pairs if pair is not None]
        return sorted(found, key=lambda pair: -len(pair.prompt))[:1]
