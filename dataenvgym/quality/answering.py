"""Asking in a quality check: one question may fail, but somebody who is gone ends the check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataenvgym.errors import PredictionError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records import Conversation, Message

Ask = Callable[[Sequence[Conversation]], Sequence[Reply | Failure]]

_GREETING: Conversation = (Message(role="user", content="Hello!"),)


def answers_of(
    ask: Ask, conversations: Sequence[Conversation], *, who: str
) -> list[Reply | Failure]:
    """One reply or failure for each conversation.

    If all of them failed, a greeting shows whether that was due to the questions.

    Args:
        who: is asked, for the message.

    Raises:
        PredictionError: if nothing is answered, not even the greeting.
    """
    if not conversations:
        return []
    outcomes = list(ask(conversations))
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    if len(failures) < len(outcomes):
        return outcomes
    if not any(isinstance(outcome, Failure) for outcome in ask([_GREETING])):
        return outcomes
    raise PredictionError(
        f"{who} answered none of {len(outcomes)} questions of a quality check, nor a greeting: "
        f"{failures[0].reason}. The same command checks these records again once {who} answers"
    )
