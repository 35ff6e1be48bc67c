"""The domain of worlds of text: played by the action, taught by whole conversations; its audit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from dataenvgym.domains.textworld.environment import (
    ACTOR,
    PLAIN_FORM,
    PLAY,
    PlayOptions,
    TextWorldEnvironment,
)
from dataenvgym.domains.textworld.flowbench import FlowOptions, split_at_turn
from dataenvgym.domains.textworld.house import canonical
from dataenvgym.domains.textworld.worlds import MalformedReply, Problem, action_in
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Message,
    PerformanceReport,
    SupervisedDatum,
    TaskInstance,
)
from dataenvgym.records.tool_formats import said_in
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import report_on
from dataenvgym.tasks.prompt_template import PromptTemplate
from dataenvgym.tasks.record_conversion import chat_record, students_turns
from dataenvgym.tasks.worlds.audit import Audit, Violation

_SEEN = re.compile(r"^Observation:[ \t]*", re.MULTILINE)
HOW_TO_WRITE = (
    "A whole conversation is written as turns, each with what is seen after it:\n"
    "Thought: ...\nAction: ...\nObservation: ...\nThought: ...\nAction: ..."
)


class TextWorldDomain(DialogueDomain):
    """Problems in one kind of world.

    Teachers read and write conversations as text, with lines `Thought:`, `Action:` and
    `Observation:`.

    Args:
        problem: the class of the problems in the data of instances.
        options: how they are played.
        prompt_template: the prompt of the actor.
        flow: their form.
    """

    word_runs_identify = ()  # rooms and pages look alike

    def __init__(
        self,
        problem: type[Problem],
        options: PlayOptions = PLAY,
        *,
        prompt_template: PromptTemplate = ACTOR,
        flow: FlowOptions = PLAIN_FORM,
    ) -> None:
        self.flow = flow
        self.problem = problem
        self.options = options
        self._actor = prompt_template
        self.prompt_template = self.make_environment().prompt_template
        self.asks_others = options.role == "strategist"

    def make_environment(
        self, instances: Sequence[TaskInstance] = (), **more: Any
    ) -> TextWorldEnvironment:
        given = {"problem": self.problem, "options": self.options, "actor": self._actor}
        return TextWorldEnvironment(instances, **{**given, "flow": self.flow, **more})

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """The replies of the reference policy; none to a problem that cannot be solved."""
        problem = instance.data_as(self.problem)
        if problem.fault() is not None:
            return
        if self.flow.level == "turn":
            yield split_at_turn(problem, instance.id)[1].reply
        else:
            yield from (step.reply for step in problem.solution())

    def asks_model(self, instance: TaskInstance) -> bool:
        return self.options.role == "strategist"

    def gold_errors(self, instances: Sequence[TaskInstance]) -> Sequence[str | None]:
        """Why a problem cannot be solved as stated, or is not solved by the reference policy."""
        return [self._gold_error(instance) for instance in instances]

    def _gold_error(self, instance: TaskInstance) -> str | None:
        fault = instance.data_as(self.problem).fault()
        if fault is not None:
            return f"it cannot be solved as stated: {fault}"
        done = self.gold_conversation(instance)
        if done is None or done.was_correct:  # None: a strategist's, or without a reference
            return None
        return f"the reference policy does not solve it in {self.options.max_turns} turns"

    # --- what teachers read and write ---

    @property
    def teacher_context(self) -> str:
        return f"{self.prompt_template.system}\n\n{HOW_TO_WRITE}"

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        """The conversation after the problem as text; None if the student never answered."""
        said = completed.transcript
        turns = students_turns(completed)
        if not turns:
            return None
        return "\n".join(
            message.content if message.role == "assistant" else f"Observation: {message.content}"
            for message in said[turns[0] :]
        )

    def gold_text(self, instance: TaskInstance) -> str | None:
        completed = self.gold_conversation(instance)
        return self.tried_text(completed) if completed and completed.was_correct else None

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """A written conversation as messages; an output without observations is one reply."""
        framed = self.prompt_template.frame(record)
        parts = [part.strip() for part in _SEEN.split(record.output)]
        if record.system or record.history or len(parts) < 2:
            return framed
        messages = [Message(role="assistant", content=parts[0])]
        for part in parts[1:]:
            at = re.search(r"^(Thought|Action):", part, re.MULTILINE)
            if at is None:  # what is seen at the end
                break
            messages.append(Message(role="user", content=part[: at.start()].strip()))
            messages.append(Message(role="assistant", content=part[at.start() :]))
        prompt = self.prompt_template.conversation(
            self.prompt_template.instruction_in(record.prompt[-1].content)
        )
        return chat_record((*prompt, *messages), record.provenance) or framed

    # --- comparing ---

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The action of a reply; None without exactly one."""
        try:
            return canonical(action_in(said_in(reply)))
        except MalformedReply:
            return None

    def report(self, task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
        """The report; a message that is not an action is scored as one that changes nothing."""
        return report_on(task, completed)


def audit(task: Task) -> Audit:
    """Check the problems of all splits of a task of this domain.

    solution  each is solvable as stated, and the reference policy solves it within the turns
    same      loading it again gives the same problem
    idle      a student who only looks has no reward
    """
    domain = task.domain
    assert isinstance(domain, TextWorldDomain)
    found = Audit(task.name)
    idle = ScriptedPredictor(lambda conversation: "Action: look")
    for part in map(task.on, task.splits):
        tries = part.attempt(idle, sampling=SamplingParameters())
        errors = domain.gold_errors(part.instances)
        for instance, again, error, done in zip(
            part.instances, part.load(part.split), errors, tries, strict=True
        ):
            found.tried["problems"] += 1
            checks = {
                "solution": error,
                "same": None if again == instance else "it differs when it is loaded again",
                "idle": done.error or (done.reward and f"looking has the reward {done.reward}"),
            }
            found.violations += [
                Violation(name, instance.id, str(fault)) for name, fault in checks.items() if fault
            ]
    return found
