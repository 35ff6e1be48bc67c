"""Engines that write augmented problems: with augmentations from the options, or by self-edits."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from pydantic import JsonValue, PositiveInt

from dataenvgym.domains.few_shot.augmentations import (
    MOST_EXAMPLES,
    NOTHING,
    DataGeneration,
    Example,
    Group,
    SelfEdit,
    examples_of,
    read_self_edit,
)
from dataenvgym.domains.few_shot.domain import FewShotDomain, problem_id
from dataenvgym.domains.few_shot.problem import FewShotProblem, text_of
from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    SamplingParameters,
    TeacherInterface,
)
from dataenvgym.records import (
    Conversation,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.records.plans import Assignment, EngineFit, Plan
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.edits import Context, Edit
from dataenvgym.tasks.source import Split
from dataenvgym.teachers.prompts import Prompt, as_prompt


class GridEditEngine:
    """Few-shot puzzles made of demonstrations of others: left out, turned, mirrored, recolored.

    Writes small problems made of the demonstrations of larger ones (see `examples_of`).

    An assignment with a skill gets them from problems of that skill; one with examples, from
    problems of their skills; any other, from all problems.

    Args:
        task: a few-shot task. The records get its prompts.
        augmentations: what is also done: "basic" turns, mirrors, transposes and moves the grids;
            "size" doubles their resolution, height or width; "chain" turns or mirrors them and
            doubles their resolution; "repeat" repeats them along one axis or both.
        at_test_time: use the demonstrations of the validation problems, and if there are examples,
            of these; False uses those of the train split. The outputs to find are not used.
        examples_per_problem: the most records that a problem gives in a call; at most 250.

    Attributes:
        edits: the edit of each problem of the last call, by its id.

    Raises:
        ConfigurationError: if it is not a few-shot task.
    """

    fit = EngineFit(needs="counts")

    def __init__(
        self,
        task: Task,
        *,
        augmentations: Sequence[Group] = ("basic",),
        at_test_time: bool = False,
        examples_per_problem: PositiveInt = 10,
    ) -> None:
        if not isinstance(task.domain, FewShotDomain):
            raise ConfigurationError(
                f"{type(self).__name__} changes grids, and task {task.name!r} has none: choose "
                "task=few_shot, or another engine (`dataenvgym list agent/engine`)"
            )
        self._task, self._domain = task, task.domain
        training = NOTHING.training.model_copy(update={"num_train_epochs": 1})
        self._edit = SelfEdit(data_generation=DataGeneration.of(augmentations), training=training)
        self.at_test_time = at_test_time
        self._split: Split = "validation" if at_test_time else "train"
        self.examples_per_problem = min(examples_per_problem, MOST_EXAMPLES)
        self.edits: dict[str, SelfEdit] = {}
        self._unanswered: list[str] = []  # the reasons of failed calls
        self._written: set[str] = set()

    # --- what a subclass may override ---

    def edits_for(
        self, problems: Sequence[FewShotProblem], rng: np.random.Generator
    ) -> list[SelfEdit | Failure]:
        """The edit for each problem, or the failed call for it."""
        return [self._edit] * len(problems)

    # --- what an agent asks ---

    @property
    def skills(self) -> Sequence[str]:
        return tuple(sorted({p.skill for p in self._problems if p.skill}))

    def prepare(self) -> None:
        _ = self._problems

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return the records of the plan, all new; fewer if the problems do not give more.

        Raises:
            BudgetSpentError: if a teacher's budget is spent before there is any record.
            PredictionError: if no call of a teacher was answered.
        """
        self.edits = {}
        self._unanswered = []
        records: list[TrainingDatum] = []
        try:
            for assignment in plan:
                if not (fitting := self._fitting(assignment)):
                    skill = assignment.skill
                    warn_run(
                        f"an assignment gets no records: none of {len(self._problems)} problems of "
                        f"the {self._split} split has "
                        f"{f'skill {skill!r}' if skill else 'a skill of its examples'}"
                    )
                order = [fitting[i] for i in rng.permutation(len(fitting)).tolist()]
                missing = assignment.count
                while order and missing:
                    n = math.ceil(missing / self.examples_per_problem)
                    chosen, order = order[:n], order[n:]
                    new = self._records_of(chosen, assignment.of(missing), rng)
                    missing -= len(new)
                    records += new
        except BudgetSpentError:
            if not records:
                raise
        if unanswered := self._unanswered:
            n_asked = len(self.edits) + len(unanswered)
            if not self.edits:
                raise PredictionError(
                    f"the teacher answered none of {n_asked} requests for self-edits. The first "
                    f"failure: {unanswered[0]}. The same command continues from here"
                )
            warn_run(
                f"the teacher did not answer {len(unanswered)} of {n_asked} requests for "
                f"self-edits, the first because of this: {unanswered[0]}"
            )
        if failed := [(id, edit.failure) for id, edit in self.edits.items() if edit.failure]:
            warn_run(
                f"{len(failed)} of {len(self.edits)} self-edits failed and count as 0 epochs, the "
                f"first for {failed[0][0]}: {failed[0][1]}"
            )
        return records

    def state_dict(self) -> dict[str, JsonValue]:
        return {"written": [*sorted(self._written)]}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        self._written = set(cast("list[str]", state["written"]))

    @property
    def _problems(self) -> Sequence[TaskInstance]:
        """The problems whose demonstrations are used; not their views."""
        instances = self._task.on(self._split).instances
        return [p for p in instances if not p.data.get("view")]

    def _fitting(self, assignment: Assignment) -> Sequence[TaskInstance]:
        shown = {problem_id(example.instance) for example in assignment.examples}
        if self.at_test_time and (same := [p for p in self._problems if p.id in shown]):
            return same
        skills = {example.instance.skill for example in assignment.examples}
        if assignment.skill is not None:
            skills = {assignment.skill}
        return [p for p in self._problems if not skills or p.skill in skills]

    def _records_of(
        self, instances: Sequence[TaskInstance], assignment: Assignment, rng: np.random.Generator
    ) -> list[TrainingDatum]:
        """Records of these problems, at most as many as the assignment asks for."""
        problems = [instance.data_as(FewShotProblem) for instance in instances]
        edits = self.edits_for(problems, rng)
        records: list[TrainingDatum] = []
        for instance, problem, edit in zip(instances, problems, edits, strict=True):
            if isinstance(edit, Failure):
                self._unanswered.append(edit.reason)
                continue
            examples = examples_of(problem, edit.data_generation.groups, rng)
            edit = self.edits[instance.id] = edit.for_examples(len(examples))
            n_left = min(self.examples_per_problem, assignment.count - len(records))
            if not edit.training.num_train_epochs:
                continue
            provenance = Provenance(
                skill=assignment.skill or instance.skill, subskill=assignment.subskill
            )
            for example in examples:
                record = _record_of(example)
                text = f"{record.instruction}\0{record.output}"
                key = hashlib.sha256(text.encode()).hexdigest()[:16]
                if n_left and key not in self._written:
                    n_left -= 1
                    self._written.add(key)
                    signed = record.model_copy(update={"provenance": provenance})
                    records.append(self._domain.frame(signed))
        return records


