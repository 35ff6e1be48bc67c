"""Fixed orchestrators, to compare trained ones with: always the same calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation, Message, ToolCall
from dataenvgym.records.tool_formats import as_reply


class FixedOrchestrator:
    """Calls the same tiers for every problem; it cannot be trained.

    FixedOrchestrator(["search-3", "answer-4"])

    It sees the context of a turn only, so the next call is the first one whose tool is offered and
    has not left its mark there: a search leaves documents, a reasoner code or an attempt.

    Args:
        calls: the tiers, in order; the last one answers.
    """

    def __init__(self, calls: Sequence[str]) -> None:
        self.calls = tuple(calls)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        """The next call for each conversation; a failure if a tier is not offered at all."""
        return [self._next(conversation) for conversation in conversations]

    def _next(self, conversation: Conversation) -> Reply | Failure:
        tools: dict[str, str] = {}
        for tool in conversation[0].tools:
            properties: Any = tool.parameters["properties"]
            tools |= {str(name): tool.name for name in properties["model"]["enum"]}
        seen = conversation[-1].content
        marks = {
            "search": "Documents:\n" in seen,
            "enhance_reasoning": "Code, its output, and attempts:\n" in seen,
        }
        for name in self.calls:
            if name in tools and not marks.get(tools[name]):
                call = ToolCall(name=tools[name], arguments={"model": name})
                said = Message(role="assistant", content="", tool_calls=(call,))
                return Reply(text=as_reply(said), prompt_tokens=0, completion_tokens=0)
        return Failure(reason=f"none of {', '.join(self.calls)} can be called: {', '.join(tools)}")

    def describe(self) -> dict[str, object]:
        """The calls, for the run directory."""
        return {"name": type(self).__name__, "calls": list(self.calls)}
