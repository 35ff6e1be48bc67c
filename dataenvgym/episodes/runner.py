"""The runner: runs or resumes an episode of one agent in one teaching environment.

    reset -> (agent -> step)* -> test split of the base and of the best iteration -> summary

The run directory has the whole state: called again after a kill, the runner continues after the
last finished phase; called again after the end, it changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gymnasium

from dataenvgym import secrets
from dataenvgym.environments.identity import read_identity
from dataenvgym.environments.interface import TeachingEnvironmentInterface
from dataenvgym.environments.iterations import refuse_damaged_run
from dataenvgym.environments.student import used_alone
from dataenvgym.episodes.bookkeeping import Bookkeeping, name_of
from dataenvgym.episodes.callbacks import EpisodeCallback
from dataenvgym.episodes.display import automatic_display
from dataenvgym.episodes.recorded_agent import RecordedAgent
from dataenvgym.episodes.summary import Summary, is_finished, read_summary, whole_summary
from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.interfaces import ActingAgentInterface, TaskInterface, TeachingAgent
from dataenvgym.spaces import RecordsSpace
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.workspace import opened


def run_episode(
    environment: gymnasium.Env[Any, Any],
    agent: TeachingAgent,
    *,
    iterations: int,
    seed: int = 0,
    test_task: TaskInterface | None = None,
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
        task = task_of(teaching.task)
        test_task = task.on("test") if "test" in task.splits else None
    else:
        options["test_tasks"] = (test_task,)
    with ExitStack() as stack:
        stack.enter_context(secrets.apart())
        stack.enter_context(used_alone(teaching.predictor))
        if lock and not is_temporary:
            stack.enter_context(opened(folder))
        watchers = (*automatic_display(progress), *callbacks)
        books = Bookkeeping(teaching, folder, agent, seed, watchers, test_task)
        # a temporary folder is not found again: each call there is a new episode
        if not is_temporary:
            books.refuse_another_agent()
            summary = whole_summary(folder)
            if summary is not None and summary.status == "finished":
                identity = read_identity(folder) or {}
                if is_finished(
                    folder,
                    iterations,
                    target_score=identity.get("target_score"),
                    max_records=identity.get("max_records"),
                    tested=test_task is not None,
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
        expected = [n for n in dir(TeachingEnvironmentInterface) if not n.startswith("_")]
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
    if isinstance(agent, type):
        raise ConfigurationError(
            f"agent is the class {agent.__name__}, expected an object: {agent.__name__}(...)"
        )
    if not callable(getattr(agent, "step", None)):
        raise ConfigurationError(
            f"agent {name_of(agent)!r} has no step(), which is called after each iteration: give "
            "it one, at least `def step(self): pass`"
        )
    is_called = takes_records(environment)
    fits = callable(agent) if is_called else isinstance(agent, ActingAgentInterface)
    if not fits:
        way_out = (
            "cannot be called for records: use environment=skill_tree"
            if is_called
            else "has no act(observation, predictor): use agent=skill_tree, or another environment"
        )
        raise ConfigurationError(
            f"agent {name_of(agent)!r} does not fit {type(environment.unwrapped).__name__}: "
            f"it {way_out}"
        )
