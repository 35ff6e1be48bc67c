"""A judge names turns of the student, for many conversations at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from typing import TypeVar

from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.interfaces import Ask, Failure, PredictorInterface, SamplingParameters
from dataenvgym.judging import Unscored, dialogue_text
from dataenvgym.judging.turns import NamedTurn, judge_turns
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.rollouts import StudentSpeaker
from dataenvgym.rollouts.faults import TO_THE_CALLER
from dataenvgym.tasks.base import Task
from dataenvgym.tool_formats import as_reply, said_in

T = TypeVar("T")


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
    return answered_together([_asks(done, turns, most, prompt) for done, turns in played], judge)


def answered_together(
    asks: Sequence[Generator[Ask, str, T]], speaker: PredictorInterface
) -> list[T | Unscored]:
    """Run generators to their end; answer the asks of all of them in batches.

    Returns:
        The value that each returned; `Unscored` where the speaker failed.
    """
    found: dict[int, T | Unscored] = {}
    pending: dict[int, Ask] = {}
    for i, each in enumerate(asks):
        _advance(i, each, None, found, pending)
    while pending:
        alike: dict[str, list[int]] = defaultdict(list)
        for i, ask in pending.items():
            alike[ask.sampling.model_dump_json()].append(i)
        for places in alike.values():
            batch = [pending.pop(i) for i in places]
            replies = _replies(speaker, batch)
            for i, reply in zip(places, replies, strict=True):
                if isinstance(reply, Unscored):
                    asks[i].close()
                    found[i] = reply
                else:
                    _advance(i, asks[i], reply, found, pending)
    return [found[i] for i in range(len(asks))]


def _advance(
    i: int,
    asks: Generator[Ask, str, T],
    reply: str | None,
    found: dict[int, T | Unscored],
    pending: dict[int, Ask],
) -> None:
    try:
        pending[i] = next(asks) if reply is None else asks.send(reply)
    except StopIteration as end:
        found[i] = end.value


def _replies(speaker: PredictorInterface, batch: Sequence[Ask]) -> list[str | Unscored]:
    sampling: SamplingParameters = batch[0].sampling
    try:
        replies = speaker.predict([ask.conversation for ask in batch], sampling)
    except BudgetSpentError as error:
        return [Unscored(f"not asked: {error}")] * len(batch)
    except TO_THE_CALLER:
        raise
    except Exception as error:  # noqa: BLE001  if a judge fails in any way, leave its tries out
        return [Unscored(f"{type(error).__name__}: {error}")] * len(batch)
    return [Unscored(r.reason) if isinstance(r, Failure) else r.text for r in replies]


def _asks(
    done: CompletedTaskInstance, turns: Sequence[int], most: int | None, prompt: str
) -> Generator[Ask, str, tuple[NamedTurn, ...] | Unscored]:
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
    )
    if isinstance(named, Unscored):
        return named
    return tuple(NamedTurn(turn=one.turn - 1, reason=one.reason) for one in named)
