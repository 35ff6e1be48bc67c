"""Builds task, predictor, teacher, judge, agent and environment from sections of a configuration.

The task saves its episodes in the store of the configuration, if it has one. Nothing is loaded or
downloaded yet: students and problems are loaded at first use. `build_environment` makes the
environment of `environment.id` with a task and a predictor, limited to `episode.iterations` steps.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from omegaconf import DictConfig, OmegaConf

from dataenvgym.agents.skills.embeddings import EmbedderInterface
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    EnvironmentInterface,
    PredictorInterface,
    RecordCheckInterface,
    SkillLabelerInterface,
    TaskInterface,
    TeacherInterface,
    TeachingAgent,
    TrainablePredictorInterface,
    expect,
)
from dataenvgym.options import marks, parameters_of
from dataenvgym.records.plans import Engine
from dataenvgym.registration import TEACHING_ENVIRONMENTS
from dataenvgym.runs.config.composition import compose
from dataenvgym.runs.config.identity import short_name
from dataenvgym.runs.config.instantiation import (
    build_section,
    build_value,
    check_arguments,
    making,
    section_target,
)
from dataenvgym.students.pocket import students
from dataenvgym.students.trainers import TrainerInterface
from dataenvgym.tasks import judging
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.rollouts import speakers_of

if TYPE_CHECKING:
    from dataenvgym.records.store.documents import Ledger


def build_task(config: DictConfig, directory: str | Path | None = None) -> Task:
    """Build the task of `config.task`, with the speakers of `config.task.others`, and its store.

    Args:
        directory: the run directory; speakers that are teachers save their transcript and usage in
            its `others/NAME`. None saves nothing.
    """
    section = cast(dict[str, Any], OmegaConf.to_container(config.task, resolve=True))
    format = OmegaConf.select(config, "predictor.format")
    _check_task(section, section_target(config, "task"), has_turns=format != "completion")
    if others := section.get("others"):
        section["others"] = _speakers(others, directory)
    task = build_value(section, "task", {})
    made = task_of(expect(task, TaskInterface, "task"))
    record_in_store(config, made)
    if directory is not None and (ledger := ledger_of(made)) is not None:
        ledger.directory = Path(directory)
    return made


def _check_task(section: Mapping[str, Any], target: Callable[..., Any], *, has_turns: bool) -> None:
    """Refuse a split, which the program chooses, and students that cannot do the task.

    These are a pocket student that does not exist, and one of bare texts with several attempts.
    """
    parameters = parameters_of(target)[0]
    attempts = section.get("max_turns", parameters.get("max_turns", (None, None))[0])
    if not has_turns and isinstance(attempts, int) and attempts > 1:
        raise ConfigurationError(
            f"task.max_turns is {attempts} and student.format 'completion', in which a problem is "
            "one text to complete: set task.max_turns=1, or student.format=chat and a student with "
            "a chat template"
        )
    split = parameters.get("split", (None, None))
    if "split" in section and "given" in marks(split[1]):
        raise ConfigurationError(
            f"task.split is {section['split']!r}, and a run uses all splits: leave it out "
            "(`dataenvgym eval --split NAME` evaluates one)"
        )
    student = section.get("student")
    if isinstance(student, str) and student not in students() and not Path(student).is_dir():
        raise ConfigurationError(
            f"task.student is {student!r}, expected a pocket student: {', '.join(students())}."
            f"{did_you_mean(student, students())} Another model is student=hf student.path=..."
        )


def _speakers(others: Any, directory: str | Path | None) -> dict[str, Any]:
    if not isinstance(others, dict) or any(isinstance(one, str) for one in others.values()):
        raise ConfigurationError(
            f"task.others is {others!r}, expected predictors or teachers by name, such as "
            "{user: {_target_: dataenvgym.teachers.Teacher, model: NAME}}"
        )
    kept = {who: None if directory is None else Path(directory) / "others" / who for who in others}
    made = {
        who: build_value(value, f"task.others.{who}", {"directory": kept[who]})
        for who, value in others.items()
    }
    return dict(speakers_of(made))


@overload
def build_predictor(
    config: DictConfig, *, task: Task | None = None
) -> TrainablePredictorInterface: ...
@overload
def build_predictor(
    config: DictConfig, *, trainable: bool, task: Task | None = None
) -> PredictorInterface: ...
def build_predictor(
    config: DictConfig, *, trainable: bool = True, task: Task | None = None
) -> PredictorInterface:
    """Build the student of `config.predictor`.

    If its class has a parameter `trainer`, it gets the trainer of `config.trainer`; if it has a
    parameter `task`, it gets the task.

    Args:
        trainable: True if it must be able to learn; False also accepts one that only answers.
        task: None builds it from the configuration if it is needed.
    """
    given: dict[str, Any] = {}
    parameters = inspect.signature(section_target(config, "predictor")).parameters
    if "trainer" in parameters and "trainer" not in config.predictor:
        trainer = build_section(config, "trainer")
        given["trainer"] = expect(trainer, TrainerInterface, "trainer")
    if "task" in parameters and "task" not in config.predictor:
        given["task"] = build_task(config) if task is None else task
    predictor = build_section(config, "predictor", **given)
    expected = TrainablePredictorInterface if trainable else PredictorInterface
    return expect(predictor, expected, "predictor")


def build_teacher(
    config: DictConfig, predictor: PredictorInterface, directory: str | Path | None = None
) -> TeacherInterface | None:
    """Build the teacher of `config.teacher`; None for `teacher=none`.

    Args:
        predictor: the student, for `teacher=student`.
        directory: the run directory, for its transcript and its usage; None saves nothing.
    """
    if config.teacher.get("_target_") is None:
        return None
    teacher = build_section(config, "teacher", predictor=predictor, directory=directory)
    return expect(teacher, TeacherInterface, "teacher")


def build_judge(config: DictConfig, directory: str | Path) -> judging.RubricJudge:
    """Build the judge of a section `judge`: a `RubricJudge`, or its own `_target_`.

    Args:
        directory: the folder of the evaluation; the judges save transcript and usage in its
            `judges/NAME`.

    Raises:
        ConfigurationError: for impossible options, and for the student as a judge.
    """
    section = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    for name in section["teachers"]:
        if "predictor" in inspect.signature(section_target(config.teachers, name)).parameters:
            raise ConfigurationError(
                f"judge.teachers.{name} is the student itself, which does not judge its own "
                "evaluation: choose a server (teacher=openai, teacher=vllm) or your own class"
            )
    teachers = {
        name: build_value(
            teacher, f"judge.teachers.{name}", {"directory": Path(directory) / "judges" / str(name)}
        )
        for name, teacher in section["teachers"].items()
    }
    for name, teacher in teachers.items():
        expect(teacher, TeacherInterface, f"judge.teachers.{name}")
    made = {"_target_": "dataenvgym.tasks.judging.RubricJudge", **section, "teachers": teachers}
    judge = build_value(made, "judge", {})
    return expect(judge, judging.RubricJudge, "judge")


def build_agent(
    config: DictConfig,
    *,
    task: Task | None = None,
    teacher: TeacherInterface | None = None,
) -> TeachingAgent:
    """Build the agent of `config.agent`.

    The agent, its policy and its engine get the run's seed if they have a parameter `seed` that the
    section does not set.

    Args:
        task, teacher: are passed to parameters with these names. A task of None is built from the
            configuration.
    """
    task = build_task(config) if task is None else task
    given: dict[str, Any] = {"task": task, "seed": config.seed}
    if teacher is not None:
        given["teacher"] = teacher
    agent = build_section(config, "agent", **given)
    parts = getattr(agent, "parts", None)
    for name, protocol in parts.items() if isinstance(parts, Mapping) else ():
        expect(getattr(agent, name), protocol, f"agent.{name}")
    if isinstance(agent, ActingAgentInterface):
        return agent
    return expect(agent, DataGenerationAgentInterface, "agent")


def build_environment(
    config: DictConfig,
    directory: str | Path | None = None,
    *,
    task: TaskInterface | None = None,
    predictor: PredictorInterface | None = None,
    teacher: TeacherInterface | None = None,
) -> gymnasium.Env[Any, Any]:
    """Build the teaching environment of `config.environment`, wrapped in a `TimeLimit`.

    Args:
        directory: its run directory; None makes a temporary folder.
        task, predictor, teacher: None builds them from the configuration.
    """
    task = build_task(config, directory) if task is None else task_of(task)
    predictor = build_predictor(config, task=task) if predictor is None else predictor
    if teacher is None:
        teacher = build_teacher(config, predictor, directory)
    options = _environment_options(
        config, task=task, predictor=predictor, teacher=teacher, directory=directory
    )
    iterations = int(config.episode.iterations)
    section = {name: options[name] for name in options if name in config.environment}
    if "_target_" in config.environment:
        own = section_target(config, "environment")
        check_arguments(own, section, "environment")
        with making("environment", own, section):
            environment = own(task, predictor, directory=directory, **options)
        expect(environment, EnvironmentInterface, "environment")
        return gymnasium.wrappers.TimeLimit(environment, iterations)
    spec: str | EnvSpec = str(config.environment.id)
    if spec in TEACHING_ENVIRONMENTS:  # ours fill in defaults; a configuration has them all
        its_class = f"dataenvgym.environments:{TEACHING_ENVIRONMENTS[spec][1]}"
        check_arguments(load_env_creator(its_class), section, "environment")
        spec = replace(gymnasium.spec(spec), entry_point=its_class)
    try:
        with making("environment", gymnasium.make, section):
            return gymnasium.make(
                spec,
                max_episode_steps=iterations,
                disable_env_checker=True,
                directory=directory,
                task=task,
                predictor=predictor,
                **options,
            )
    except gymnasium.error.Error as error:  # an unknown or malformed id
        raise ConfigurationError(f"environment.id: {error}") from error


def _make(
    overrides: Sequence[str],
    task: TaskInterface | None = None,
    predictor: TrainablePredictorInterface | None = None,
    **options: Any,
) -> Any:
    """Make a teaching environment; other options are those of the configuration."""
    config = compose(overrides)
    task = build_task(config) if task is None else task_of(task)
    predictor = build_predictor(config, task=task) if predictor is None else predictor
    made = _environment_options(config, task=task, predictor=predictor)
    its_class = TEACHING_ENVIRONMENTS[config.environment.id][1]
    make = load_env_creator(f"dataenvgym.environments:{its_class}")
    return make(task=task, predictor=predictor, **{**made, **options})


make_open_ended = partial(_make, ["environment=open_ended"])
"""Make `dataenvgym/OpenEnded-v0` from a task, a predictor and other options."""
make_skill_list = partial(_make, ["environment=skill_list"])
"""Make `dataenvgym/SkillList-v0` from a task, a predictor and other options."""
make_skill_tree = partial(
    _make,
    ["environment=skill_tree", "agent=skill_tree"],
    agent_name=None,  # the caller is not one of our agents
)
"""Make `dataenvgym/SkillTree-v0` from a task, a predictor and other options."""


def _environment_options(config: DictConfig, **given: Any) -> dict[str, Any]:
    """The arguments of the environment's class: its section, skill labels and quality checks."""
    given = {name: thing for name, thing in given.items() if thing is not None}
    section = cast(dict[str, Any], OmegaConf.to_container(config.environment, resolve=True))
    for name in ("id", "_target_"):
        section.pop(name, None)
    seeded = {**given, "seed": config.seed}  # for an engine of the user's own
    options = cast(dict[str, Any], build_value(section, "environment", seeded))
    if config.skills.get("_target_") is not None:
        options["labeler"] = labeler = build_section(config, "skills", **given)
        expect(labeler, SkillLabelerInterface, "skills")
        if (embedder := getattr(labeler, "embedder", None)) is not None:
            expect(embedder, EmbedderInterface, "skills.embedder")
    if checks := build_section(config, "quality", **given).get("checks"):
        if not isinstance(checks, Mapping):
            raise ConfigurationError(
                f"quality.checks is {checks!r}, expected checks by name; for one check choose it: "
                "quality=wrong_answer, or your own class (quality=my_module.MyCheck)"
            )
        options["quality"] = tuple(checks.values())
        for check in checks.values():
            expect(check, RecordCheckInterface, "quality")
    if options.get("engine") is not None:
        expect(options["engine"], Engine, "agent.engine")
    return options


