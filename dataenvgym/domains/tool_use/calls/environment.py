"""One problem whose answer is tool calls: the student calls once, and gold calls judge it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dataenvgym.domains.tool_use.calls.api_bank_apis import CheckedCall
from dataenvgym.domains.tool_use.calls.problem import CallsProblem, declaring
from dataenvgym.domains.tool_use.calls.search import TOOL_SEARCHER, are_searches, found
from dataenvgym.domains.tool_use.matching import call_scores, calls_match
from dataenvgym.errors import shorten
from dataenvgym.records import Conversation, Message, TaskInstance, Tool, ToolCall
from dataenvgym.records.tool_formats import to_json
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.options import PromptOptions
from dataenvgym.tasks.words import words_of


@dataclass(frozen=True, kw_only=True)
class CallOptions(PromptOptions):
    """How calls are compared with gold calls.

    Attributes:
        matching: "lenient", as BFCL compares arguments, or "strict": JSON equality.
    """

    matching: Literal["strict", "lenient"] = "lenient"


class CallsEnvironment(TaskEnvironment):
    """Reward 1.0 if the student's calls match the gold ones, else 0.0.

    If no call should be made, a message without calls is right; if any call is right, one with
    calls. If the gold answer is a reply to the user instead, the reward is ROUGE-L against it (0.0
    if tools are called), and the reply is right from `reply_threshold` on. The student has one
    message; a message that only searches for tools is answered, and the conversation continues.

    Scores: `names_matched` and `arguments_matched` (see `matching.call_scores`), and `rouge_l` if
    there is a gold reply, also if there are gold calls. If the gold call has a judge of its own,
    one call that it accepts is right, too, and its verdict alone is a score (`accepted_by_api`).

    Args:
        options: how arguments are compared, and the prompt. The template is put around the last
            message, if that is the user's.
        reply_threshold: the smallest ROUGE-L of a right reply, in (0, 1].
        catalog: if it has tools, the student gets only `TOOL_SEARCHER`, which searches them.
        verdict: of a gold call's own judge on a message's calls, by the name of the score; {} if
            there is none (see `ApiBankApis.verdict`).
        instances, more: see `TaskEnvironment`.
    """

    max_turns = 8

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        options: CallOptions = CallOptions(),
        *,
        reply_threshold: float = 0.5,
        catalog: Sequence[Tool] = (),
        verdict: Callable[[Sequence[ToolCall], CheckedCall], Mapping[str, bool]] = lambda *_: {},
        **more: Any,
    ):
        super().__init__(
            instances, system_prompt=options.system_prompt, template=options.template, **more
        )
        self.lenient = options.matching == "lenient"
        self.reply_threshold = reply_threshold
        self.catalog = tuple(catalog)
        self.verdict = verdict
        self._problem: CallsProblem | None = None

    def begin(self, instance: TaskInstance) -> Conversation:
        self._problem = instance.data_as(CallsProblem)
        return self.prompt(self._problem.messages, self._problem.tools)

    def prompt(self, messages: Conversation, tools: Sequence[Tool]) -> Conversation:
        """The prompt for a conversation with these tools."""
        leads = messages[0].role == "system"
        own, (*before, last) = messages[:leads], messages[leads:]
        if last.role == "user":
            framed = self.prompt_template.conversation(last.content)
        else:
            framed = (*self.prompt_template.conversation("")[:-1], last)
        *system, last = framed
        if own:
            texts = (message.content for message in (*system, *own))
            system = [Message(role="system", content="\n\n".join(texts))]
        return declaring((*system, *before, last), (TOOL_SEARCHER,) if self.catalog else tools)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        problem, said = self._problem, conversation[-1]
        assert problem is not None  # begin() has checked it
        calls = said.tool_calls
        if self.catalog and are_searches(calls) and not are_searches(problem.gold):
            results = (found(call, self.catalog) for call in calls)
            return Outcome(
                messages=tuple(Message(role="tool", content=result) for result in results),
                done=False,
            )
        scores: dict[str, float] = {}
        if problem.gold or not problem.reply:
            scores |= call_scores(calls, problem.gold, lenient=self.lenient, tools=problem.tools)
        if problem.reply:
            scores["rouge_l"] = rouge_l(said.content, problem.reply)
        if problem.reply and not problem.gold:
            reward = 0.0 if calls else scores["rouge_l"]
            was_correct = reward >= self.reply_threshold
        elif problem.any_call:
            was_correct = bool(calls)
            reward = float(was_correct)
        else:
            was_correct = calls_match(
                calls, problem.gold, lenient=self.lenient, tools=problem.tools
            )
            if problem.checked is not None:
                for name, accepted in self.verdict(calls, problem.checked).items():
                    scores[name] = float(accepted)
                    was_correct = was_correct or accepted
            reward = float(was_correct)
        return Outcome(
            reward=reward,
            was_correct=was_correct,
            scores=scores,
            info={} if was_correct else {"note": _note(said, problem)},
        )


def _note(said: Message, problem: CallsProblem) -> str:
    """The calls made, and the expected ones."""
    given, wanted = (
        ", ".join(f"{call.name}({to_json(call.arguments)})" for call in calls) or "no call"
        for calls in (said.tool_calls, [gold.call for gold in problem.gold])
    )
    return shorten(f"expected {wanted}, found {given}", 300)


def rouge_l(text: str, gold: str) -> float:
    """The F1 of ROUGE-L, 0.0 to 1.0; 0.0 if one of the texts has no words."""
    given, wanted = words_of(text), words_of(gold)
    common = _longest_common_subsequence(given, wanted)
    return 2 * common / (len(given) + len(wanted)) if common else 0.0


def _longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Its length, in O(len(one) * len(other))."""
    lengths = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for i, candidate in enumerate(other, start=1):
            above = lengths[i]
            lengths[i] = before + 1 if word == candidate else max(above, lengths[i - 1])
            before = above
    return lengths[-1]
