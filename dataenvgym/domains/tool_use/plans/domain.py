"""The domain of plans: a reply is judged by the tool calls that it plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from dataenvgym.domains.tool_use.plans import code_form, json_form
from dataenvgym.domains.tool_use.plans.environment import PlansEnvironment, compared
from dataenvgym.domains.tool_use.plans.loaders import PlanTool, check_tools
from dataenvgym.domains.tool_use.plans.metrics import Level, corpus_scores, labels
from dataenvgym.domains.tool_use.plans.plan import NOWHERE, Form, PlanError, comparable
from dataenvgym.errors import check_one_of
from dataenvgym.records import (
    CompletedTaskInstance,
    LabeledAnswer,
    TaskInstance,
    TrainingDatum,
    all_hold,
)
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate

TOOLS = "{tools}"
_SYSTEM = "You plan how tools answer a request. These are the tools:\n\n{tools}\n\n"


def form_of(name: str, tools: Collection[str]) -> Form:
    """The form of that name, json or code.

    Raises:
        ConfigurationError: if it does not exist.
    """
    forms = {"json": json_form.FORM, "code": code_form.form(tools)}
    check_one_of(forms, form=name)
    return forms[name]


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How plans are asked for, written and compared.

    Attributes:
        form: how the student writes plans, "json" (a list of steps) or "code" (a Python program).
        correct_by: how much of a right plan equals the gold one: "tools" (their list),
            "argument_names" (also), or "argument_values" (also).
        system_prompt: the system message, in which `{tools}` stands for the tool list, one line
            each; None lists the tools and explains how to write a plan in this form.
        template: the user message, in which `{instruction}` stands for the request; it may have
            `{tools}`, too.
    """

    form: str = "json"
    correct_by: Level = "tools"
    system_prompt: str | None = None
    template: str = INSTRUCTION


class PlansDomain(Domain):
    """Requests whose answer is a plan.

    Args:
        tools: the tool list.
        known: returns problems, such as those of a training split; their gold plans judge records
            that ask the same request. Called when the first record is judged.
        options: how plans are asked for, written and compared.

    Raises:
        ConfigurationError: for an invalid option.
    """

    asks_others = False
    record_forms = ("plan", "")

    def __init__(
        self,
        tools: Sequence[PlanTool],
        known: Callable[[], Iterable[TaskInstance]] = tuple,
        options: PlanOptions = PlanOptions(),
    ) -> None:
        check_one_of(get_args(Level), correct_by=options.correct_by)
        self.tools = {tool.name: tool for tool in tools}
        self.form = form_of(options.form, self.tools)
        self.correct_by = options.correct_by
        self._known = known
        shown = "\n".join(map(str, tools))
        system = options.system_prompt
        if system is None:
            system = _SYSTEM + self.form.how_to_write
        self.prompt_template = PromptTemplate(
            system.replace(TOOLS, shown), options.template.replace(TOOLS, shown)
        )
        self.answer_form = self.prompt_template.system or self.form.how_to_write

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> PlansEnvironment:
        return PlansEnvironment(
            instances,
            form=self.form,
            correct_by=self.correct_by,
            prompt_template=self.prompt_template,
        )

    def corpus_scores(self, completed: Sequence[CompletedTaskInstance]) -> Mapping[str, float]:
        """F1 of tools, arguments and edges, as defined in `metrics`."""
        return corpus_scores([compared(c, self.form) for c in completed])

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The parts of the plan that `correct_by` compares, with sorted argument names.

        `image_captioning > text_generation`, `image_captioning(image) > ...` or
        `image_captioning(image='a.jpg') > ...`; None without a plan.
        """
        return " > ".join(labels(self.form.read(reply).plan, self.correct_by)) or None

    def overlap_answer(self, instance: TaskInstance) -> str | None:
        """None: plans with the same tools share long runs of words."""
        return None

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether a training record is right; None if that is unknown.

        If the record's request is in the training split, the gold plan decides. Otherwise a plan is
        wrong if it cannot be parsed, calls a tool that is not in the tool list, or refers to a step
        that is not an earlier one; any other plan is unknown.
        """
        return all_hold([self._holds(answer) for answer in record.answers()])

    def _holds(self, answer: LabeledAnswer) -> bool | None:
        problem = self._problems.get(self.prompt_template.instruction_in(answer.question))
        if problem is not None:
            return answer.holds(self.judge(problem, answer.text))
        plan = self.form.read(answer.text).plan
        try:
            check_tools(plan, self.tools)
        except PlanError:
            return answer.holds(False)
        texts = (comparable(value) for step in plan for value in step.args.values())
        is_possible = bool(plan) and not any(NOWHERE in text for text in texts)
        return answer.holds(None if is_possible else False)

    @cached_property
    def _problems(self) -> dict[str, TaskInstance]:
        return {instance.instruction: instance for instance in self._known()}
