"""A simulated student with the interface of a real predictor.

It learns by counting records by skill (see `curves`). It answers a question right if the accuracy
of the skill is above the question's threshold, a number in [0, 1) that depends only on the question
and the seed. The thresholds of the task's questions of one split and skill are evenly spaced, in
random order. So a better student still answers the questions that it could answer before, the share
of right answers is the accuracy rounded to whole questions, and an episode takes seconds.

It knows the right answers: the skill of a question, and its solution.
"""

from __future__ import annotations

import copy
import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dataenvgym.environments.simulation.curves import LearningCurves, SimulatedStudent, read_curves
from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.records import Conversation, Message, TaskInstance, TrainingDatum
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import publishing, read_json, write_json
from dataenvgym.students.predictors.learner import RemembersFormer
from dataenvgym.tasks.adapted_task import known_instances
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.pocket import read_exercise
from dataenvgym.tasks.prompt_template import PromptTemplate
from dataenvgym.tasks.source import SPLITS


class Solution(NamedTuple):
    """The skill of a question, and the student's right messages."""

    skill: str
    replies: tuple[str, ...]


class AnswerKey:
    """Solves the questions of a task: its own instances, and questions of the pocket families.

    Args:
        task: a task with gold answers and skills. Questions of all its splits are known, if it
            offers them (`on(split).instances`).
    """

    def __init__(self, task: Task) -> None:
        self._task = task

    def __getitem__(self, question: str) -> Solution | None:
        """The solution of `question`, or None if it is unknown."""
        known = (part[question] for part in reversed(self._by_split) if question in part)
        return next(known, None) or _solved(question)

    @cached_property
    def templates(self) -> list[PromptTemplate]:
        """The texts of the task's prompts around a question."""
        return [part.domain.prompt_template for part in self._task.parts.values()]

    @cached_property
    def groups(self) -> list[list[str]]:
        """The task's own questions, grouped by split and skill."""
        groups: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        for split, solutions in enumerate(self._by_split):
            for question, solution in solutions.items():
                groups[split, solution.skill].append(question)
        return list(groups.values())

    @cached_property
    def _by_split(self) -> list[dict[str, Solution]]:
        splits = []
        for instances in self._instances():
            solutions = {}
            for one in instances:
                if one.skill is not None and one.answer is not None:
                    solved = _solved(one.instruction)
                    replies = solved.replies if solved else (f"#### {one.answer}",)
                    solutions[one.instruction] = Solution(one.skill, replies)
            splits.append(solutions)
        return splits

    def _instances(self) -> Iterator[Sequence[TaskInstance]]:
        """Yield the instances of each existing split."""
        task = self._task
        if not task.offers("on"):
            yield known_instances(task)
            return
        for split in SPLITS:
            try:
                yield task.on(split).instances
            except ConfigurationError:
                if split == task.split:
                    raise  # other splits are optional


def skill_of(record: TrainingDatum, known: Collection[str] | None = None) -> str | None:
    """The skill that a record teaches: from its provenance, or found by the pocket families.

    Args:
        known: accepted names in the provenance; other names, such as those of clusters, are
            ignored. None accepts every name.
    """
    named = record.provenance.skill
    if named is not None and (known is None or named in known):
        return named
    exercise = read_exercise(record.question)
    return exercise.skill if exercise else None


def wrong_output(output: str) -> str:
    """A wrong answer that looks like `output`: its last digit is increased by one."""
    if not (digits := list(re.finditer("[0-9]", output))):
        return "#### 0"
    place = digits[-1].start()
    return f"{output[:place]}{(int(output[place]) + 1) % 10}{output[place + 1 :]}"


def _solved(question: str) -> Solution | None:
    exercise = read_exercise(question)
    if exercise is None:
        return None
    calls = tuple(as_reply(message) for message in exercise.steps if message.tool_calls)
    return Solution(exercise.skill, (*calls, exercise.output))


_STATE = "simulated.json"
_SOFTNESS = 0.2
"""The scale, in accuracy, of random answers near a question's threshold at temperature 1."""


