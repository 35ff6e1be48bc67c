"""Asks until a verdict can be parsed, both for task environments and for `Judge`.

    asked = question(prompt, Politeness, data={"text": said})
    verdict = yield from judge_ask(asked, Politeness)
    if isinstance(verdict, Unscored):
        raise verdict.error()

A reply that cannot be parsed is shown to the judge with the reason, and the judge is asked again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from dataenvgym.errors import escaped
from dataenvgym.interfaces import Ask, Failure, SamplingParameters
from dataenvgym.records import Conversation, Message
from dataenvgym.tasks.judging.panel import Judged
from dataenvgym.tasks.judging.verdicts import Unscored, VerdictT, read_verdict, verdict_schema

RETRIES = 2
"""How often a judge is asked again after a reply that cannot be parsed."""

SAMPLING = SamplingParameters(max_tokens=1024)
"""How judges answer: greedily."""

UNREADABLE = "no usable verdict"
"""The beginning of the reason if a verdict could not be parsed."""

_SHOWN = 2000


def judge_ask(
    asked: Conversation,
    verdict: type[VerdictT],
    *,
    who: str = "judge",
    retries: int = RETRIES,
    sampling: SamplingParameters = SAMPLING,
    constrained: bool = True,
    may_fail: bool = False,
) -> Generator[Ask, Any, VerdictT | Unscored]:
    """Ask a speaker of the conversation for a verdict: `yield from` it in `begin` or `respond`.

    A verdict that cannot be parsed is `Unscored`. A speaker that fails ends the instance with an
    error, which the environment cannot catch, unless it `may_fail`.

    Args:
        asked: see `questions.question`.
        constrained: send the verdict's JSON schema, which servers enforce. Use False for a
            predictor that cannot enforce one, such as a student in this process.
        may_fail: return `Unscored` if the speaker fails.
    """
    if constrained:
        sampling = sampling.model_copy(update={"json_schema": verdict_schema(verdict)})
    conversation, problem = asked, ""
    for _ in range(retries + 1):
        reply = yield Ask(who, conversation, sampling, may_fail)
        if isinstance(reply, Failure):
            return Unscored(reply.reason.removeprefix(f"{who}: "), reply.outage)
        found = read_verdict(reply.text, verdict)
        if not isinstance(found, str):
            return found
        problem = found
        again = (
            f"That is not a verdict that can be used: {problem}. Judge again, and reply with one "
            "JSON object that fits the schema, and nothing else."
        )
        conversation = (
            *asked,
            Message(role="assistant", content=escaped(reply.text[:_SHOWN])),
            Message(role="user", content=again),
        )
    replies = "1 reply" if retries == 0 else f"{retries + 1} replies"
    return Unscored(f"{UNREADABLE} in {replies}; the last one: {problem}")


def panel_ask(
    asked: Conversation,
    verdict: type[VerdictT],
    *,
    who: Sequence[str],
    **asking: Any,
) -> Generator[Ask, Any, Judged[VerdictT]]:
    """Ask several speakers like `judge_ask`, whose arguments it takes; return the verdict of each.

    A speaker that fails, or whose verdict cannot be parsed, is among the `unscored`.

    Raises:
        SpeakerError: if none gave a verdict, and one was out of reach.
    """
    verdicts: dict[str, VerdictT] = {}
    unscored: dict[str, Unscored] = {}
    for name in who:
        found = yield from judge_ask(asked, verdict, who=name, may_fail=True, **asking)
        if isinstance(found, Unscored):
            unscored[name] = found
        else:
            verdicts[name] = found
    for name, none in unscored.items():
        if none.outage and not verdicts:
            raise none.error(name)
    return Judged(verdicts, {name: none.reason for name, none in unscored.items()})
