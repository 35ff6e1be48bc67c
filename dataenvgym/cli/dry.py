"""`--dry`: the plan of a command, and the first prompts of student and teacher; asks no model.

The teacher's prompts are found by beginning the episode with a student that answers nothing useful
and a teacher that ends it with its first questions.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from omegaconf import DictConfig

from dataenvgym.agents.agent import Agent, TreeAgent
from dataenvgym.cli.console import Terminal
from dataenvgym.environments.iterations import finished_iterations
from dataenvgym.environments.teaching import TeachingEnvironment
from dataenvgym.errors import ConfigurationError, DataEnvGymError, noting_needs
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TrainingRun
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.records.plans import engine_fit
from dataenvgym.runs.config import build_agent, build_environment
from dataenvgym.runs.config.run_directory import is_done, run_directory
from dataenvgym.runs.documents import Document, Line, Quote, Table, show
from dataenvgym.runs.episodes.runner import teaching_of
from dataenvgym.runs.texts import several
from dataenvgym.students.external.environments import has_cuda
from dataenvgym.studies.executors.interface import build_episode
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.first_prompts import Enough, Stub, first_prompts, with_stubs
from dataenvgym.tasks.source import Split


class Plan(NamedTuple):
    """What a command would do.

    Attributes:
        facts: names, and what they are, without the models.
        config: it names the models.
        predictor: the student.
        name: of what the student has learned.
        parts: those that may need GPUs.
        prompts: titles and conversations.
        notes: texts and tables below the prompts.
    """

    facts: Iterable[tuple[str, str]]
    config: DictConfig
    predictor: PredictorInterface
    name: str = ""
    parts: Sequence[str] = ("predictor", "trainer")
    prompts: Sequence[tuple[str, Conversation]] = ()
    notes: Sequence[str | Table] = ()


def show_plans(console: Terminal, plans: Callable[[], Iterable[Plan]]) -> None:
    """Show plans, and what this machine lacks.

    Args:
        plans: makes them. If it fails for the lack of something, only that is shown.

    Raises:
        ConfigurationError: if the command could not begin on any machine.
    """
    with console.working(), noting_needs() as needs:
        try:
            made = [*plans()]
        except DataEnvGymError as error:
            is_file = isinstance(error.__cause__, FileNotFoundError)
            if str(error) not in map(str, needs):
                if not (is_file and isinstance(error, ConfigurationError)):
                    raise
                needs.append(error)
            made = []
        lacks = [("would need", str(need)) for need in needs]
        for plan in made:
            show(_described(plan, lacks), console)
    if not made:
        show([_facts(lacks), "Nothing was run: the plan is not known without the above."], console)
        return
    show(["", Line("Nothing was run. Without --dry, this starts.", "title")], console)


def _facts(facts: Sequence[tuple[str, str]]) -> Table:
    return Table(("", ""), facts, texts=2)


def _described(plan: Plan, lacks: Sequence[tuple[str, str]]) -> Document:
    yield _facts([*plan.facts, *_models(plan), *lacks])
    for title, conversation in plan.prompts:
        yield Line(title, "section")
        for message in conversation:
            yield Quote(message.role, message.content)
    yield from plan.notes


def _models(plan: Plan) -> Iterator[tuple[str, str]]:
    """The models, and the GPUs that this machine lacks for them."""
    config, trainer = plan.config, getattr(plan.predictor, "trainer", None)
    student = config.student.get("path") or "your own"
    yield "student", f"{plan.name}{student}, by {type(plan.predictor).__name__}"
    if trainer is not None and "trainer" in plan.parts:
        yield "trainer", type(trainer).__name__
    asked = {"teacher": config.teacher, **(config.task.get("others") or {})}
    for who, section in asked.items():
        if section.get("_target_") is not None:
            yield str(who), model_of(section)
    for part in plan.parts if not has_cuda() else ():
        if gpus := config[part].get("gpus"):
            yield "would need", f"{several(len(gpus), 'GPU')} for the {part}"


def plan_of_run(config: DictConfig, *, fresh: bool, most: int) -> Plan:
    """The plan of a run.

    Args:
        most: of the teacher's prompts.
    """
    directory = run_directory(config)
    environment, agent = build_episode(config, directory)
    teaching = teaching_of(environment)
    task = teaching.task
    parts = [getattr(agent, name, None) for name in ("policy", "engine")]
    names = ", ".join(type(part).__name__ for part in parts if part is not None)
    name = getattr(agent, "name", type(agent).__name__)
    follows = engine_fit(getattr(agent, "engine", None)).needs != "nothing"
    each = getattr(agent, "records_per_iteration", None) if follows else None
    records = "" if each is None else f" of {several(each, 'record')} at most"
    facts = [
        ("run", f"{directory} ({_state(config, directory, fresh=fresh)})"),
        ("task", f"{task.name}: {_problems(task)}"),
        ("environment", type(teaching).__name__),
        ("agent", f"{name} ({names})" if names else name),
        ("iterations", f"{config.episode.iterations}{records}"),
    ]
    if isinstance(teaching, TeachingEnvironment) and teaching.quality:
        facts.append(("quality", ", ".join(check.reason for check in teaching.quality)))
    prompts, note = _prompts(config, task, most)
    return Plan(facts, config, teaching.predictor, prompts=prompts, notes=[note])


def _state(config: DictConfig, directory: Path, *, fresh: bool) -> str:
    finished = len(finished_iterations(directory / "iterations"))
    if fresh and finished:
        return "starts over: --fresh removes existing files"
    if not finished:
        return "new"
    if is_done(config):
        return "finished already: its report would be shown"
    return f"continued after iteration {finished - 1}"


def _problems(task: Task) -> str:
    """The number of problems of each evaluated split, and its part of the source."""
    splits: tuple[Split, ...] = ("validation", "test")
    splits = tuple(s for s in splits if task.offers("splits") and s in task.splits)
    parts = []
    for split in splits:
        there = task.on(split)
        parts.append(f"{split}: {there.share() or several(len(there.instances), 'problem')}")
    return "; ".join(parts) or "your own class, which counts its problems itself"


def model_of(section: DictConfig) -> str:
    """The model and its server, without keys in its address."""
    model, url = section.get("model"), section.get("base_url")
    if model is None:
        return str(section._target_).rsplit(".", 1)[-1]
    where = re.sub(r"//[^/@]*@", "//", str(url)).partition("?")[0]
    return f"{model}{'' if url is None else f' at {where}'}"


ANSWER = "(the student's answer)"
"""The placeholder of the student's answers in a teacher's prompt."""


def _prompts(
    config: DictConfig, task: Any, most: int
) -> tuple[list[tuple[str, Conversation]], str]:
    """The first prompts of the episode, and a note on those of the teacher; touches no file of it.

    Args:
        task: the episode's task, passed in so that its problems are loaded only once.
    """
    task = with_stubs(task)
    prompts = [("The student's first prompt", each) for each in first_prompts(task)[:1]]
    reason = "there is no teacher (teacher=none)"
    if config.teacher.get("_target_") is not None:
        with tempfile.TemporaryDirectory(prefix="dataenvgym-") as directory:
            try:
                reason = _teach(config, task, _Teacher(), Path(directory))
            except Enough as enough:
                reason, n = "the first iteration does not ask it", len(enough.heard)
                for i, conversation in enumerate(enough.heard[:most], start=1):
                    title = f"The teacher's prompt {i} of {n} ({enough.purpose})"
                    prompts.append((title, conversation))
                if n:
                    return prompts, (
                        "What the student gets wrong is not known before it is asked: every "
                        "problem counts as wrong here."
                    )
    return prompts, f"No prompt of a teacher: {reason}."


class _Teacher:
    """Ends the preview with the questions of the first call."""

    def ask(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters, *, purpose: str
    ) -> NoReturn:
        raise Enough(conversations, purpose)


class _Student(Stub):
    """Ends the preview when it would be trained."""

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        raise Enough

    def save(self, path: Path) -> None:
        pass

    def load(self, path: Path) -> None:
        pass

    def reset(self) -> None:
        pass


def _teach(config: DictConfig, task: Task, teacher: _Teacher, directory: Path) -> str:
    """Begin the episode; return the reason if the teacher is not asked."""
    student = _Student(ANSWER)
    agent = build_agent(config, task=task, teacher=teacher)
    environment = build_environment(
        config, directory, task=task, predictor=student, teacher=teacher
    )
    teaching = environment.unwrapped
    parts = {
        "task": task,
        "environment": teaching,
        "skills": teaching.labeler if isinstance(teaching, TeachingEnvironment) else None,
        "agent": agent,
        "agent.policy": getattr(agent, "policy", None),
        "agent.engine": getattr(agent, "engine", None),
    }
    for name, part in parts.items():
        if part is not None and type(part).__module__.partition(".")[0] != "dataenvgym":
            own = f"{name} is your own {type(part).__name__}"
            return f"{own}, which could ask a model by itself, so it is not called"
    observation, _ = environment.reset(seed=int(config.seed))
    if isinstance(agent, Agent):
        agent(observation["completed"], student)
    elif isinstance(agent, TreeAgent):
        environment.step(agent.act(observation, student))
    return "the first iteration does not ask it"
