"""One request: the student writes one plan, which is compared with the gold plan."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.domains.tool_use.plans.loaders import PLANS
from dataenvgym.domains.tool_use.plans.metrics import Level, Pair, best_match, plan_scores
from dataenvgym.domains.tool_use.plans.plan import Form, Plan, PlanError, plan_of
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import CompletedTaskInstance, Conversation, TaskInstance
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.prompt_template import PromptTemplate


class PlansEnvironment(TaskEnvironment):
    """Reward 1.0 if the plan in the student's message equals the gold plan, else 0.0.

    `correct_by` sets how much is compared: the list of tools, also the names of their arguments, or
    also the values. The scores `plan_tools`, `plan_argument_names` and `plan_argument_values` are
    those of each level. A message without a valid plan counts as an empty plan; `info["note"]` has
    the reason. If the problem has several gold plans, the one whose tools fit best counts.

    Args:
        instances: see `TaskEnvironment`.
        form: how plans are written.
        correct_by: how much of a right plan equals the gold one.
        prompt_template: the text around a request.
    """

    max_turns = 1

    def __init__(
        self,
        instances: Sequence[TaskInstance],
        *,
        form: Form,
        correct_by: Level,
        prompt_template: PromptTemplate,
    ) -> None:
        super().__init__(
            instances, system_prompt=prompt_template.system, template=prompt_template.template
        )
        self.form = form
        self.correct_by = correct_by

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
