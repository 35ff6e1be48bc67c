"""A judge names turns of the student, for many conversations at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Ask, PredictorInterface, Reply
from dataenvgym.judging import Unscored, dialogue_text
from dataenvgym.judging.turns import NamedTurn, judge_turns
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.rollouts import StudentSpeaker
from dataenvgym.rollouts.driver import answered_together
from dataenvgym.tasks.base import Task
from dataenvgym.tool_formats import as_reply, said_in


def judge_of(task: Task) -> PredictorInterface | None:
    """The task's speaker "judge", if it has one.

    Raises:
        ConfigurationError: if that is the student.
    """
    judge = task.others.get("judge")
    if isinstance(judge, StudentSpeaker):
        raise ConfigurationError(
            "task.others.judge is the student itself, which does not judge its own turns: choose "
            "another model, or set agent.engine.name_turns=false"
        )
    return judge


def named_turns(
    judge: PredictorInterface,
    played: Sequence[tuple[CompletedTaskInstance, Sequence[int]]],
    *,
    most: int | None = None,
    prompt: str = "social_turns",
) -> list[tuple[NamedTurn, ...] | Unscored]:
    """Ask a judge for turns of each conversation; it sees the reward as a score of 0 to 10.

    Args:
        played: finished tries, each with the places of the student's turns in its transcript.
        most: the most turns that it can name; None allows all.
        prompt: for which turns (see `judge_turns`).

    Returns:
        For each try, the named turns by their place in the transcript, or why there are none.
    """
    asks = [_asks(done, turns, most, prompt) for done, turns in played]
    return answered_together(asks, {"judge": judge})


def _asks(
    done: CompletedTaskInstance, turns: Sequence[int], most: int | None, prompt: str
) -> Generator[Ask, Reply, tuple[NamedTurn, ...] | Unscored]:
    """Ask a judge for turns. It sees turns numbered from 1; places count from 0."""
    said = [
        (m.role, said_in(as_reply(m)) if m.role == "assistant" else m.content)
        for m in done.transcript
    ]
    named = yield from judge_turns(
        who="the assistant",
        goal=done.instance.instruction,
        dialogue=dialogue_text(said),
        turns=[place + 1 for place in turns],
        score=10 * done.reward,
        most=None if most is None else min(most, len(turns)),
        prompt=prompt,
        may_fail=True,
    )
    if isinstance(named, Unscored):
        return named
    return tuple(NamedTurn(turn=one.turn - 1, reason=one.reason) for one in named)
