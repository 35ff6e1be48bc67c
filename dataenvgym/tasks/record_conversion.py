"""Turns transcripts into training records, and records into problems that can be tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    PreferenceDatum,
    Provenance,
    ScoredDatum,
    SupervisedDatum,
    TrainingDatum,
)
from dataenvgym.tasks.prompt_template import prompt_fields

T = TypeVar("T")


def record_of(
    completed: CompletedTaskInstance, prompt: Conversation = ()
) -> SupervisedDatum | ChatDatum | None:
    """The record that teaches the student's messages, with the skill of the problem.

    One turn becomes a supervised record; several turns, or tools, become a chat record. Messages
    after the student's last one are left out.

    Args:
        prompt: the messages that the student saw first; assistant turns in it are not the
            student's own.

    Returns:
        None if the student's last message is empty, or if the conversation does not have the form
        of a record.
    """
    transcript = completed.transcript
    ours = students_turns(completed, prompt)
    if not ours:
        return None
    before, last = transcript[: ours[-1]], transcript[ours[-1]]
    provenance = _provenance_of(completed)
    is_plain = len(ours) == 1 and not last.tool_calls and not transcript[0].tools
    fields = prompt_fields(before) if is_plain else None
    if fields is not None and last.content:
        return SupervisedDatum(**fields, output=last.content, provenance=provenance)
    if not last.content and not last.tool_calls:
        return None
    return chat_record((*before, last), provenance)


def chat_record(conversation: Conversation, provenance: Provenance) -> ChatDatum | None:
    """The record of a conversation, with the tools that its first message declares.

    None if its turns do not alternate, or if it does not end with a message of the student.
    """
    return _made(lambda: ChatDatum(**_chat_fields(conversation), provenance=provenance))


def scored_record_of(
    completed: CompletedTaskInstance, weights: Sequence[float | None], prompt: Conversation = ()
) -> ScoredDatum | None:
    """The record of a try, with a weight for each of the student's turns.

    Messages after the student's last one are left out.

    Args:
        weights: one for each turn that `students_turns` finds.
        prompt: the messages that the student saw first; assistant turns in it have no weight.

    Returns:
        None if the student said nothing, or if the conversation does not have the form of a record.
    """
    places = students_turns(completed, prompt)
    if not places:
        return None
    shown = sum(message.role == "assistant" for message in prompt)
    return _made(
        lambda: ScoredDatum(
            **_chat_fields(completed.transcript[: places[-1] + 1]),
            weights=(*[None] * shown, *weights),
            provenance=_provenance_of(completed),
        )
    )


def students_turns(completed: CompletedTaskInstance, prompt: Conversation = ()) -> list[int]:
    """Positions of the student's messages in the transcript, which begins with `prompt`."""
    said = completed.transcript
    return [i for i in range(len(prompt), len(said)) if said[i].role == "assistant"]


def _made(make: Callable[[], T]) -> T | None:
    """The record, or None: for an empty message, or turns that do not alternate."""
    try:
        return make()
    except ValidationError:
        return None


def _provenance_of(completed: CompletedTaskInstance) -> Provenance:
    return Provenance(skill=completed.instance.skill, task=completed.instance.task)


def _chat_fields(conversation: Conversation) -> dict[str, Any]:
    """The fields of a chat record: messages, with the system message and the tools apart."""
    first, *others = conversation
    has_system = first.role == "system"
    bare = first.model_copy(update={"tools": ()})
    return {
        "messages": (bare, *others)[has_system:],
        "system": first.content if has_system else "",
        "tools": first.tools,
    }


def prefix_records(
    completed: CompletedTaskInstance, prompt: Conversation = ()
) -> list[SupervisedDatum | ChatDatum]:
    """The record of a try (see `record_of`) and those of its prefixes, the longest first.

    A prefix ends with a message of the student.
    """
    ends = students_turns(completed, prompt)[::-1]
    cut = (completed.model_copy(update={"transcript": completed.transcript[: i + 1]}) for i in ends)
    records = (record_of(beginning, prompt) for beginning in cut)
    return [record for record in records if record is not None]


def preference_of(
    right: CompletedTaskInstance, wrong: CompletedTaskInstance, prompt: Conversation = ()
) -> PreferenceDatum | None:
    """The record that prefers a right try's message to a wrong one's, where they first differ.

    Two tries at the same problem are equal up to some message of the student. The messages before
    it are the prompt; the two messages that differ are chosen and rejected.

    Args:
        prompt: the messages that the student saw first.

    Returns:
        None if the tries do not differ, or first differ in a message that is not the student's; if
        a message is empty; or if the conversation does not have the form of a record.
    """
    both = list(zip(right.transcript, wrong.transcript, strict=False))
    at = next((i for i, (one, other) in enumerate(both) if one != other), None)
    if at is None or at < len(prompt) or {m.role for m in both[at]} != {"assistant"}:
        return None
    before, (chosen, rejected) = right.transcript[:at], both[at]
    calls = chosen.tool_calls or rejected.tool_calls
    is_whole = _n_replies(right) == _n_replies(wrong) == 1 + _n_replies(right, at)
    fields = prompt_fields(before) if is_whole and not calls else None
    fields = fields or _chat_fields(before)
    sides: dict[str, Any] = {"chosen": (chosen,), "rejected": (rejected,)}
    return _made(lambda: PreferenceDatum(**fields, **sides, provenance=_provenance_of(right)))


def segment_preference_of(
    better: CompletedTaskInstance, worse: CompletedTaskInstance, at: int, n_turns: int | None = None
) -> PreferenceDatum | None:
    """The record that prefers a try's turns from a place on to as many of another try.

    Args:
        at: the place of a message of the student before which the tries are equal.
        n_turns: the largest number of the student's turns on each side; None is as many as both
            have.

    Returns:
        None if the segments are equal, if a message is empty, or if the conversation does not have
        the form of a record.
    """
    ends = [[i + 1 for i in students_turns(done) if i >= at] for done in (better, worse)]
    n_turns = min(len(ends[0]), len(ends[1]), *([] if n_turns is None else [n_turns]))
    return _made(
        lambda: PreferenceDatum(
            **_chat_fields(better.transcript[:at]),
            chosen=better.transcript[at : ends[0][n_turns - 1]],
            rejected=worse.transcript[at : ends[1][n_turns - 1]],
            provenance=_provenance_of(better),
        )
    )


def _n_replies(completed: CompletedTaskInstance, end: int | None = None) -> int:
    return sum(message.role == "assistant" for message in completed.transcript[:end])


def lesson_of(record: TrainingDatum) -> SupervisedDatum | None:
    """The prompt of a record with the answer that it teaches, as a supervised record.

    None if it teaches no answer to a prompt: plain text, undesirable answers, tool calls.
    """
    if isinstance(record, SupervisedDatum):
        return record
    answer = next((answer for answer in record.answers() if answer.is_right), None)
    fields = None if answer is None else prompt_fields(answer.prompt)
    if answer is None or fields is None or not answer.text:
        return None
    return SupervisedDatum(**fields, output=answer.text, provenance=record.provenance)
