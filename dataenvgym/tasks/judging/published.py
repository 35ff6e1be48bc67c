"""Questions about dialogues in the words of EPO's and SDPO's code (`configs/prompt`).

The judge reads a dialogue as that code shows it, and answers with indexes of turns:

    epo_turns      {"indexes": [1, 5], "reasoning": ...}, which turns were critical for the goal
    sdpo_turn      {"index": 3, "reason": ...}, which turn to improve
    sdpo_segment   {"start_index": 3, "end_index": 5, "reason": ...}, what made a dialogue better

The words say which form the reply has, so nothing is added to them, and nothing in them fences off
the dialogue, as our own questions do (`questions`). An index that is not one of a turn of "gpt" is
asked for again, where their code ignores it, or leaves out the dialogue.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model

from dataenvgym.interfaces import Ask, Reply
from dataenvgym.records import Conversation, Model
from dataenvgym.records.model import Text
from dataenvgym.records.tool_formats import as_reply, said_in
from dataenvgym.tasks.judging.verdict_asks import judge_ask
from dataenvgym.tasks.judging.verdicts import Unscored
from dataenvgym.teachers.prompts import Prompt

_SPEAKERS = {"user": "human", "assistant": "gpt"}
_CONTEXT = "Here is the context of this interaction"
"""EPO's words look for the context under this title, in the first message."""


def shown_turns(messages: Conversation, title: str = "") -> list[dict[str, str | int]]:
    """The messages as ShareGPT turns with their indexes, without the assistant's thoughts.

    Args:
        title: put before the first message.
    """
    said = [said_in(as_reply(m)) if m.role == "assistant" else m.content for m in messages]
    if title and said:
        said[0] = f"{title}:\n{said[0]}"
    return [
        {"from": _SPEAKERS.get(m.role, m.role), "value": text, "index": i}
        for i, (m, text) in enumerate(zip(messages, said, strict=True))
    ]


def name_indexes(
    prompt: Prompt,
    messages: Conversation,
    turns: Sequence[int],
    *,
    score: float | None = None,
    several: bool = True,
    most: int | None = None,
    who: str = "agent1",
    partner: str = "agent2",
    **asking: Any,
) -> Generator[Ask, Reply, tuple[int, ...] | Unscored]:
    """Ask a judge for turns of the student; returned in order, perhaps none.

    Args:
        prompt: has `{history}`, and may have `{who}` and `{partner}`.
        messages: of the dialogue, up to the student's last one.
        turns: the indexes of the student's messages.
        score: in the history, how far the goal was reached; None leaves it out.
        several: whether the words ask for several turns (EPO), or for one (SDPO).
        most: the largest number of turns to name; None allows all.
        asking: further arguments of `judge_ask`.
    """
    if not turns:
        return ()
    title = _CONTEXT if _CONTEXT in prompt.user else ""
    history: dict[str, Any] = {"conversations": shown_turns(messages, title)}
    if score is not None:
        rounded = round(score, 2)
        history["score"] = int(rounded) if rounded == int(rounded) else rounded
    asked = prompt.render(history=str(history), who=who, partner=partner)
    verdict = _indexes_verdict(tuple(turns), several, most)
    found: Any = yield from judge_ask(asked, verdict, **asking)
    if isinstance(found, Unscored):
        return found
    return tuple(sorted(set(found.indexes))) if several else (found.index,)


@cache
def _indexes_verdict(turns: tuple[int, ...], several: bool, most: int | None) -> type[Model]:
    fields: dict[str, Any] = {"index": (Literal[turns], ...), "reason": (Text, ...)}
    if several:
        indexes = tuple[Literal[turns], ...]  # type: ignore[valid-type]
        fields = {"indexes": (indexes, Field(max_length=most)), "reasoning": (Text, ...)}
    return create_model("Indexes", __base__=Model, **fields)


def end_segment(
    prompt: Prompt,
    original: Conversation,
    better: Conversation,
    turns: Sequence[int],
    **asking: Any,
) -> Generator[Ask, Reply, int | Unscored]:
    """Ask a judge where the segment ends that made a dialogue better; return its last index.

    Args:
        prompt: has `{original}`, `{better}` and `{start}`.
        original, better: up to the student's last messages.
        turns: the indexes of the student's messages in `better`, from the first that differs on.
        asking: further arguments of `judge_ask`.
    """
    start, *_ = turns
    asked = prompt.render(
        original=str(shown_turns(original)), better=str(shown_turns(better)), start=start
    )
    fields: dict[str, Any] = {
        "start_index": (Literal[start], ...),
        "end_index": (Literal[tuple(turns)], ...),
        "reason": (Text, ...),
    }
    verdict = create_model("Segment", __base__=Model, **fields)
    found: Any = yield from judge_ask(asked, verdict, **asking)
    return found if isinstance(found, Unscored) else int(found.end_index)
