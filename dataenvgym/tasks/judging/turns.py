"""A judge names turns of a conversation, such as those that were critical for reaching a goal."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model, model_validator

from dataenvgym.interfaces import Ask, Reply
from dataenvgym.records import Model
from dataenvgym.records.model import Text
from dataenvgym.tasks.judging.questions import question
from dataenvgym.tasks.judging.verdict_asks import judge_ask
from dataenvgym.tasks.judging.verdicts import Unscored
from dataenvgym.teachers.prompts import Prompt


class NamedTurn(Model):
    """A turn that a judge names, and why."""

    turn: int
    reason: Text


class NamedTurns(Model):
    """The turns that a judge names."""

    turns: tuple[NamedTurn, ...]

    @model_validator(mode="after")
    def _each_once(self) -> NamedTurns:
        numbers = [named.turn for named in self.turns]
        if len(set(numbers)) < len(numbers):
            raise ValueError("a turn is named twice, expected each once at most")
        return self


def judge_turns(
    *,
    who: str,
    goal: str,
    dialogue: str,
    turns: Sequence[int],
    score: float | None = None,
    most: int | None = None,
    judge: str = "judge",
    prompt: Prompt | str = "social_turns",
    **asking: Any,
) -> Generator[Ask, Reply, tuple[NamedTurn, ...] | Unscored]:
    """Ask a judge for turns of a character; returned in order, perhaps none.

    Args:
        turns: the numbers of its turns in the dialogue; the judge can only name these.
        score: how far it reached its goal, 0 to 10; None does not say.
        most: the largest number of turns to name; None allows all.
        prompt: by default, for the turns that were critical for achieving the goal, as in EPO;
            "social_error_turn" asks for those that another reply would improve, as in SDPO. It has
            `{dialogue}`, and may have `{who}`, `{goal}`, `{score}`, `{turns}` and `{most}`.
        asking: further arguments of `judge_ask`.
    """
    if not turns:
        return ()
    most = len(turns) if most is None else most
    verdict = turns_verdict(tuple(turns), most)
    asked = question(
        prompt,
        verdict,
        data={"goal": goal, "dialogue": dialogue},
        values={
            "who": who,
            "turns": ", ".join(map(str, turns)),
            "most": most,
            "score": None if score is None else f"{score:.3g}",
        },
    )
    found = yield from judge_ask(asked, verdict, who=judge, **asking)
    if isinstance(found, Unscored):
        return found
    return tuple(
        NamedTurn(turn=named.turn, reason=named.reason)
        for named in sorted(found.turns, key=lambda named: named.turn)
    )


@cache
def turns_verdict(turns: tuple[int, ...], most: int) -> type[NamedTurns]:
    """A verdict that names some of these turns, each once at most."""
    fields: dict[str, Any] = {"turn": (Literal[turns], ...)}
    named = create_model("NamedTurn", __base__=NamedTurn, **fields)
    several: dict[str, Any] = {"turns": (tuple[named, ...], Field(max_length=most))}  # type: ignore[valid-type]
    return create_model("NamedTurns", __base__=NamedTurns, **several)
