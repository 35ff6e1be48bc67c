"""The runner: one agent in one teaching environment, to the end, from wherever it stands.

    reset -> (agent -> step)* -> test split of the base and of the best iteration -> summary

Everything is in the run directory, so the runner keeps nothing: called again after a kill it
goes on from the last finished phase, called again after the end it changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gymnasium

from dataenvgym.environments.iterations import refuse_damaged_run
from dataenvgym.environments.teaching import TeachingEnvironment
from dataenvgym.episodes.bookkeeping import Bookkeeping, name_of
from dataenvgym.episodes.callbacks import EpisodeCallback
from dataenvgym.episodes.kept_agent import KeptAgent
from dataenvgym.episodes.progress import automatic_progress
from dataenvgym.episodes.summary import Goal, Summary, is_finished, read_summary
from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.interfaces import TaskInterface, TeachingAgent
from dataenvgym.tasks.adapted import task_of
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
    """Let `agent` teach in `environment` for `iterations`, or until the environment says so.

    Args:
        environment: a teaching environment (wrapped or not); its `directory` is the run
            directory, and what is there already is gone on with. Without a directory each call
            is an episode of its own.
        agent: who teaches. If it has `state_dict` and `load_state_dict`, it is resumed too.
        iterations: how many steps; more than the run has done so far extend it, as many or
            fewer leave a finished run as it is.
        seed: of the episode.
        test_task: scored before and after, apart from what the agent sees; records that give its
            problems away are dropped, too. None takes the test split of the environment's task,
            where it has one.
        callbacks: told of everything. `events.jsonl` is kept in any case.
        directory: the run directory, for an environment that was made without one, such as
            "runs/mine"; `dataenvgym report`, `show`, `export`, `compare` and `eval --run` take it.
        progress: show how far the episode is. None: on a terminal (on its standard error, so that
            a script's own output stays clean) and in a notebook; True: also elsewhere, in plain
            lines; False: nowhere.
        lock: keep other processes from writing the run directory meanwhile; False where the
            caller holds its lock already, as executors do.

    Raises:
        RunDirectoryError: if another process writes the run directory, or it holds an episode of
            another agent, student or task.

    Returns:
        The summary, which also stands in `summary.json`. An episode whose teacher's budget is
        spent ends like any other, and says so in `summary.ended`.
    """
    teaching = teaching_of(environment)
    if iterations < 1:
        raise ConfigurationError(f"iterations is {iterations}, expected 1 or more")
    refuse_misfit(teaching, agent)
    if directory is not None:
        teaching.keep_in(directory)
    if test_task is None:
        test_task = _test_split(teaching.task)
    else:
        teaching.test_tasks = (test_task,)
    with ExitStack() as stack:
        if lock and not teaching.is_temporary:
            stack.enter_context(opened(teaching.directory))
        goal = Goal(
            iterations,
            teaching.options.target_score,
            teaching.options.max_records,
            tested=test_task is not None,
        )
        watchers = (*automatic_progress(progress), *callbacks)
        books = Bookkeeping(teaching, agent, seed, watchers, test_task)
        # a temporary folder is not found again: each call there is an episode of its own
        if teaching.is_temporary:
            return _taught(environment, agent, goal, books, {"fresh": True})
        books.refuse_another_agent()
        if is_finished(teaching.directory, goal):
            environment.reset(seed=seed, options={"resume": True})
            refuse_damaged_run(teaching.directory)
            return read_summary(teaching.directory)
        return _taught(environment, agent, goal, books, {"resume": True})


def _taught(
    environment: gymnasium.Env[Any, Any],
    agent: TeachingAgent,
    goal: Goal,
    books: Bookkeeping,
    options: dict[str, Any],
) -> Summary:
    """The loop, from wherever the episode stands."""
    teaching, kept = books.teaching, KeptAgent(agent, books.teaching)
    with books.watched(goal.iterations, resumes="resume" in options):
        observation, _ = environment.reset(seed=books.seed, options=options)
        books.begun()
        kept.restore()
        books.announce()
        ended = None
        while len(teaching.results) <= goal.iterations and not teaching.is_over:
            try:
                action = kept.next_action(observation)
                observation, *_ = environment.step(action)
            except BudgetSpentError as error:
                ended = str(error)
                break
            agent.step()
            books.announce()
        return books.conclude(ended)


def teaching_of(environment: gymnasium.Env[Any, Any]) -> TeachingEnvironment:
    """The teaching environment below all wrappers; a ConfigurationError for any other one."""
    teaching = environment.unwrapped
    if not isinstance(teaching, TeachingEnvironment):
        raise ConfigurationError(
            f"run_episode needs a TeachingEnvironment, got {type(teaching).__name__}; "
            "step any other gymnasium environment by hand (examples/gymnasium_loop.py)"
        )
    return teaching


def refuse_misfit(teaching: object, agent: object) -> None:
    """Raise ConfigurationError if the agent's actions are not the teaching environment's."""
    if not callable(getattr(agent, "step", None)):
        raise ConfigurationError(
            f"agent {name_of(agent)!r} has no step(), which is called after each iteration: give "
            "it one, if only `def step(self): pass`"
        )
    takes_records = bool(getattr(teaching, "takes_records", True))
    fits = callable(agent) if takes_records else callable(getattr(agent, "act", None))
    if not fits:
        way_out = (
            "cannot be called for records: use environment=skill_tree"
            if takes_records
            else "has no act(observation, predictor): use agent=skill_tree, or another environment"
        )
        raise ConfigurationError(
            f"agent {name_of(agent)!r} does not fit {type(teaching).__name__}, for it {way_out}"
        )


def _test_split(task: TaskInterface) -> TaskInterface | None:
    adapted = task_of(task)
    return adapted.on("test") if "test" in adapted.splits else None
