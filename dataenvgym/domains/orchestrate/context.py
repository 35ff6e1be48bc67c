"""The prompts of the orchestrator and the tiers: documents, code with output, and attempts.

The context of each turn is rebuilt from the results so far. Tokens are counted as four characters
each; what exceeds the budget is cut at the beginning, so the newest stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from dataenvgym.domains.orchestrate.calls import CHARACTERS_PER_TOKEN, Code, results_in
from dataenvgym.records import Conversation, Message

DOCUMENT_CHARACTERS = 1_200
ATTEMPT_TOKENS = 8_000
CODE_TOKENS = 12_000


@dataclass
class Context:
    """The results of an orchestration so far.

    Attributes:
        documents: the best of the last search comes last; none twice.
        code: programs that printed something.
        attempts: texts of reasoners without code, with the tier.
    """

    documents: list[str] = field(default_factory=list)
    code: list[Code] = field(default_factory=list)
    attempts: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, conversation: Sequence[Message]) -> Self:
        """The context after a conversation."""
        context = cls()
        for result in results_in(conversation):
            for text in reversed(result.documents):
                if text not in context.documents:
                    context.documents.append(text)
            if result.code is not None and result.code.output.strip():
                context.code.append(result.code)
            if result.attempt:
                context.attempts.append((result.tier, result.attempt))
        return context

    def text(self, budget: int, *, each: int | None = DOCUMENT_CHARACTERS) -> str:
        """All of it as text.

        Args:
            budget: the most tokens.
            each: the most characters of a document; None keeps all.
        """
        attempts = "".join(
            f"Attempt {i} by {tier}: {text}\n" for i, (tier, text) in enumerate(self.attempts, 1)
        )
        code = "".join(
            f"```python\n{one.program.strip()}\n```\n```output\n{one.output.strip()}\n```\n\n"
            for one in self.code
        )
        worked = cut(code + cut(attempts, ATTEMPT_TOKENS), min(CODE_TOKENS, budget))
        documents = "".join(
            f"Document {i}: {text[:each].strip()}\n\n" for i, text in enumerate(self.documents, 1)
        )
        room = budget - len(worked) // CHARACTERS_PER_TOKEN
        documents = cut(documents, room) if room > 0 else ""
        parts = {"Documents": documents, "Code, its output, and attempts": worked}
        return "\n\n".join(f"{title}:\n{text.strip()}" for title, text in parts.items() if text)

    def has(self, answer: str) -> bool:
        """Whether a document, an output of code, or an attempt contains a text."""
        outputs, attempts = (c.output for c in self.code), (text for _, text in self.attempts)
        return any(answer in text for text in (*self.documents, *outputs, *attempts))


def cut(text: str, tokens: int) -> str:
    """The end of a text that fits in a number of tokens."""
    return text[-tokens * CHARACTERS_PER_TOKEN :]


_TASKS = {
    "search": (
        "Do not answer the question. Write a query that would find one piece of relevant "
        "information that is still missing: some key words, or a short sentence. Write it within "
        "<query> and </query>."
    ),
    "enhance_reasoning": (
        "Do not answer the question. Write Python code whose output helps to answer it. It must "
        "be complete, with all imports and values, and print its results. Write it in one block "
        "that begins with ```python and ends with ```."
    ),
    "answer": (
        "Reason step by step. At the end, write only the exact answer, without an explanation, "
        "within <answer> and </answer>."
    ),
}


def asked_of(tool: str, problem: str, context: str) -> Conversation:
    """The conversation that a tier is asked to answer."""
    parts = (context, f"Question: {problem}", _TASKS[tool])
    return (Message(role="user", content="\n\n".join(filter(None, parts))),)


def tagged(text: str, tag: str) -> str:
    """The text within the last <tag> of a reply, or ""; a missing end is the end of the reply.

    Of an answer, the last \\boxed{...} counts as well, as math models write it.
    """
    _, found, rest = text.rpartition(f"<{tag}>")
    if found:
        return rest.partition(f"</{tag}>")[0].strip()
    _, found, rest = text.rpartition("\\boxed{")
    if tag != "answer" or not found:
        return ""
    depth, end = 1, len(rest)
    for i, character in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            end = i
            break
    return rest[:end].strip()


def program_in(text: str) -> str:
    """The last block of Python in a reply, or ""."""
    _, found, rest = text.rpartition("```python")
    return rest.partition("```")[0].strip() if found else ""
