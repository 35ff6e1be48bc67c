"""The domain of orchestration: requests that are solved by calling priced models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any
from zlib import crc32

from dataenvgym.domains.orchestrate.calls import account, results_in
from dataenvgym.domains.orchestrate.environment import (
    SYSTEM,
    TEMPLATE,
    CallOptions,
    OrchestrateEnvironment,
)
from dataenvgym.domains.orchestrate.preferences import kept, preference_of
from dataenvgym.domains.orchestrate.retrievers import Retriever
from dataenvgym.domains.orchestrate.rewards import efficiency
from dataenvgym.domains.orchestrate.tiers import Tier
from dataenvgym.events import warn_run
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    Message,
    PerformanceReport,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    ToolCall,
)
from dataenvgym.records.tool_formats import HERMES, as_reply, to_json
from dataenvgym.sandbox.opening import SharedSandbox
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import report_on
from dataenvgym.tasks.prompt_template import PromptTemplate
from dataenvgym.tasks.record_conversion import chat_record, students_turns

PROMPT = PromptTemplate(SYSTEM, TEMPLATE)
OPTIONS = CallOptions()


class OrchestrateDomain(DialogueDomain):
    """Requests to be solved with these tiers.

    Reports have the mean costs (see `report`).

    Args:
        tiers: by name; those without a model and without an accuracy are not offered.
        options, retriever: see `OrchestrateEnvironment`.
        others: the speakers, by name; a tier of that name is asked, and not simulated.
        prompt_template: the prompt around each problem and its context.
        max_turns: the most messages of the student.
    """

    record_forms = ("tool",)

    def __init__(
        self,
        tiers: Mapping[str, Tier],
        options: CallOptions = OPTIONS,
        *,
        retriever: Retriever | None = None,
        others: Mapping[str, Any] | None = None,
        prompt_template: PromptTemplate = PROMPT,
        max_turns: int = OrchestrateEnvironment.max_turns,
    ) -> None:
        self.others = dict(others or {})
        self.tiers = {
            name: tier
            for name, tier in tiers.items()
            if name in self.others or tier.accuracy is not None
        }
        self.prompt_template = prompt_template
        self.sandbox = SharedSandbox()
        self._environment = partial(
            OrchestrateEnvironment,
            tiers=self.tiers,
            options=options,
            retriever=retriever,
            sandbox=self.sandbox,
            others=self.others,
            system_prompt=prompt_template.system,
            template=prompt_template.template,
            max_turns=max_turns,
        )
        self.make_environment()  # raises here if no tier answers

    @property
    def offered(self) -> Collection[str]:
        """The names of tools and tiers, which a preference may weigh."""
        return (*dict.fromkeys(tier.tool for tier in self.tiers.values()), *self.tiers)

    def make_environment(
        self, instances: Sequence[TaskInstance] = (), **more: Any
    ) -> OrchestrateEnvironment:
        return self._environment(instances, **more)

    # --- a finished problem ---

    def turns(self, completed: CompletedTaskInstance) -> list[tuple[Conversation, Message]]:
        """Each message of the student, with the prompt that it had seen."""
        said, instance = completed.transcript, completed.instance
        prompt = self.prompt(instance)
        with closing(self.make_environment()) as environment:
            return [
                (environment.shown(instance, () if i < len(prompt) + 1 else said[:i]), said[i])
                for i in students_turns(completed, prompt)
            ]

    def report(self, task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
        """The report, with mean costs; a warning names the tiers whose cost is unknown.

        There are mean cents, tokens and seconds of each part, calls, efficiency, and preferences
        kept. A score that is unknown for one of the problems is left out: the mean of the others
        would not be comparable.
        """
        unknown = sorted(
            {
                result.tier
                for each in completed
                for result in results_in(each.transcript if each.error is None else ())
                if result.usage is not None and result.usage.cost is None
            }
        )
        if unknown:
            warn_run(
                f"the cost of {', '.join(unknown)} is unknown, so reports have no mean cost: set "
                f"task.tiers.{unknown[0]}.price={{prompt: ..., completion: ...}} in US dollars for "
                "a million tokens; a server that does not count tokens cannot be priced"
            )
        return report_on(task, completed, self._mean_costs)

    def _mean_costs(self, completed: Sequence[CompletedTaskInstance]) -> Mapping[str, float]:
        found: dict[str, list[float | None]] = {}
        for each in completed:
            spent, was_correct = account(each), each.was_correct
            values: dict[str, float | None] = {
                "cents": _cents(spent.cost),
                "seconds": spent.seconds,
                "invalid_turns": spent.n_invalid,
                "efficiency": efficiency(was_correct, spent),
            }
            parts = {"tools": spent.tools, "judge": spent.judge if "judge" in self.others else None}
            for part, usage in parts.items():
                if usage is not None:
                    values[f"{part}_cents"] = _cents(usage.cost)
                    values[f"{part}_tokens"] = usage.tokens
                    values[f"{part}_seconds"] = usage.seconds
            for name in self.offered:
                values[f"calls_{name}"] = spent.calls.get(name, 0)
            if (preference := preference_of(each.instance)) is not None:
                values["preference"] = kept(preference, spent, was_correct)
            for name, value in values.items():
                found.setdefault(name, []).append(value)
        return {
            name: sum(known) / len(known)
            for name, values in found.items()
            if len(known := [v for v in values if v is not None]) == len(values)
        }

    def answer_given(self, completed: CompletedTaskInstance) -> str | None:
        """The final answer; None if there is none."""
        found = [result.answer for result in results_in(completed.transcript) if result.answer]
        return " ".join(found[-1].casefold().split()) if found else None

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        """The student's messages and what their calls gave; None if it never answered."""
        turns = [
            as_reply(m) if m.role == "assistant" else f"Result: {m.content}"
            for m in completed.transcript[len(self.prompt(completed.instance)) :]
        ]
        return "\n".join(turns) or None

    # --- teaching ---

    @property
    def teacher_context(self) -> str:
        """The system message and the tools with the prices of their tiers."""
        tools = self.prompt(TaskInstance(id="any", task="any", instruction="", answer=""))[0].tools
        listed = "\n".join(to_json(tool.model_dump(mode="json")) for tool in tools)
        return f"{self.prompt_template.system}\n\nTools:\n{listed}"

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """The calls in the problem's `gold`, a list of tiers; none for problems of files."""
        gold = instance.data.get("gold")
        for name in gold if isinstance(gold, list) else ():
            yield call_of(str(name), self.tiers)

    def gold_record(self, instance: TaskInstance) -> ChatDatum | None:
        """One turn of the gold conversation, with the prompt that the student sees in it."""
        completed = self.gold_conversation(instance)
        if completed is None or not completed.was_correct:
            return None
        turns = self.turns(completed)
        prompt, said = turns[crc32(instance.id.encode()) % len(turns)]
        return chat_record((*prompt, said), Provenance(skill=instance.skill, task=instance.task))

    def gold_text(self, instance: TaskInstance) -> str | None:
        return next(self.gold_replies(instance), None)

    def asks_model(self, instance: TaskInstance) -> bool:
        return any(name in self.others for name in self.tiers)

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """The record as a call after the prompt of its problem; unchanged if it has no call."""
        said = HERMES.parse(record.output)
        if record.system or record.history or not said.tool_calls:
            return self.prompt_template.frame(record)
        text = self.prompt_template.instruction_in(record.prompt[-1].content)
        problem = TaskInstance(id="record", task="records", instruction=text, answer="")
        chat = chat_record((*self.prompt(problem), said), record.provenance)
        assert chat is not None
        return chat

    def close(self) -> None:
        self.sandbox.close()


def _cents(dollars: float | None) -> float | None:
    return None if dollars is None else 100 * dollars


def call_of(name: str, tiers: Mapping[str, Tier]) -> str:
    """The student's message that calls a tier."""
    call = ToolCall(name=tiers[name].tool, arguments={"model": name})
    return as_reply(Message(role="assistant", content="", tool_calls=(call,)))
