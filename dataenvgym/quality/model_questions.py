"""Questions of a quality check: one may fail, but a model that no longer answers ends the check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataenvgym.errors import PredictionError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records import Conversation, Message, TrainingDatum
from dataenvgym.run_warnings import warn_run


def warn_of_idle_check(reason: str, records: Sequence[TrainingDatum], n_judged: int) -> None:
    """Warn the run if the check of that `reason` judged none of the records."""
    if records and not n_judged:
        kinds = ", ".join(sorted({record.kind for record in records}))
        warn_run(
            f"quality check {reason}: it can judge none of the {len(records)} records (of kind "
            f"{kinds}), and they all pass"
        )


AskModel = Callable[[Sequence[Conversation]], Sequence[Reply | Failure]]

_GREETING: Conversation = (Message(role="user", content="Hello!"),)


def refuse_gone(ask: AskModel, errors: Sequence[str | None], *, who: str) -> None:
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
