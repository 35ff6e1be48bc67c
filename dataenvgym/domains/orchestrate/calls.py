"""Results of tool calls as messages, and an account of their tokens, money and seconds.

The message of each call is a `Result` as JSON. So a transcript has everything: what the
orchestrator is shown next (see `context`), what was called, and what it cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from pydantic import Field

from dataenvgym.domains.orchestrate.tiers import TOOLS
from dataenvgym.records import CompletedTaskInstance, Conversation, Message, Model
from dataenvgym.records.usage import NOTHING, UNKNOWN, Usage
from dataenvgym.teachers.budget import Price, cost_of

CHARACTERS_PER_TOKEN = 4
"""To count tokens without the tokenizer of a model."""
ERROR = "Error: "
"""Before the reason why a message without calls is not accepted."""


def priced(usage: Usage, price: Price | None, seconds: float | None = None) -> Usage:
    """The usage of one reply, with this price and time if it does not have its own."""
    cost = usage.cost
    if cost is None:
        cost = cost_of(price, usage.prompt_tokens, usage.completion_tokens)
    took = seconds if usage.seconds is None else usage.seconds
    return usage.model_copy(update={"cost": cost, "seconds": took})


class Code(Model):
    """A program of a reasoner, and what it printed."""

    program: str
    output: str


class Result(Model):
    """The result of one call.

    Attributes:
        tool, tier: that were called; "" if the call was not made.
        error: why it was not made.
        documents: that a search found.
        code: of a reasoner, which ran.
        attempt: the text of a reasoner without code.
        answer: the last answer, and how it was compared with the gold answer.
        usage: of the tier, replies that had to be asked for again included.
        judge: usage of the judge.
    """

    tool: str = ""
    tier: str = ""
    error: str = ""
    query: str = ""
    documents: tuple[str, ...] = ()
    code: Code | None = None
    attempt: str = ""
    answer: str = ""
    usage: Usage | None = None
    judge: Usage | None = None

    def message(self) -> Message:
        return Message(role="tool", content=self.model_dump_json(exclude_defaults=True))


class Account(Model):
    """The calls of one orchestration, and what they took.

    Attributes:
        calls: number of calls by tool and by tier, of those that were made at all.
        tools, judge: usage of all tiers, and of the judge.
        policy: usage of the orchestrator itself; None if it is unknown altogether.
        n_invalid: the orchestrator's turns with a call that could not be made, or without one.
    """

    calls: dict[str, int] = Field(default_factory=dict)
    tools: Usage = NOTHING
    judge: Usage = NOTHING
    policy: Usage | None = None
    n_invalid: int = 0

    @property
    def cost(self) -> float | None:
        """In US dollars: of the tools, and of the policy if its cost is known."""
        policy = self.policy.cost if self.policy else None
        return None if self.tools.cost is None else self.tools.cost + (policy or 0.0)

    @property
    def seconds(self) -> float | None:
        """Of the tools, and of the policy if its time is known."""
        policy = self.policy.seconds if self.policy else None
        return None if self.tools.seconds is None else self.tools.seconds + (policy or 0.0)


def results_in(conversation: Sequence[Message]) -> Iterator[Result]:
    """The results of calls, in order."""
    for message in conversation:
        if message.role == "tool":
            yield _result(message.content)


@lru_cache(maxsize=512)
def _result(content: str) -> Result:
    """The result in a message; each turn reads those of all turns before it several times."""
    return Result.model_validate_json(content)


def account_of(transcript: Conversation, policy: Usage | None = None) -> Account:
    """The account of a conversation."""
    calls: dict[str, int] = {}
    tools, judge = NOTHING, NOTHING
    for result in results_in(transcript):
        if result.tool:
            for name in (result.tool, result.tier):
                calls[name] = calls.get(name, 0) + 1
        tools += result.usage or NOTHING
        judge += result.judge or NOTHING
    invalid, was_counted = 0, True
    for message in transcript[1:]:
        if message.role == "assistant":
            was_counted = False
        elif not was_counted:
            fault = ERROR if message.role == "user" else '{"error":'
            if message.content.startswith(fault):
                invalid, was_counted = invalid + 1, True
    return Account(calls=calls, tools=tools, judge=judge, policy=policy, n_invalid=invalid)


def faults_in(conversation: Sequence[Message]) -> list[str]:
    """Why calls of the orchestrator's last message were not made."""
    faults: list[str] = []
    for message in reversed(conversation):
        if message.role == "assistant":
            return faults[::-1]
        if message.role == "user":
            faults.append(message.content.removeprefix(ERROR))
        elif error := _result(message.content).error:
            faults.append(error)
    return []


def repeated_tool(conversation: Sequence[Message]) -> str | None:
    """The tool of the last two calls, if it is the same; it is not offered in the next turn."""
    used = [result.tool for result in results_in(conversation) if result.tool in TOOLS]
    return used[-1] if len(used) > 1 and used[-1] == used[-2] else None


_SCORES = {
    "policy_prompt_tokens": ("prompt_tokens", 1.0),
    "policy_completion_tokens": ("completion_tokens", 1.0),
    "policy_seconds": ("seconds", 1.0),
    "policy_cents": ("cost", 100.0),
}
"""By the name of a score of the policy: the field of `Usage`, and its units in one of it."""


def policy_scores(usage: Usage) -> dict[str, float]:
    """The usage of the policy as named scores of an instance; the unknown are left out."""
    return {
        score: factor * value
        for score, (name, factor) in _SCORES.items()
        if (value := getattr(usage, name)) is not None
    }


def account(completed: CompletedTaskInstance) -> Account:
    """The account of a finished problem, with the usage of the policy where it was measured."""
    known = {
        name: completed.scores[score] / factor
        for score, (name, factor) in _SCORES.items()
        if score in completed.scores
    }
    policy = Usage.model_validate({**UNKNOWN.model_dump(), **known}) if known else None
    return account_of(completed.transcript, policy)