def record_in_store(config: DictConfig, task: Task) -> None:
    """Let the task save its episodes in the store of `config.store`, if there is one.

    Raises:
        ConfigurationError: if the task has no episodes to save, or the store cannot be opened.
    """
    if "store" not in config or config.store.get("_target_") is None:
        return
    from dataenvgym.records.store.documents import Ledger
    from dataenvgym.records.store.redis import RedisSettings, is_redis_url

    store = build_section(config, "store")
    if (domain := recording_domain(task)) is None:
        raise ConfigurationError(
            f"store keeps episodes of several characters, and task {short_name(config.task)!r} has "
            "none: leave store out"
        )
    domain.record_in(store, domain.model_names(config))
    where = str(config.store.get("where"))
    place = RedisSettings(where).place if is_redis_url(where) else where
    lasting = config.store.get("expires_s") is None
    domain.recorder.ledger = Ledger(store, domain.recorder.kind, place, lasting=lasting)


def ledger_of(task: Task) -> Ledger | None:
    """The ledger of the task's episodes in the store of its configuration."""
    ledger: Ledger | None = getattr(
        getattr(recording_domain(task), "recorder", None), "ledger", None
    )
    return ledger


def check_stored(task: Task, directory: Path) -> None:
    """Check that the store still has all episodes of the run or evaluation in this folder.

    Raises:
        StoreError: as `Ledger.check`.
    """
    if (ledger := ledger_of(task)) is not None:
        ledger.directory = directory
        ledger.check()


def recording_domain(task: Task) -> Any:
    """The task's domain, if its problems are episodes that a store can save; else None.

    It has `record_in(store, models)`, which saves all episodes from then on, `model_names(config)`,
    the name of the model in each role (see `model_name`), and a `recorder` with the `kind` of these
    documents and a `ledger`.
    """
    domain = task.domain if len(task.parts) == 1 else None
    return domain if hasattr(domain, "record_in") else None


def model_name(section: Any) -> str:
    """The name of a model: on its server, or its path with its adapter; else its class."""
    if model := section.get("model"):
        return str(model)
    if str(section.get("_target_")).endswith(".StudentSpeaker"):
        return f"student/{section.adapter}"
    if path := section.get("student"):
        adapter = section.get("adapter")
        return f"{path}:{adapter}" if adapter else str(path)
    return short_name(section)
