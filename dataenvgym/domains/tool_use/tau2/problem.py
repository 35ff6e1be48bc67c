"""Makes a problem of tool use from a tau2 task."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, Self

from pydantic import model_validator
from pydantic_core import to_jsonable_python

from dataenvgym.domains.tool_use.problem import Component, ToolUseProblem, faults_in
from dataenvgym.domains.tool_use.tau2.task_file import (
    Action,
    EvaluationCriteria,
    InitialState,
    Instructions,
    Tau2Task,
    UserScenario,
)
from dataenvgym.domains.tool_use.tau2.world import Tau2World
from dataenvgym.domains.tool_use.users import ModelUser
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.records import TaskInstance, Text
from dataenvgym.tasks.rows import SourceRow, UnfitRowError, parsed
from dataenvgym.tasks.worlds.state import State
from dataenvgym.tasks.worlds.world import World

STOPS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")


class Tau2Problem(ToolUseProblem):
    """A problem whose gold calls alternate between both seats.

    Attributes:
        actions: the gold calls; `gold` and `user_gold` are those of one seat each.
        judged: assertions in natural language, for the component `judged`; it is part of the
            score if there are any.
    """

    actions: tuple[Action, ...] = ()
    judged: tuple[Text, ...] = ()
    basis: tuple[Component, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _by_seat(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("actions"), list | tuple):
            return values
        actions = [Action.model_validate(each) for each in values["actions"]]
        gold = {
            seat: [
                {"name": a.name, "arguments": a.arguments} for a in actions if a.requestor == seat
            ]
            for seat in ("assistant", "user")
        }
        return {**values, "gold": gold["assistant"], "user_gold": gold["user"]}

    @model_validator(mode="after")
    def _basis_has_its_data(self) -> Self:
        if not self.basis and not self.judged:
            raise ValueError("the basis is empty, and nothing is judged")
        given = {"assertions": self.assertions, "said": self.said, "calls": self.gold_actions}
        self.check_basis(given)
        return self

    @property
    def asks_judge(self) -> bool:
        return bool(self.judged)

    @property
    def gold_actions(self) -> tuple[Action, ...]:
        """The gold calls; those for a record are `gold`, by the assistant alone."""
        return self.actions or tuple(
            Action(name=call.name, arguments=call.arguments) for call in self.gold
        )

    def solved(self, world: World[Any]) -> State:
        """The state after the gold calls; those that fail are ignored, as in tau2."""
        return world.state.after(self.gold_actions)  # type: ignore[no-any-return]

    @property
    def initial_state(self) -> InitialState:
        """Its initial state."""
        return InitialState.model_validate(self.state.get("initial_state") or {})


def to_instance(
    row: SourceRow,
    world: Tau2World,
    *,
    name: str,
    guidelines: Mapping[bool, str],
    judges: bool | None,
) -> TaskInstance:
    """The problem of a tau2 task.

    If the task has nothing to check for a part of the basis, that part holds in every conversation,
    in tau2 too. Our basis leaves it out.

    Args:
        name: of our task.
        guidelines: how to play a user with tools of its own (True), and without.
        judges: whether there is a judge; None leaves out the tasks that need one.

    Raises:
        UnfitRowError: if tau2 evaluates nothing in it, so that any conversation scores 1; or if it
            is left out, as it needs a judge.
        ConfigurationError: if there is no judge, and it needs one.
        InvalidInstanceError: if it is malformed, or names a tool or an assertion that the domain
            lacks.
    """
    task = parsed(Tau2Task, _without_nulls(row.values), row.where)
    criteria = task.evaluation_criteria or EvaluationCriteria(reward_basis=())
    basis = _basis(criteria)
    judged = (criteria.nl_assertions or ()) if "NL_ASSERTION" in criteria.reward_basis else ()
    if not (basis or judged):
        raise UnfitRowError(f"{row.where}: it has nothing to evaluate, as every end scores 1")
    if judged and not judges:
        needs = f"{row.where}: it needs a judge of assertions in natural language (NL_ASSERTION)"
        if judges is None:
            raise UnfitRowError(needs)
        raise ConfigurationError(
            f"{needs}: name one (+teacher@task.others.judge=openai), or leave such tasks out "
            "(task.nl_assertions=leave_out)"
        )
    has_tools = bool(world.tools("user")) and task.user_tools != ()
    state = {"initial_state": task.initial_state, "user_tools": task.user_tools}
    actions = tuple(_with_own_arguments(action, world) for action in criteria.actions or ())
    problem = Tau2Problem(
        world=world.name,
        state={
            k: to_jsonable_python(v, exclude_none=True) for k, v in state.items() if v is not None
        },
        user=ModelUser(
            instructions=f"<scenario>\n{scenario(task.user_scenario)}\n</scenario>",
            guidelines=guidelines[has_tools],
            stops=STOPS,
        ),
        actions=actions,
        basis=tuple(basis),
        assertions=tuple(
            {  # type: ignore[misc]
                "check": f"{a.env_type}.{a.func_name}",
                "arguments": a.arguments,
                "expected": a.assert_value,
            }
            for a in criteria.env_assertions or ()
        ),
        said=criteria.communicate_info or (),
        judged=judged,
    )
    if fault := next(faults_in(problem.model_copy(update={"state": {}}), world), None):
        raise InvalidInstanceError(f"{row.where}: {fault}")
    data = problem.model_dump(mode="json", exclude_defaults=True, exclude={"gold", "user_gold"})
    data["user"]["kind"] = "model"
    writing = dict.fromkeys(a.name for a in actions if world.writes(a.name, a.requestor))
    skill = ", ".join(writing) or "changes nothing"
    return TaskInstance(id=task.id, task=name, instruction="", skill=skill, data=data)


def _without_nulls(value: Any) -> Any:
    """A null is the same as a missing field, except in arguments and data."""
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = ("arguments", "initialization_data")
    return {
        name: each if name in kept else _without_nulls(each)
        for name, each in value.items()
        if each is not None
    }


def _with_own_arguments(action: Action, world: Tau2World) -> Action:
    """The call without nulls, if some are arguments of other tools, as in tables (ToolScale)."""
    tool = next((t for t in world.tools(action.requestor) if t.name == action.name), None)
    own = tool.parameters.get("properties") if tool else None
    nulls = {name for name, value in action.arguments.items() if value is None}
    if not isinstance(own, dict) or nulls <= {*own}:
        return action
    given = {name: value for name, value in action.arguments.items() if value is not None}
    return action.model_copy(update={"arguments": given})


def scenario(scenario: UserScenario) -> str:
    """The scenario in words, laid out as tau2 shows it to the model that plays the user."""
    told = scenario.instructions
    if isinstance(told, Instructions):
        parts = {
            "Reason for call": told.reason_for_call,
            "Known info": told.known_info,
            "Unknown info": told.unknown_info,
            "Task instructions": told.task_instructions,
        }
        given = {label: text for label, text in parts.items() if text is not None}
        told = "\n".join([f"Domain: {told.domain}", *(_part(k, v) for k, v in given.items())])
    persona = [] if scenario.persona is None else [_part("Persona", scenario.persona)]
    return "\n".join([*persona, _part("Instructions", told)])


def _part(label: str, text: str) -> str:
    return f"{label}:\n{textwrap.indent(text, chr(9))}"


def _basis(criteria: EvaluationCriteria) -> list[Component]:
    """The components that tau2 evaluates, in a fixed order."""
    evaluated: dict[Component, bool] = {
        "state": "DB" in criteria.reward_basis
        and (criteria.actions is not None or criteria.env_assertions is not None),
        "assertions": "ENV_ASSERTION" in criteria.reward_basis and bool(criteria.env_assertions),
        "said": "COMMUNICATE" in criteria.reward_basis and bool(criteria.communicate_info),
        "calls": "ACTION" in criteria.reward_basis and bool(criteria.actions),
    }
    return [name for name, is_evaluated in evaluated.items() if is_evaluated]
