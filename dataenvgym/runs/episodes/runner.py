"""The runner: runs or resumes an episode of one agent in one teaching environment.

    reset -> (agent -> step)* -> test split of the base and of the best iteration -> summary

The run directory has the whole state: called again after a kill, the runner continues after the
last finished phase; called again after the end, it changes nothing. `agent/NNN.json` is the agent's
state after it gave the action of iteration NNN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import gymnasium

from dataenvgym import events
from dataenvgym.environments.episode_directory import read_state, state_of
from dataenvgym.environments.interface import TeachingEnvironmentInterface
from dataenvgym.environments.iterations import refuse_damaged_run
from dataenvgym.environments.shown_student import ShownStudent
from dataenvgym.environments.teaching_episode import used_alone
from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    Stateful,
    TaskInterface,
    TeachingAgent,
    can,
)
from dataenvgym.records.checksums import MarkedFolder, save
from dataenvgym.records.spaces import RecordsSpace
from dataenvgym.runs.episodes.bookkeeping import Bookkeeping, is_spent, name_of
from dataenvgym.runs.episodes.callbacks import EpisodeCallback
from dataenvgym.runs.episodes.display import automatic_display
from dataenvgym.runs.episodes.summary import Summary, is_finished, read_summary, whole_summary
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.workspace import opened, read_identity


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
        self._states, self._clock = books.directory / "agent", books.clock
        self._takes_records = takes_records
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
                save(self._states / f"{iteration:03d}.json", state_of(self.agent))
        return action

    def _action(self, observation: dict[str, Any]) -> Any:
        trial = self._teaching.trial if can(self._teaching, "trial") else None
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
            MarkedFolder(self._states, "restore it, or start the run over").check()
            self.agent.load_state_dict(read_state(self._states / f"{iteration:03d}.json"))


def run_episode(
    environment: gymnasium.Env[Any, Any],
    agent: TeachingAgent,
    *,
    iterations: int,
    seed: int = 0,
    test_task: TaskInterface | None = None,
    test_each: bool = False,
    callbacks: Sequence[EpisodeCallback] = (),
    directory: str | Path | None = None,
    progress: bool | None = None,
    lock: bool = True,
) -> Summary:
    """Let `agent` teach in `environment` for `iterations`, or until the environment ends it.

    Args:
        environment: a teaching environment (wrapped or not). Its `directory` is the run directory;
            an existing run there is resumed. Without a directory, each call is a new episode.
        agent: the agent that teaches. If it has `state_dict` and `load_state_dict`, a resumed run
            restores its state.
        iterations: the number of steps. A larger number than before extends a run; the same or a
            smaller number leaves a finished run unchanged.
        seed: of the episode.
        test_task: is scored before and after, and never shown to the agent; records that give its
            problems away are dropped. None takes the test split of the environment's task, if it
            has one.
        test_each: score each iteration on the test split, not only the base and the best one. This
            happens at the end too, so no agent sees it.
        callbacks: are notified of every event. `events.jsonl` is written in any case.
        directory: the run directory, such as "runs/mine", for an environment without one;
            `dataenvgym report`, `show`, `export`, `compare` and `eval --run` read it.
        progress: show a progress display. None: on a terminal (on standard error, which keeps a
            script's output clean) and in a notebook; True: also elsewhere, in plain lines; False:
            never.
        lock: prevent other processes from writing to the run directory meanwhile; False if the
            caller already holds the lock, as executors do.

    Raises:
        RunDirectoryError: if another process writes to the run directory, or it has an episode of
            another agent, student or task.

    Returns:
        The summary, which is also in `summary.json`. If the episode ends before its last iteration
        (the teacher's budget is spent, or the environment truncates it, as a `TimeLimit` of fewer
        steps does), `summary.ended` says why.
    """
    teaching = teaching_of(environment)
    if not isinstance(iterations, int) or iterations < 1:
        raise ConfigurationError(f"iterations is {iterations!r}, expected 1 or more")
    each = getattr(teaching, "generations_per_training", 1)
    if iterations % each:
        raise ConfigurationError(
            f"iterations is {iterations}, and generations_per_training is {each}: the records of "
            f"the last iterations would not be trained on, so choose a multiple of {each}"
        )
    refuse_misfit(environment, agent)
    is_temporary = teaching.is_temporary and directory is None
    folder = teaching.directory if directory is None else Path(directory)
    if not teaching.is_temporary and teaching.directory.absolute() != folder.absolute():
        raise ConfigurationError(
            f"directory is {str(directory)!r}, and the environment keeps its episode in "
            f"{str(teaching.directory)!r}: give only one of them"
        )
    options: dict[str, Any] = {"directory": folder, "fresh" if is_temporary else "resume": True}
    if test_task is None:
        task = teaching.task
        tested = task.on("test") if "test" in task.splits else None
    else:
        options["test_tasks"] = (test_task,)
        tested = task_of(test_task)
    with ExitStack() as stack:
        stack.enter_context(events.secrets_apart())
        stack.enter_context(used_alone(teaching.predictor))
        if lock and not is_temporary:
            stack.enter_context(opened(folder))
        watchers = (*automatic_display(progress), *callbacks)
        books = Bookkeeping(teaching, folder, agent, seed, watchers, tested, test_each)
        # a temporary folder is not found again: each call there is a new episode
        if not is_temporary:
            books.refuse_another_agent()
            summary = whole_summary(folder)
            if summary is not None and summary.status == "finished":
                identity = read_identity(folder)
                if is_finished(
                    folder,
                    iterations,
                    target_score=identity.get("target_score"),
                    max_records=identity.get("max_records"),
                    tested=tested is not None,
                    test_each=test_each,
                ):
                    environment.reset(seed=seed, options=options)
                    refuse_damaged_run(folder)
                    return read_summary(folder)
        return _taught(environment, agent, iterations, books, options)


def _taught(
    environment: gymnasium.Env[Any, Any],
    agent: TeachingAgent,
    iterations: int,
    books: Bookkeeping,
    options: dict[str, Any],
) -> Summary:
    """Run the loop from the episode's last finished iteration on."""
    kept = RecordedAgent(agent, books, takes_records=takes_records(environment))
    with books.watched(iterations, resumes="resume" in options):
        options = {**options, "clock": books.clock}
        observation, info = environment.reset(seed=books.seed, options=options)
        books.begun()
        kept.restore(info.get("pending_action"))
        books.announce()
        ended, is_over = None, bool(info.get("is_over", False))
        while len(books.teaching.results) <= iterations and not is_over:
            try:
                action = kept.next_action(observation)
                observation, _, is_over, is_truncated, _ = environment.step(action)
            except BudgetSpentError as error:
                ended = str(error)
                break
            agent.step()
            books.announce()
            n_done = len(books.teaching.results) - 1
            if is_truncated and not is_over and n_done < iterations:
                ended = f"the environment truncated it after {n_done} of {iterations} iterations"
                break
        return books.conclude(ended)


def teaching_of(environment: gymnasium.Env[Any, Any]) -> TeachingEnvironmentInterface:
    """The teaching environment below all wrappers; ConfigurationError if it is another kind."""
    teaching: Any = getattr(environment, "unwrapped", environment)
    if not isinstance(teaching, TeachingEnvironmentInterface):
        expected = (n for n in dir(TeachingEnvironmentInterface) if not n.startswith("_"))
        missing = [name for name in expected if not hasattr(teaching, name)]
        raise ConfigurationError(
            f"run_episode needs a teaching environment, got {type(teaching).__name__}, which has "
            f"no {', '.join(missing)} (see TeachingEnvironmentInterface); "
            "step any other gymnasium environment by hand (examples/gymnasium_loop.py)"
        )
    return teaching


def takes_records(environment: gymnasium.Env[Any, Any]) -> bool:
    """True if the environment's action is a batch of training records."""
    return isinstance(environment.action_space, RecordsSpace)


def refuse_misfit(environment: gymnasium.Env[Any, Any], agent: object) -> None:
    """Raise ConfigurationError if the agent's actions do not fit the environment."""
    is_called = takes_records(environment)
    has_method = callable(agent) if is_called else isinstance(agent, ActingAgentInterface)
    fits = has_method and callable(getattr(agent, "step", None)) and not isinstance(agent, type)
    if not fits:
        method = "__call__(completed, predictor)" if is_called else "act(observation, predictor)"
        raise ConfigurationError(
            f"agent {name_of(agent)!r} does not fit {type(environment.unwrapped).__name__}, "
            f"expected an object with {method} and with step(), which is called after each "
            "iteration: choose another agent or environment (agent=skill_tree acts in "
            "environment=skill_tree; all others write records)"
        )
