"""Builds task, predictor, teacher, judge and agent, each from a section of the configuration.

The task saves its episodes in the store of the configuration, if it has one. Nothing is loaded or
downloaded yet: students and problems are loaded at first use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from omegaconf import DictConfig, OmegaConf

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    PredictorInterface,
    TaskInterface,
    TeacherInterface,
    TeachingAgent,
    TrainablePredictorInterface,
    expect,
)
from dataenvgym.options import marks, parameters_of
from dataenvgym.runs.config.identity import short_name
from dataenvgym.runs.config.instantiation import (
    build_section,
    build_value,
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
