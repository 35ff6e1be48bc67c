"""The environment whose actions grow a forest of skills; its engine writes the records.

step(action) -> the engine names new subskills -> the plan: an allocation for each subskill
             -> the engine writes that many records -> check -> train -> evaluate -> forest

Its further files in `iterations/NNN/` (iteration 000 has only the forest):

    action.json       the agent's action
    plan.json         the forest after the action: the engine's order
    engine.json       the engine's state after it wrote, if it has a state
    untaught.jsonl    the student's answers to a sample of the new records, before the training
    trained.jsonl     its answers to a sample of the records that it was trained on so far
    forest.json       the forest after the iteration

The engine's records are written after the first three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import NonNegativeInt

from dataenvgym.environments.checks import CheckedRecord, stamp
from dataenvgym.environments.episode_directory import read_state
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.environments.options import EnvironmentOptions
from dataenvgym.environments.rendering import forest_table
from dataenvgym.environments.shown_student import ShownStudent
from dataenvgym.environments.skill_tree.actions import (
    TreeAction,
    TreeActionSpace,
    parse_tree_action,
    tree_observation_space,
)
from dataenvgym.environments.skill_tree.forest import Forest
from dataenvgym.environments.skill_tree.training_sample import (
    answer_again,
    renewed_sample,
    subskill_taught,
)
from dataenvgym.environments.skill_tree.transitions import (
    Results,
    accuracies_of,
    apply_action,
    apply_results,
    plant,
)
from dataenvgym.environments.skill_tree.tree_engine import (
    TreeEngine,
    key_of,
    wrong_first,
)
from dataenvgym.environments.teaching import Observation, TeachingEnvironment
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import Stateful
from dataenvgym.options import takes
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TaskInstance, TrainingDatum
from dataenvgym.records.plans import Engine, warn_of_shortage
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.adapted_task import known_instances


@dataclass(frozen=True, kw_only=True)
class TreeOptions(EnvironmentOptions):
    """The options of `SkillTree`.

    Attributes:
        engine: writes the records. It may name subskills (`propose_subskills`) and find a problem's
            subskill (`subskill_of`). Without these methods, each skill has one subskill, the
            skill itself.
        train_sample: the number of records of each subskill that the student answers: of the new
            ones before each training, for `untaught_accuracy`, and of all after it, for
            `train_accuracy`; 0 for none.
        agent_name: is written into each record's provenance.
    """

    engine: Engine | None = field(default=None, kw_only=False)
    train_sample: NonNegativeInt = 2
    agent_name: str | None = None


class SkillTree(TeachingEnvironment):
    """The agent sees the forest and acts on it; an engine writes the records.

    The observation is that of `SkillList`, plus `"forest"`, a `Forest`. The action is a tuple of
    `Explore` and `Exploit`, at most one for each skill.
    """

    @takes(TreeOptions)
    def __init__(self, given: TreeOptions) -> None:
        if given.engine is None:
            raise ConfigurationError(
                "SkillTree has no engine to write its records: choose one with agent/engine=..., "
                "or for your own agent 'environment.engine={_target_: my_module.MyEngine}'"
            )
        self.set_up(given)
        self.engine = given.engine
        self.train_sample = given.train_sample
        self.action_space: TreeActionSpace = TreeActionSpace()
        self.observation_space = tree_observation_space()
        self._forest = self._plan = Forest()
        self._completed: Sequence[CompletedTaskInstance] = ()
        self._trained: Sequence[TaskInstance] = ()
        self._tree_engine = TreeEngine(given.engine, given.agent_name)
        self._engine_state = self._tree_engine.state

    @property
    def forest(self) -> Forest:
        """The forest after the last finished iteration."""
        return self._forest

    # --- what `TeachingEnvironment` asks ---

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        instances = known_instances(self.task)
        if self.labeler is None and instances and not any(i.skill for i in instances):
            raise _no_skills(self.task.name)
        return super().reset(seed=seed, options=options)

    def parse(self, action: Any) -> TreeAction:
        return parse_tree_action(action, self._forest)

    def records_of(self, files: IterationFiles, action: TreeAction) -> Sequence[TrainingDatum]:
        if files.load("action.json", TreeAction) != action:
            files.clear()
            files.save("action.json", action)
        records: Sequence[TrainingDatum] | None = files.read_submitted()
        if records is None:
            with self.clock("agent"):
                plan, records = self._write(files.number, action)
                files.save("plan.json", plan)
                if (state := self._tree_engine.state) is not None:
                    files.save("engine.json", state)
                files.save("records.jsonl", [CheckedRecord(record=r) for r in records])
        else:
            self._load_engine_of(files)
        if (plan := files.load("plan.json", Forest)) is None:
            raise RunDirectoryError(
                f"{files.directory / 'plan.json'} is missing; {files.marks.way_out}"
            )
        self._plan = plan
        return records

    def pending_action(self) -> TreeAction | None:
        action: TreeAction | None = self._files_of_next.load("action.json", TreeAction)
        return action

    def before_training(self, files: IterationFiles, accepted: Sequence[TrainingDatum]) -> None:
        if not self.train_sample or files.read_completed("untaught.jsonl") is not None:
            return
        rng = derive_rng(self._seed, files.number, "untaught")
        with self.clock("generate"):
            sample = renewed_sample((), accepted, {}, self.train_sample, rng, self.task)
            completed = answer_again(self.task, self.predictor, sample)
        files.save("untaught.jsonl", completed)

    def learn_from(
        self,
        files: IterationFiles,
        accepted: Sequence[TrainingDatum],
        completed: Sequence[CompletedTaskInstance],
        report: PerformanceReport,
    ) -> None:
        plan = plant(report, self._plan if files.number else Forest())
        if not plan.trees:
            raise _no_skills(report.task)
        trained = self._asked_again(files, accepted, plan)
        engine = self._tree_engine
        untaught = files.read_completed("untaught.jsonl") or ()
        forest = apply_results(
            plan,
            Results(
                made=Counter(key for r in accepted if (key := key_of(r, plan)) is not None),
                validation=accuracies_of(
                    completed,
                    lambda c: engine.subskill_tested(c, plan),
                    plan,
                    told_apart=hasattr(self.engine, "subskill_of"),
                ),
                untaught=accuracies_of(untaught, subskill_taught, plan),
                training=accuracies_of(trained, subskill_taught, plan),
            ),
        )
        files.save("forest.json", forest)
        if not files.number:
            engine.reset()
        self._settle(forest, completed, trained)

    def go_on_from(self, files: IterationFiles, completed: Sequence[CompletedTaskInstance]) -> None:
        if (forest := files.load("forest.json", Forest)) is None:
            raise RunDirectoryError(
                f"{files.directory} is finished but has no forest.json; "
                "restore it, or start the run over"
            )
        if files.number:
            self._load_engine_of(files)
        else:
            self._tree_engine.reset()
        self._settle(forest, completed, files.read_completed("trained.jsonl") or ())

    def observe(
        self, completed: tuple[CompletedTaskInstance, ...], report: PerformanceReport
    ) -> Observation:
        return {**super().observe(completed, report), "forest": self._forest}

    def picture(self) -> str:
        return forest_table(self._forest)

    # --- the records of an action ---

    def _write(self, number: int, action: TreeAction) -> tuple[Forest, Sequence[TrainingDatum]]:
        """Make the plan, and let the engine write its records."""
        engine = self._tree_engine
        engine.load(self._engine_state)
        examples = wrong_first(self._forest, self._completed)
        rng = derive_rng(self._seed, number, "subskills")
        plan = apply_action(self._forest, action, engine.names(self._forest, action, examples, rng))
        assignments = engine.assignments(plan, examples)
        if not assignments:
            return plan, []
        rng = derive_rng(self._seed, number, "engine")
        student = ShownStudent(self.predictor, self.trial)
        records = self._parse_records(self.engine.generate(assignments, student, rng))
        warn_of_shortage(self.engine, assignments, len(records))
        if not records:
            asked = sum(one.count for one in assignments)
            warn_run(f"{type(self.engine).__name__} wrote none of the {asked} records asked for")
        return plan, stamp([engine.signed(record, plan) for record in records], number)

    def _asked_again(
        self, files: IterationFiles, accepted: Sequence[TrainingDatum], plan: Forest
    ) -> list[CompletedTaskInstance]:
        """The student's answers to a sample of the records trained on so far."""
        if not self.train_sample or not files.number:
            return []
        if (completed := files.read_completed("trained.jsonl")) is None:
            seen = {(t.skill, s.name): s.generated for t in plan.trees for s in t.subskills}
            rng = derive_rng(self._seed, files.number, "trained")
            with self.clock("generate"):
                sample = renewed_sample(
                    self._trained, accepted, seen, self.train_sample, rng, self.task
                )
                completed = answer_again(self.task, self.predictor, sample)
            files.save("trained.jsonl", completed)
        return completed

    # --- state ---

    def _settle(
        self,
        forest: Forest,
        completed: Sequence[CompletedTaskInstance],
        trained: Sequence[CompletedTaskInstance],
    ) -> None:
        self._forest = self._plan = self.action_space.forest = forest
        self._completed = completed
        self._trained = tuple(c.instance for c in trained)
        self._engine_state = self._tree_engine.state

    def _load_engine_of(self, files: IterationFiles) -> None:
        """Restore the engine's state after it wrote in this iteration."""
        if isinstance(self.engine, Stateful):
            self._tree_engine.load(read_state(files.directory / "engine.json"))

    def _identity(self) -> dict[str, Any]:
        own = {"engine": type(self.engine).__name__, "train_sample": self.train_sample}
        return {**super()._identity(), **own}


def _no_skills(task: str) -> ConfigurationError:
    return ConfigurationError(
        f"task {task!r} has no skills, and SkillTree grows a tree for each: choose how to find "
        "some (`dataenvgym list skills`), or environment=open_ended"
    )