def _record_of(example: Example) -> SupervisedDatum:
    *shown, last = example
    problem = FewShotProblem.model_construct(demonstrations=tuple(shown), input=last.input)
    return SupervisedDatum(instruction=problem.text, output=text_of(last.output))


class GridSelfEditEngine(GridEditEngine):
    """Lets a teacher, such as the student itself, choose the augmentations for each problem.

    An answer that is not a self-edit, or that takes too many steps, gives no records. A run trains
    all records together, by its own trainer: what an edit says of the strategy, the learning rate
    and the epochs is only checked (0 epochs give no records), and kept in `edits`. `adapt` trains
    each edit by itself, as it says.

    Args:
        teacher: the model that writes the self-edits; `teacher=student` is the student itself.
        task: a few-shot task.
        prompt: has `{problem}`, the demonstrations; see `configs/prompt/grid_self_edit.yaml`.
        temperature, max_tokens: of the teacher's answers.
        at_test_time, examples_per_problem: as for `GridEditEngine`.
    """

    chooses_training = True

    def __init__(
        self,
        teacher: TeacherInterface,
        task: Task,
        prompt: Prompt | Mapping[str, Any] | str = "grid_self_edit",
        *,
        temperature: float = 0.8,
        max_tokens: int = 128,
        at_test_time: bool = False,
        examples_per_problem: PositiveInt = 10,
    ) -> None:
        super().__init__(task, at_test_time=at_test_time, examples_per_problem=examples_per_problem)
        self._teacher = teacher
        self._prompt = as_prompt(prompt, needs=("problem",))
        self.sampling = SamplingParameters(temperature=temperature, max_tokens=max_tokens)

    def edits_for(
        self, problems: Sequence[FewShotProblem], rng: np.random.Generator
    ) -> list[SelfEdit | Failure]:
        sampling = self.sampling.model_copy(update={"seed": int(rng.integers(2**31))})
        asked = [self._asked(problem) for problem in problems]
        replies = self._teacher.ask(asked, sampling, purpose="self_edits")
        return [r if isinstance(r, Failure) else read_self_edit(r.text) for r in replies]

    # --- what adaptation asks (see `adaptation.WritesEdits`) ---

    def contexts(self, instances: Sequence[TaskInstance]) -> list[Context]:
        """The puzzles, each with its tests; not their views."""
        found: dict[str, list[TaskInstance]] = {}
        for instance in instances:
            if not instance.data.get("view"):
                found.setdefault(str(instance.data["demonstrations"]), []).append(instance)
        return [Context(tests[0].id, tuple(tests)) for tests in found.values()]

    def edit_prompt(self, context: Context) -> Conversation:
        return self._asked(context.questions[0].data_as(FewShotProblem))

    def read_edit(self, context: Context, text: str | None, rng: np.random.Generator) -> Edit:
        """The records that the edit asks for, `examples_per_problem` at most."""
        problem = context.questions[0].data_as(FewShotProblem)
        edit = NOTHING if text is None else read_self_edit(text)
        examples = examples_of(problem, edit.data_generation.groups, rng)
        examples = examples[: self.examples_per_problem]
        edit = edit.for_examples(len(examples))
        if edit.failure:
            return Edit((), failure=edit.failure)
        if not examples:
            return Edit((), failure="the puzzle has one demonstration, which gives no example")
        records = [self._domain.frame(_record_of(example)) for example in examples]
        rate, epochs = edit.training.learning_rate, float(edit.training.num_train_epochs)
        if text is None:
            return Edit(records)
        if not epochs or not rate:
            return Edit(())
        on_prompt = edit.training.strategy == "train_using_all_tokens"
        options: dict[str, Any] = {"train_on_prompt": True} if on_prompt else {}
        return Edit(records, {"learning_rate": rate, "num_train_epochs": epochs, **options})

    def _asked(self, problem: FewShotProblem) -> Conversation:
        shown = "\n\n".join(pair.text for pair in problem.demonstrations)
        return self._prompt.render(problem=shown)
