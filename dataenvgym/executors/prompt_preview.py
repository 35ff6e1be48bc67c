"""Finds the first prompts of an episode without training and without asking any model.

Student and teacher are replaced by listeners; the first one that is asked reports its prompt. Other
speakers of the task are replaced by one that always gives the same reply. Custom code might ask
(and pay for) its own models, so it is not called.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from omegaconf import DictConfig

from dataenvgym.agents import Agent, TreeAgent
from dataenvgym.config import build_agent, build_environment
from dataenvgym.environments import TeachingEnvironment
from dataenvgym.interfaces import SamplingParameters, TaskInterface, TrainingRun
from dataenvgym.records import Conversation, TrainingDatum
from dataenvgym.tasks.first_prompts import Enough, Stub, first_prompts, with_stubs

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
        self,
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
        *,
        purpose: str,
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
    if stranger := _stranger(config, task, agent, environment.unwrapped):
        return f"{stranger}, which could ask a model by itself, so it is not called"
    observation, _ = environment.reset(seed=int(config.seed))
    if isinstance(agent, Agent):
        agent(observation["completed"], student)
    elif isinstance(agent, TreeAgent):
        environment.step(agent.act(observation, student))
    return ""


def _stranger(
    config: DictConfig, task: TaskInterface, agent: object, teaching: object
) -> str | None:
    """Describe a part of the episode that is custom code or a server; None if there is none."""
    if config.skills.get("embedder", {}).get("_target_", "").endswith("EndpointEmbedder"):
        return "skills.embedder is a server"
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
            return f"{name} is your own {type(part).__name__}"
    return None
