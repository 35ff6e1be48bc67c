"""The domain of plans: the student writes one plan, which is compared with the gold plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from dataenvgym.domains.tool_use.plans import code_form, json_form
from dataenvgym.domains.tool_use.plans.loaders import PLANS, PlanTool, check_tools
from dataenvgym.domains.tool_use.plans.plan import (
    NOWHERE,
    Form,
    Level,
    Pair,
    Plan,
    PlanError,
    best_match,
    comparable,
    corpus_scores,
    labels,
    plan_of,
    plan_scores,
)
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.options import PlainText
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    LabeledAnswer,
    PerformanceReport,
    TaskInstance,
)
from dataenvgym.tasks.domain import Domain, each_answer, has_answer, report_on, solves
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate


class PlansEnvironment(TaskEnvironment):
    """Reward 1.0 if the plan in the student's message equals the gold plan, else 0.0.

    `correct_by` sets how much is compared: the list of tools, also the names of their arguments, or
    also the values. The scores `plan_tools`, `plan_argument_names` and `plan_argument_values` are
    those of each level. A message without a valid plan counts as an empty plan; `info["note"]` has
    the reason. If the problem has several gold plans, the one whose tools fit best counts.

    Args:
        instances: see `TaskEnvironment`.
        domain: has the form, the prompt, and how much of a right plan equals the gold one.
    """

    max_turns = 1

    def __init__(self, instances: Sequence[TaskInstance], domain: PlansDomain) -> None:
        super().__init__(instances)
        self.prompt_template = domain.prompt_template
        self.form, self.correct_by = domain.form, domain.correct_by

    def begin(self, instance: TaskInstance) -> Conversation:
        gold_plans(instance, self.form)
        return self.prompt_template.conversation(instance.instruction)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        reading = self.form.read(conversation[-1].content)
        gold = best_match(gold_plans(instance, self.form), reading.plan)
        scores = plan_scores(gold, reading.plan)
        reward = scores[f"plan_{self.correct_by}"]
        return Outcome(
            reward=reward,
            was_correct=reward == 1.0,
            info={"note": f"no plan in the reply: {reading.problem}"} if reading.problem else {},
            scores=scores,
        )


def gold_plans(instance: TaskInstance, form: Form) -> list[Plan]:
    """The gold plans of a problem; if its data have none, the plan in its answer.

    Raises:
        InvalidInstanceError: if there is none.
    """
    found = instance.data.get(PLANS)
    try:
        plans = [plan_of(steps) for steps in found] if isinstance(found, list) else []
    except PlanError as error:
        raise InvalidInstanceError(f"instance {instance.id!r}, gold plan: {error}") from None
    if not plans and instance.answer and (plan := form.read(instance.answer).plan):
        plans = [plan]
    if not plans:
        raise InvalidInstanceError(f"instance {instance.id!r} has no gold plan to score with")
    return plans


def compared(completed: CompletedTaskInstance, form: Form) -> Pair:
    """The gold plan that counts for a finished problem, and the student's plan."""
    predicted = form.read(completed.response or "").plan
    return best_match(gold_plans(completed.instance, form), predicted), predicted


FormName = Literal["json", "code"]
TOOLS = "{tools}"
_SYSTEM = "You plan how tools answer a request. These are the tools:\n\n{tools}\n\n"


def form_of(name: FormName, tools: Collection[str]) -> Form:
    """The form of that name."""
    return code_form.form(tools) if name == "code" else json_form.FORM


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

    form: FormName = "json"
    correct_by: Level = "tools"
    system_prompt: PlainText[str | None] = None
    template: PlainText[str] = INSTRUCTION


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
    word_runs_identify = ("problem",)  # plans with the same tools share long runs of words

    def __init__(
        self,
        tools: Sequence[PlanTool],
        known: Callable[[], Iterable[TaskInstance]] = tuple,
        options: PlanOptions = PlanOptions(),
    ) -> None:
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
        return PlansEnvironment(instances, self)

    def report(self, task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
        """The report, with F1 of tools, arguments and edges, as in m&m's evaluation."""
        return report_on(
            task,
            completed,
            lambda scored: corpus_scores([compared(c, self.form) for c in scored]),
            partial(has_answer, self),
        )

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The parts of the plan that `correct_by` compares, with sorted argument names.

        `image_captioning > text_generation`, `image_captioning(image) > ...` or
        `image_captioning(image='a.jpg') > ...`; None without a plan.
        """
        return " > ".join(labels(self.form.read(reply).plan, self.correct_by)) or None

    @each_answer
    def judge_record(self, answer: LabeledAnswer) -> bool | None:
        """Whether it has the right plan; None if that is unknown.

        If its request is in the training split, the gold plan decides. Otherwise a plan is wrong if
        it cannot be parsed, calls a tool that is not in the tool list, or refers to a step that is
        not an earlier one; any other plan is unknown.
        """
        problem = self._problems.get(self.prompt_template.instruction_in(answer.question))
        if problem is not None:
            return solves(self, problem, answer.text)
        plan = self.form.read(answer.text).plan
        try:
            check_tools(plan, self.tools)
        except PlanError:
            return False
        texts = (comparable(value) for step in plan for value in step.args.values())
        is_possible = bool(plan) and not any(NOWHERE in text for text in texts)
        return None if is_possible else False

    @cached_property
    def _problems(self) -> dict[str, TaskInstance]:
        return {instance.instruction: instance for instance in self._known()}