class SimulatedPredictor(RemembersFormer):
    """Learns by its curves, and answers by thresholds.

    A record counts for the skill of its provenance if the curves have it, else for the skill that
    the pocket families find in its question. Its answer is ignored, so wrong answers teach as well
    as right ones. A record without a skill of the curves teaches nothing. Other questions, neither
    the task's nor a pocket family's, are answered wrong.

    Args:
        task: has the gold answers.
        curves: the learning curves: the name of shipped curves, or a file that
            `python -m dataenvgym.environments.simulation` wrote.
        seed: of the thresholds; another seed gives another student with the same curves.

    Raises:
        ConfigurationError: if there are no such curves.
    """

    def __init__(
        self,
        task: Task,
        curves: LearningCurves | str | Path = "pocket_math",
        *,
        seed: int = 0,
    ) -> None:
        self.curves = read_curves(curves)
        self.seed = seed
        self._student = SimulatedStudent(self.curves)
        self._folder: Path | None = None  # has the learned accuracies
        self._places = {skill: i for i, skill in enumerate(self.curves.skills)}
        self._key = AnswerKey(task)

    @property
    def accuracies(self) -> dict[str, float]:
        """Its true accuracy by skill."""
        return dict(zip(self.curves.skills, self._student.accuracies.tolist(), strict=True))

    # --- answering ---

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """One reply for each conversation, to its last user message.

        At a temperature above 0, a question near its threshold is answered right at random; each
        repetition in one call is a new draw. `max_tokens` has no effect; a `json_schema` is refused
        with a ConfigurationError.
        """
        if sampling.json_schema is not None:
            raise ConfigurationError(
                "json_schema is set, but a simulated student only answers questions of its task; "
                "choose another teacher than the student"
            )
        asked: Counter[str] = Counter()
        replies: list[Reply | Failure] = []
        for conversation in conversations:
            asking, turn = _question(conversation)
            question = asking
            for template in self._key.templates:
                question = template.instruction_in(question)
            answer = self._answer(question, turn, sampling, asked[question])
            replies.append(Reply(text=sampling.until_stop(answer)))
            asked[question] += 1
        return replies

    def _answer(self, question: str, turn: int, sampling: SamplingParameters, attempt: int) -> str:
        solution = self._key[question]
        if solution is None:
            return "#### ?"
        place = self._places.get(solution.skill)
        accuracy = 0.0 if place is None else float(self._student.accuracies[place])
        if (threshold := self._thresholds.get(question)) is None:
            threshold = _uniform(self.seed, "threshold", question)
        above = accuracy - threshold
        if sampling.temperature > 0:
            x = above / (_SOFTNESS * sampling.temperature)
            share = 1 / (1 + math.exp(-x)) if x > -700 else 0.0
            right = _uniform(sampling.seed, "reply", attempt, question) < share
        else:
            right = above > 0
        *_, last = solution.replies
        if not right:
            return wrong_output(last)
        return solution.replies[turn] if turn < len(solution.replies) else last

    @cached_property
    def _thresholds(self) -> dict[str, float]:
        """The thresholds of the task's own questions."""
        thresholds = {}
        for group in self._key.groups:
            order = sorted(group, key=lambda q: _uniform(self.seed, "threshold", q))
            thresholds.update({q: (i + 0.5) / len(order) for i, q in enumerate(order)})
        return thresholds

    # --- learning ---

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        plain = list(training_data)
        for template in self._key.templates:
            plain = [template.unframe(record) for record in plain]
        counted = Counter(skill_of(record, self._places) for record in plain)
        counts = np.array([counted[skill] for skill in self.curves.skills], dtype=float)
        before = (self._student.accuracies, self._student.taught)
        former = self._folder
        with run.phase("train"):
            student = SimulatedStudent(self.curves)
            student.reset(derive_rng(run.seed, "simulated"))
            if run.start == "adapter":
                student.accuracies, student.taught = before
            student.teach(counts)
            _write(run.directory / "adapter", student)
        with run.phase("load"):
            self._student, self._folder = student, run.directory / "adapter"
        self.remember_former(former)

    def save(self, path: Path) -> None:
        _write(path, self._student)

    def load(self, path: Path) -> None:
        student = SimulatedStudent(self.curves)
        try:
            state = read_json(path / _STATE)
            student.accuracies = self._by_skill(state["accuracies"])
            student.taught = self._by_skill(state["taught"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AdapterError(f"{path} has no student of these curves: {error!r}") from error
        self._student, self._folder, self._former = student, path, "unknown"

    def with_adapter(self, folder: Path | None) -> SimulatedPredictor:
        other = copy.copy(self)
        other.reset() if folder is None else other.load(folder)
        return other

    def reset(self) -> None:
        self._student, self._folder = SimulatedStudent(self.curves), None
        self.remember_former(None)

    def describe(self) -> dict[str, Any]:
        digest = hashlib.sha256(self.curves.model_dump_json().encode()).hexdigest()
        return {"name": type(self).__name__, "curves": digest[:16], "seed": self.seed}

    def _by_skill(self, values: dict[str, float]) -> np.ndarray:
        return np.array([values[skill] for skill in self.curves.skills], dtype=float)


def _write(folder: Path, student: SimulatedStudent) -> None:
    skills = student.curves.skills
    with publishing(folder) as new:
        state = {
            name: dict(zip(skills, values.tolist(), strict=True))
            for name, values in (("accuracies", student.accuracies), ("taught", student.taught))
        }
        write_json(new / _STATE, state)


def _question(conversation: Sequence[Message]) -> tuple[str, int]:
    """The last user message, and the number of replies after it."""
    turn = 0
    for message in reversed(conversation):
        if message.role == "user":
            return message.content, turn
        turn += message.role == "assistant"
    return "", turn


def _uniform(*path: object) -> float:
    """A number in [0, 1) that depends only on `path`."""
    digest = hashlib.sha256("/".join(map(str, path)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56
