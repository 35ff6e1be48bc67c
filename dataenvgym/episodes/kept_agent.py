"""The agent of an episode, with its state kept in the run directory.

`agent/NNN.json` is its state after it gave the action of iteration NNN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from dataenvgym.environments.marks import MarkedFolder
from dataenvgym.environments.shown_student import ShownStudent
from dataenvgym.environments.states import read_state, state_of
from dataenvgym.environments.teaching import TeachingEnvironment
from dataenvgym.episodes.bookkeeping import is_spent, name_of
from dataenvgym.interfaces import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    Stateful,
    TeachingAgent,
)
from dataenvgym.run_warnings import warn_run
from dataenvgym.storage import write_json


class KeptAgent:
    """Asks the agent for its actions; after a kill it goes on as if there had been none.

    Args:
        agent: who teaches; its state is kept if it has `state_dict` and `load_state_dict`, and a
            resumed run warns if it has not.
        teaching: the environment that it teaches in.
    """

    def __init__(self, agent: TeachingAgent, teaching: TeachingEnvironment) -> None:
        self.agent = agent
        self.teaching = teaching
        self._marks = MarkedFolder(teaching.directory, "restore it, or start the run afresh")
        self._has_lost_memory = False

    def restore(self) -> None:
        """Give the agent the state it had after its last call, and end that iteration for it.

        Raises:
            RunDirectoryError: if it has a state, and the file with it is gone or damaged.
        """
        finished = len(self.teaching.results) - 1
        if self.teaching.pending_action() is not None:
            self._load(finished + 1)
            self._has_lost_memory = not isinstance(self.agent, Stateful)
        elif finished > 0:
            self._load(finished)
            if isinstance(self.agent, Stateful):
                self.agent.step()
            else:
                self._has_lost_memory = True

    def next_action(self, observation: dict[str, Any]) -> Any:
        """The action of an interrupted iteration, or else a new one from the agent."""
        iteration = len(self.teaching.results)
        self.teaching.clock.start(iteration)
        if (action := self.teaching.pending_action()) is not None:
            return action
        with self.teaching.clock("agent"):
            self._warn_of_lost_memory()
            action = self._action(observation)
            if isinstance(self.agent, Stateful):
                state = state_of(self.agent)
                with self._marks.replacing(_name(iteration)) as path:
                    write_json(path, state)
        return action

    def _action(self, observation: dict[str, Any]) -> Any:
        predictor = ShownStudent(self.teaching.predictor, self.teaching.trial)
        if self.teaching.takes_records:  # `refuse_misfit` saw to it that the agent can
            agent = cast(DataGenerationAgentInterface, self.agent)
            is_no_surprise = is_spent(agent)
            records = _listed(agent(observation["completed"], predictor))
            if records == [] and not is_no_surprise:
                warn_run(
                    f"the agent {name_of(agent)!r} returned no records, so the student is not "
                    "trained in this iteration"
                )
            return records
        return cast(ActingAgentInterface, self.agent).act(observation, predictor)

    def _warn_of_lost_memory(self) -> None:
        if self._has_lost_memory:
            self._has_lost_memory = False
            warn_run(
                f"the run was resumed, and the agent {name_of(self.agent)!r} has no state_dict() "
                "and load_state_dict(): whatever it remembered, its random generator too, starts "
                "anew, and an undisturbed run may have other records"
            )

    def _load(self, iteration: int) -> None:
        if not isinstance(self.agent, Stateful):
            return
        self._marks.check(below="agent/")
        self.agent.load_state_dict(read_state(self.teaching.directory / _name(iteration)))
        self._marks.mark(_name(iteration))


def _name(iteration: int) -> str:
    return f"agent/{iteration:03d}.json"


def _listed(action: Any) -> Any:
    """A list of what an agent yields; anything else as it is, for the environment to refuse."""
    is_batch = isinstance(action, Iterable) and not isinstance(action, str | bytes | Mapping)
    return list(action) if is_batch else action
