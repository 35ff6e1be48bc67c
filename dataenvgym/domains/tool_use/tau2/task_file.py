"""The file format of tau2's tasks.

Fields of a task's evaluation or initial state are parsed strictly: an unknown field is refused.
Notes for people are ignored.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from dataenvgym.records import Json, Model, Text
from dataenvgym.tasks.worlds.world import Seat

RewardType = Literal["DB", "ENV_ASSERTION", "COMMUNICATE", "ACTION", "NL_ASSERTION"]


class _Loose(Model):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Action(_Loose):
    """A gold call.

    Attributes:
        compare_args: the arguments to compare; None compares those of the call that is compared
            with it.
    """

    requestor: Seat = "assistant"
    name: Text = Field(min_length=1)
    arguments: dict[str, Json] = {}
    compare_args: tuple[str, ...] | None = None


class FunctionCall(_Loose):
    """A call of a method of the environment, which may not be a tool."""

    env_type: Seat
    func_name: Text = Field(min_length=1)
    arguments: dict[str, Json] = {}


class EnvAssertion(FunctionCall):
    """A function call, and its expected result at the end."""

    assert_value: bool = True


class HistoryMessage(_Loose):
    """A message of the history; a tool's result names its caller."""

    role: Literal["user", "assistant", "tool"]
    content: Text | None = None
    tool_calls: tuple[Action, ...] | None = None
    requestor: Seat = "assistant"


class InitializationData(Model):
    """Changes to the databases."""

    agent_data: dict[str, Json] | None = None
    user_data: dict[str, Json] | None = None


class InitialState(Model):
    """The initial state of a task; all fields are optional."""

    initialization_data: InitializationData | None = None
    initialization_actions: tuple[FunctionCall, ...] | None = None
    message_history: tuple[HistoryMessage, ...] | None = None


class EvaluationCriteria(Model):
    """The expected end of a task."""

    actions: tuple[Action, ...] | None = None
    env_assertions: tuple[EnvAssertion, ...] | None = None
    communicate_info: tuple[Text, ...] | None = None
    nl_assertions: tuple[Text, ...] | None = None
    reward_basis: tuple[RewardType, ...] = ("DB", "COMMUNICATE")


class Instructions(_Loose):
    """The user's identity and wishes, in parts."""

    domain: Text
    reason_for_call: Text
    known_info: Text | None = None
    unknown_info: Text | None = None
    task_instructions: Text


class UserScenario(_Loose):
    """The user's role."""

    persona: Text | None = None
    instructions: Instructions | Text


class Tau2Task(_Loose):
    """One task."""

    id: Text = Field(min_length=1)
    user_scenario: UserScenario
    initial_state: InitialState | None = None
    evaluation_criteria: EvaluationCriteria | None = None
    user_tools: tuple[str, ...] | None = None
