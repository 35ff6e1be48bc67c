"""`dataenvgym run --dry`: shows the plan of a run without running it.

The first prompts of an episode are found without training and without asking any model: listeners
replace student and teacher, and the first one that is asked reports its prompt. Custom code might
ask (and pay for) its own models, so it is not called.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataenvgym.agents import Agent, TreeAgent
from dataenvgym.environments import TeachingEnvironment, TeachingEnvironmentInterface
from dataenvgym.environments.iterations import finished_iterations
from dataenvgym.errors import DataEnvGymError
from dataenvgym.interfaces import SamplingParameters, TaskInterface, TrainingRun
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.records.plans import engine_fit
from dataenvgym.runs.config import build_agent, build_environment
from dataenvgym.runs.config.run_directory import is_done, run_directory
from dataenvgym.runs.episodes.runner import teaching_of
from dataenvgym.runs.episodes.show import show_turn
from dataenvgym.runs.episodes.texts import plain, several
from dataenvgym.students.external.environments import has_cuda
from dataenvgym.studies.executors.interface import build_episode
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.first_prompts import Enough, Stub, first_prompts, with_stubs
from dataenvgym.tasks.source import Split


def show_plan(
    config: DictConfig,
    console: Console,
    needs: Sequence[DataEnvGymError],
    *,
    fresh: bool,
    prompts: int = 1,
) -> None:
    """Show the plan of the run, and the first prompts of student and teacher.

    Args:
        needs: what this machine lacks, as far as it is known (see `errors.noting_needs`).
        prompts: the number of the teacher's prompts to show.

    Raises:
        ConfigurationError: if the run could not begin on any machine.
    """
    directory, first = run_directory(config), None
    try:
        environment, agent = build_episode(config, directory)
        teaching = teaching_of(environment)
        facts = list(_facts(config, directory, teaching, agent, fresh=fresh))
        first = preview_prompts(config, teaching.task)
    except DataEnvGymError as error:
        if str(error) not in map(str, needs):
            raise
        facts = list(_facts(config, directory, None, None, fresh=fresh))
    show_facts(console, [*facts, *lacking(config, needs, ("predictor", "trainer"))])
    if first is None:
        console.print(Text("\nNothing was run, and the prompts are not known without the above."))
        return
    if first.student is not None:
        show_prompt(console, "The student's first prompt", first.student)
    for number, conversation in enumerate(first.teacher[:prompts], start=1):
        name = "first prompt" if prompts == 1 else f"prompt {number} of {len(first.teacher)}"
        show_prompt(console, f"The teacher's {name} ({first.purpose})", conversation)
    if first.teacher:
        console.print(
            Text("\nWhat the student gets wrong is not known before it is asked: every problem "
                 "counts as wrong here.", style="dim")
        )  # fmt: skip
    else:
        console.print(Text(f"\nNo prompt of a teacher: {first.reason}."))
    console.print(Text("\nNothing was run. Without --dry, this starts.", style="bold"))


def show_facts(console: Console, facts: Iterable[tuple[str, str]]) -> None:
    """Show a table of names and what they are."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, what in facts:
        table.add_row(Text(name, style="bold"), Text(plain(what)))
    console.print(table)


def lacking(
    config: DictConfig, needs: Sequence[DataEnvGymError], parts: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """A line for each thing that this machine lacks, with the GPUs of these parts."""
    if not has_cuda():
        for part in parts:
            if gpus := config[part].get("gpus"):
                yield "would need", f"{several(len(gpus), 'GPU')} for the {part}"
    for error in needs:
        yield "would need", str(error)


def _facts(
    config: DictConfig,
    directory: Path,
    teaching: TeachingEnvironmentInterface | None,
    agent: Any,
    *,
    fresh: bool,
) -> Iterator[tuple[str, str]]:
    iterations = str(config.episode.iterations)
    yield "run", f"{directory} ({_state(config, directory, fresh=fresh)})"
    student = str(config.student.get("path") or "your own")
    if teaching is None:
        yield "task", str(config.task.get("name") or config.task.get("_target_"))
        yield from (("student", student), ("iterations", iterations), *_speakers(config))
        return
    task = task_of(teaching.task)
    yield "task", f"{task.name}: {_problems(task)}"
    yield "student", f"{student}, by {type(teaching.predictor).__name__}"
    if (trainer := getattr(teaching.predictor, "trainer", None)) is not None:
        yield "trainer", type(trainer).__name__
    yield "environment", type(teaching).__name__
    parts = [getattr(agent, name, None) for name in ("policy", "engine")]
    names = ", ".join(type(part).__name__ for part in parts if part is not None)
    name = getattr(agent, "name", type(agent).__name__)
    yield "agent", f"{name} ({names})" if names else name
    follows = engine_fit(getattr(agent, "engine", None)).needs != "nothing"
    each = getattr(agent, "records_per_iteration", None) if follows else None
    records = "" if each is None else f" of {several(each, 'record')} at most"
    yield "iterations", f"{iterations}{records}"
    if isinstance(teaching, TeachingEnvironment) and teaching.quality:
        yield "quality", ", ".join(check.reason for check in teaching.quality)
    yield from _speakers(config)


def _speakers(config: DictConfig) -> Iterator[tuple[str, str]]:
    if config.teacher.get("_target_") is not None:
        yield "teacher", model_of(config.teacher)
    for who, section in (config.task.get("others") or {}).items():
        yield str(who), model_of(section)


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


def show_prompt(console: Console, title: str, conversation: Conversation) -> None:
    """Show a conversation under a title."""
    console.print(Text(f"\n{title}", style="bold cyan"))
    for message in conversation:
        show_turn(console, message.role, message.content)


ANSWER = "(the student's answer)"
"""The placeholder of the student's answers in a teacher's prompt."""


@dataclass(frozen=True)
class PromptPreview:
    """The first questions of an episode to its teacher.

    Attributes:
        student: the first conversation that the student would answer, or None.
        teacher: the first batch of conversations that the teacher would answer; perhaps none.
        purpose: of the teacher's questions.
        reason: why there is no prompt for the teacher.
    """

    student: Conversation | None
    teacher: Sequence[Conversation] = ()
    purpose: str = ""
    reason: str = ""


def preview_prompts(config: DictConfig, task: Any) -> PromptPreview:
    """Find the first prompts of the episode that `config` describes; touch no file of it.

    Args:
        task: the episode's task, passed in so that its problems are loaded only once.
    """
    task = with_stubs(task)
    student = next(iter(first_prompts(task)), None)
    if config.teacher.get("_target_") is None:
        return PromptPreview(student, reason="there is no teacher (teacher=none)")
    with tempfile.TemporaryDirectory(prefix="dataenvgym-") as directory:
        try:
            reason = _teach(config, task, _Teacher(), Path(directory))
        except Enough as enough:
            if enough.heard:
                return PromptPreview(student, enough.heard, enough.purpose)
            reason = ""
    return PromptPreview(student, reason=reason or "the first iteration does not ask it")


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


def _teach(config: DictConfig, task: TaskInterface, teacher: _Teacher, directory: Path) -> str:
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
    return ""
