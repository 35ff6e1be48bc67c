"""Questions of a quality check: one may fail, but a model that no longer answers ends the check."""

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
    """Ask for one reply to each conversation; a failed question gives a failure.

    Raises:
        PredictionError: as in `refuse_gone`.
    """
    outcomes = list(ask(conversations)) if conversations else []
    refuse_gone(ask, [o.reason if isinstance(o, Failure) else None for o in outcomes], who=who)
    return outcomes


def refuse_gone(ask: Ask, errors: Sequence[str | None], *, who: str) -> None:
    """If all questions failed, send a greeting to see if the model still answers.

    Args:
        errors: why each question failed, or None for one that was answered.
        who: the name of the model, for the message.

    Raises:
        PredictionError: if not even the greeting is answered.
    """
    if not errors or None in errors:
        return
    if not any(isinstance(outcome, Failure) for outcome in ask([_GREETING])):
        return
    raise PredictionError(
        f"{who} answered none of {len(errors)} questions of a quality check, nor a greeting: "
        f"{errors[0]}. The same command checks these records again once {who} answers"
    )
