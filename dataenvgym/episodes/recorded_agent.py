"""The agent of an episode, with its state saved in the run directory.

`agent/NNN.json` is its state after it gave the action of iteration NNN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from dataenvgym.environments.agent_state import read_state, state_of
from dataenvgym.environments.checksums import MarkedFolder
from dataenvgym.environments.shown_student import ShownStudent
from dataenvgym.episodes.bookkeeping import Bookkeeping, is_spent, name_of
from dataenvgym.interfaces import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    Stateful,
    TeachingAgent,
    TriesRecords,
)
from dataenvgym.run_warnings import warn_run
from dataenvgym.storage import write_json


class RecordedAgent:
    """Asks the agent for its actions; a killed run continues as if it had not been interrupted.

    Args:
        agent: the agent that teaches. Its state is saved if it has `state_dict` and
            `load_state_dict`; if not, a resumed run warns.
        books: the episode's bookkeeping, with its environment, directory and clock.
        takes_records: True if the environment's action is records.
    """

    def __init__(self, agent: TeachingAgent, books: Bookkeeping, *, takes_records: bool) -> None:
        self.agent = agent
        self._teaching = books.teaching
        self._directory, self._clock = books.directory, books.clock
        self._takes_records = takes_records
        self._marks = MarkedFolder(books.directory, "restore it, or start the run over")
        self._pending: Any | None = None
        self._has_lost_memory = False

    def restore(self, pending: Any | None) -> None:
        """Load the agent's state after its last call, and finish that iteration for it.

        Args:
            pending: the action of an interrupted iteration, or None.

        Raises:
            RunDirectoryError: if the agent has a state, and its file is missing or damaged.
        """
        finished = len(self._teaching.results) - 1
        self._pending = pending
        if pending is not None:
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
        iteration = len(self._teaching.results)
        self._clock.start(iteration)
        action, self._pending = self._pending, None
        if action is not None:
            return action
        with self._clock("agent"):
            if self._has_lost_memory:
                self._has_lost_memory = False
                warn_run(
                    f"the run was resumed, and the agent {name_of(self.agent)!r} has no "
                    "state_dict() and load_state_dict(): its memory and its random generator start "
                    "over, so its records may differ from those of an uninterrupted run"
                )
            action = self._action(observation)
            if isinstance(self.agent, Stateful):
                state = state_of(self.agent)
                with self._marks.replacing(_name(iteration)) as path:
                    write_json(path, state)
        return action

    def _action(self, observation: dict[str, Any]) -> Any:
        trial = self._teaching.trial if isinstance(self._teaching, TriesRecords) else None
        report = observation.get("report")  # an environment of one's own may have none
        predictor = ShownStudent(self._teaching.predictor, trial, getattr(report, "refused", None))
        if self._takes_records:  # `refuse_misfit` checked that the agent can
            agent = cast(DataGenerationAgentInterface, self.agent)
            is_no_surprise = is_spent(agent)
            records: Any = agent(observation["completed"], predictor)
            # an iterable becomes a list; the environment checks anything else
            if isinstance(records, Iterable) and not isinstance(records, str | bytes | Mapping):
                records = list(records)
            if records == [] and not is_no_surprise:
                warn_run(
                    f"the agent {name_of(agent)!r} returned no records, so the student is not "
                    "trained in this iteration"
                )
            return records
        return cast(ActingAgentInterface, self.agent).act(observation, predictor)

    def _load(self, iteration: int) -> None:
        if isinstance(self.agent, Stateful):
            self._marks.check(below="agent/")
            self.agent.load_state_dict(read_state(self._directory / _name(iteration)))
            self._marks.mark(_name(iteration))


def _name(iteration: int) -> str:
    return f"agent/{iteration:03d}.json"
