"""The agent of an episode, with its state kept in the run directory.

`agent/NNN.json` is its state after it gave the action of iteration NNN.
"""

from __future__ import annotations

from typing import Any, cast

from dataenvgym.environments.marks import MarkedFolder
from dataenvgym.environments.shown_student import ShownStudent
from dataenvgym.environments.states import read_state, state_of
from dataenvgym.environments.teaching import TeachingEnvironment
from dataenvgym.interfaces import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    Stateful,
    TeachingAgent,
)
from dataenvgym.storage import write_json


class KeptAgent:
    """Asks the agent for its actions; after a kill it goes on as if there had been none.

    Args:
        agent: who teaches; its state is kept if it has `state_dict` and `load_state_dict`.
        teaching: the environment that it teaches in.
    """

    def __init__(self, agent: TeachingAgent, teaching: TeachingEnvironment) -> None:
        self.agent = agent
        self.teaching = teaching
        self._marks = MarkedFolder(teaching.directory, "restore it, or start the run afresh")

    def restore(self) -> None:
        """Give the agent the state it had after its last call, and end that iteration for it.

        Raises:
            RunDirectoryError: if it has a state, and the file with it is gone or damaged.
        """
        finished = len(self.teaching.results) - 1
        if self.teaching.pending_action() is not None:
            self._load(finished + 1)
        elif finished > 0:
            self._load(finished)
            if isinstance(self.agent, Stateful):
                self.agent.step()

    def next_action(self, observation: dict[str, Any]) -> Any:
        """The action of an interrupted iteration, or else a new one from the agent."""
        iteration = len(self.teaching.results)
        self.teaching.clock.start(iteration)
        if (action := self.teaching.pending_action()) is not None:
            return action
        with self.teaching.clock("agent"):
            action = self._action(observation)
            if isinstance(self.agent, Stateful):
                state = state_of(self.agent)
                with self._marks.replacing(_name(iteration)) as path:
                    write_json(path, state)
        return action

    def _action(self, observation: dict[str, Any]) -> Any:
        predictor = ShownStudent(self.teaching.predictor)
        if self.teaching.takes_records:  # `refuse_misfit` saw to it that the agent can
            agent = cast(DataGenerationAgentInterface, self.agent)
            return list(agent(observation["completed"], predictor))
        return cast(ActingAgentInterface, self.agent).act(observation, predictor)

    def _load(self, iteration: int) -> None:
        if not isinstance(self.agent, Stateful):
            return
        self._marks.check(below="agent/")
        self.agent.load_state_dict(read_state(self.teaching.directory / _name(iteration)))
        self._marks.mark(_name(iteration))


def _name(iteration: int) -> str:
    return f"agent/{iteration:03d}.json"
