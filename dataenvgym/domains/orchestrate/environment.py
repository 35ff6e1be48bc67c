"""One request, for which the student calls other models by tools, each with a price.

This is `dataenvgym/Orchestrate-v0`; bare `gymnasium.make` works on the validation problems of
pocket orchestration, with simulated models.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from pydantic import NonNegativeInt, PositiveInt

from dataenvgym.domains.orchestrate.calls import (
    CHARACTERS_PER_TOKEN,
    ERROR,
    Code,
    Result,
    faults_in,
    priced,
    repeated_tool,
    results_in,
)
from dataenvgym.domains.orchestrate.preferences import preference_of
from dataenvgym.domains.orchestrate.retrievers import Retriever
from dataenvgym.domains.orchestrate.tiers import TOOLS, Tier, ToolName
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, SpeakerError
from dataenvgym.interfaces import Ask, Failure, Reply
from dataenvgym.records import Conversation, Message, TaskInstance, Tool, ToolCall
from dataenvgym.records.tool_formats import malformed_call
from dataenvgym.records.usage import NOTHING, Usage
from dataenvgym.sandbox import Limits
from dataenvgym.sandbox.opening import SharedSandbox
from dataenvgym.tasks.environment import Outcome, Stepped, TaskEnvironment
from dataenvgym.tasks.judging import AnswerVerdict, Unscored, judge_ask, question

# --- the context of a turn: documents, code with output, and attempts -----------------------------
# It is rebuilt from the results so far. Tokens are counted as four characters each; what exceeds
# the budget is cut at the beginning, so the newest stays.

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


# --- one request ----------------------------------------------------------------------------------


GradedBy = Literal["judge", "exact_match"]
SYSTEM = "You are good at using tools."
TEMPLATE = "Problem: {instruction}\n\nChoose an appropriate tool."
CODE_SECONDS = 60.0
"""How long the code of a reasoner may run."""
MOST_WORDS = 500
"""Of an answer; a longer text is not an answer."""
_DESCRIPTIONS: Mapping[ToolName, str] = {
    "search": "Search for missing information.",
    "enhance_reasoning": (
        "Let a model write code about the problem, run it, and get intermediate results."
    ),
    "answer": "Let a model give the final answer. This ends the work.",
}


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """How calls of tools are made and graded.

    Attributes:
        graded_by: how an answer other than the gold answer is graded: "judge" (the model in
            `others.judge`; without it, the problem is not scored), or "exact_match": it is wrong.
        documents: how many documents a search returns.
        context_tokens: the longest context of the orchestrator, at four characters a token.
        retries: how often a tier is asked again that failed, or whose reply cannot be used.
    """

    graded_by: GradedBy = "judge"
    documents: PositiveInt = 5
    context_tokens: PositiveInt = 27_000
    retries: NonNegativeInt = 2


class OrchestrateEnvironment(TaskEnvironment):
    """Reward 1.0 if the answer is right, else 0.0.

    The student sees the problem, what is known so far, and the tools; it does not see its earlier
    messages. It may call each tool once in a turn, with the tier as `model`; calls are made in
    order, and `answer` ends the problem. A tool that was called twice running is not offered in the
    next turn. The observation after the last turn is the whole conversation, with what each call
    gave and cost.

    A tier that fails, or whose replies cannot be used, ends the problem with an error under its
    name.

    Args:
        tiers: those that are offered, by name.
        options: see `CallOptions`.
        retriever: for searches; None if no tier searches.
        sandbox: runs the code of reasoners.
        more: max_turns, system_prompt, template, others and render_mode, see `TaskEnvironment`.
    """

    max_turns = 50
    max_asks = 64

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        *,
        tiers: Mapping[str, Tier],
        options: CallOptions = CallOptions(),
        retriever: Retriever | None = None,
        sandbox: SharedSandbox,
        **more: Any,
    ) -> None:
        super().__init__(instances, **more)
        self.tiers = tiers
        self.options = options
        self.retriever = retriever
        self._sandbox = sandbox
        self._serving = {tool: names for tool in TOOLS if (names := _serving(tool, tiers))}
        self._tools = {tool: tool_of(tool, tiers) for tool in self._serving}
        if "answer" not in self._tools:
            raise ConfigurationError(
                "no tier answers, so no problem can be solved: set "
                "task.tiers.answer-1.accuracy=0.9 to simulate one, "
                "task.others.answer-1=openai/NAME, or task.endpoints=FILE"
            )
        if "search" in self._tools and retriever is None:
            raise ConfigurationError(
                f"the tiers {', '.join(self._serving['search'])} search, and there is nothing to "
                "search in: set task.retriever to a folder of texts or http://HOST:PORT"
            )

    # --- what the student sees ---

    def shown(self, instance: TaskInstance, conversation: Conversation) -> Conversation:
        """The prompt of the student's next message: the problem, the context, and the tools.

        Args:
            conversation: so far; () at the beginning.
        """
        problem = _problem(instance)
        room = self.options.context_tokens - len(problem) // CHARACTERS_PER_TOKEN
        context = Context.of(conversation).text(max(room, 1))
        faults = "\n".join(f"{ERROR}{fault}" for fault in faults_in(conversation))
        text = "\n\n".join(filter(None, (problem, context, faults)))
        first, *rest = self.prompt_template.conversation(text)
        left_out = repeated_tool(conversation)
        tools = tuple(tool for name, tool in self._tools.items() if name != left_out)
        return (first.model_copy(update={"tools": tools}), *rest)

    def begin(self, instance: TaskInstance) -> Conversation:
        if instance.answer is None:
            raise InvalidInstanceError(f"instance {instance.id!r} has no answer, expected text")
        return self.shown(instance, ())

    def step_asking(self, action: str) -> Generator[Ask, Reply, Stepped]:
        """See `TaskEnvironment`; until the end, the result shows the rebuilt context."""
        instance = self._instance
        stepped = yield from super().step_asking(action)
        if self._instance is None:  # it is over
            return stepped
        assert instance is not None
        return (self.shown(instance, stepped[0]), *stepped[1:])

    # --- a turn ---

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        said, before = conversation[-1], conversation[:-1]
        if not said.tool_calls:
            reason = malformed_call(said.content) or "call one of the tools"
            return Outcome(messages=(Message(role="user", content=ERROR + reason),), done=False)
        left_out = repeated_tool(before)
        messages: list[Message] = []
        used: set[str] = set()
        is_right: bool | None = None
        for call in said.tool_calls:
            fault = self._fault(call, used, left_out)
            if is_right is not None:
                fault = "not made: the problem had been answered"
            if fault is not None:
                messages.append(Result(error=fault).message())
                continue
            used.add(call.name)
            context = Context.of((*before, *messages))
            result = yield from self._called(instance, context, str(call.arguments["model"]))
            if call.name == "answer":
                is_right, result = yield from self._graded(instance, result)
            messages.append(result.message())
        return Outcome(
            messages=tuple(messages),
            reward=float(bool(is_right)),
            done=is_right is not None,
            was_correct=bool(is_right),
        )

    def _fault(self, call: ToolCall, used: set[str], left_out: str | None) -> str | None:
        """Why a call cannot be made, or None."""
        if call.name not in self._serving or call.name == left_out:
            offered = ", ".join(name for name in self._tools if name != left_out)
            return f"{call.name!r} is not offered now; there are: {offered}"
        if call.name in used:
            return f"not made: call {call.name} once in a turn"
        serving = self._serving[call.name]
        if {*call.arguments} != {"model"} or call.arguments["model"] not in serving:
            return f"{call.name} takes a model, one of: {', '.join(serving)}"
        return None

    def _called(
        self, instance: TaskInstance, context: Context, name: str
    ) -> Generator[Ask, Any, Result]:
        """Ask a tier until its reply can be used.

        Raises:
            SpeakerError: if it cannot be used after all retries, at the fault of the tier.
        """
        tier = self.tiers[name]
        asked = asked_of(
            tier.tool, _problem(instance), context.text(tier.context_tokens, each=None)
        )
        usage: Usage | None = None
        reason = ""
        for _ in range(self.options.retries + 1):
            if name in self.others:
                reply = yield Ask(name, asked, tier.sampling, may_fail=True)
            else:
                reply = self._simulated(name, tier, instance, context, asked)
            if isinstance(reply, Failure):
                reason = reply.reason
                continue
            paid = priced(reply.usage, tier.price, tier.seconds)
            usage = paid if usage is None else usage + paid
            found = self._used(tier, reply.text)
            if not isinstance(found, str):
                return Result(tool=tier.tool, tier=name, usage=usage, **found)
            reason = f"{name}: {found}: {reply.text!r:.200}"
        tries = self.options.retries + 1
        raise SpeakerError(f"{reason} (asked {tries} times)", fault=name)

    def _used(self, tier: Tier, text: str) -> dict[str, Any] | str:
        """The fields of the result of a tier's reply, or why it cannot be used."""
        if tier.tool == "search":
            query = tagged(text, "query")
            assert self.retriever is not None
            if not query:
                return "the reply has no <query>"
            found = self.retriever.search(query, self.options.documents)
            return {"query": query, "documents": tuple(found)}
        if tier.tool == "answer":
            answer = tagged(text, "answer")
            if not answer or len(answer.split()) > MOST_WORDS:
                return f"the reply has no <answer> of at most {MOST_WORDS} words"
            return {"answer": answer}
        if program := program_in(text):
            limits = Limits(seconds=CODE_SECONDS)
            output = self._sandbox.box().run(program, limits=limits).text
            return {"code": Code(program=program, output=output)}
        return {"attempt": text.strip()} if text.strip() else "the reply is empty"

    def _simulated(
        self, name: str, tier: Tier, instance: TaskInstance, context: Context, asked: Conversation
    ) -> Reply:
        """A reply that is right with the stated accuracy."""
        gold = instance.answer or ""
        chance = tier.chance(name, instance.skill)
        if tier.tool == "answer" and tier.informed is not None and context.has(gold):
            chance = tier.informed
        is_right = self.np_random.random() < chance
        said = {
            "search": f"<query>{instance.instruction if is_right else 'something else'}</query>",
            "enhance_reasoning": gold if is_right else "I do not see how to compute it.",
            "answer": f"<answer>{gold if is_right else 'I do not know.'}</answer>",
        }
        prompt_tokens = sum(len(m.content) for m in asked) // CHARACTERS_PER_TOKEN
        return Reply(
            text=said[tier.tool], prompt_tokens=prompt_tokens, completion_tokens=tier.reply_tokens
        )

    # --- the end ---

    def _graded(
        self, instance: TaskInstance, result: Result
    ) -> Generator[Ask, Any, tuple[bool, Result]]:
        """Whether the answer is right, and the result with the judge's usage.

        Raises:
            SpeakerError: if a judge is needed, and there is none, or it gives no verdict.
        """
        gold = instance.answer or ""
        if _folded(result.answer) == _folded(gold):
            return True, result
        if self.options.graded_by == "exact_match" or result.tier not in self.others:
            return False, result  # a simulated answer is known to be wrong
        if "judge" not in self.others:
            raise SpeakerError(
                f"judge: the answer {result.answer!r:.80} is not the gold answer word for word, "
                "and there is no judge: set task.others.judge=openai/NAME, or "
                "task.graded_by=exact_match"
            )
        data = {"question": instance.instruction, "gold": gold, "answer": result.answer}
        asks = judge_ask(question("knowledge_answer", AnswerVerdict, data=data), AnswerVerdict)
        usage, reply = NOTHING, None
        while True:
            try:
                ask = asks.send(reply)
            except StopIteration as end:
                verdict: AnswerVerdict | Unscored = end.value
                break
            reply = yield ask
            usage += reply.usage
        if isinstance(verdict, Unscored):
            raise verdict.error()
        return verdict.is_right, result.model_copy(update={"judge": usage})


def _problem(instance: TaskInstance) -> str:
    """The instruction, and what the user prefers."""
    preference = preference_of(instance)
    wanted = "" if preference is None else f"\n\n{preference.words}"
    return instance.instruction + wanted


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _serving(tool: str, tiers: Mapping[str, Tier]) -> list[str]:
    return [name for name, tier in tiers.items() if tier.tool == tool]


def tool_of(name: ToolName, tiers: Mapping[str, Tier]) -> Tool:
    """A tool as the student sees it, with the price and the seconds of each tier."""
    told = []
    for each in _serving(name, tiers):
        price, seconds = tiers[each].price, tiers[each].seconds
        costs = (
            f"${price.prompt:g} in and ${price.completion:g} out for a million tokens" if price
            else "price unknown",
            "" if seconds is None else f"{seconds:g} seconds",
        )  # fmt: skip
        told.append(f"{each} ({', '.join(filter(None, costs))})")
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {
            "model": {
                "type": "string",
                "enum": _serving(name, tiers),
                "description": f"The model: {'; '.join(told)}.",
            }
        },
        "required": ["model"],
    }
    return Tool(name=name, description=_DESCRIPTIONS[name], parameters=parameters)
