"""The runner: one agent in one teaching environment, to the end, from wherever it stands.

    reset -> (agent -> step)* -> test split of the base and of the best iteration -> summary

Everything is in the run directory, so the runner keeps nothing: called again after a kill it
goes on from the last finished phase, called again after the end it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import gymnasium

from dataenvgym.environments.iterations import read_completed, write_completed
from dataenvgym.environments.teaching import TeachingEnvironment
from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, EventLog, PhaseEvent
from dataenvgym.episodes.summary import (
    Status,
    Summary,
    best_iteration,
    read_summary,
    summarize_iteration,
)
from dataenvgym.errors import BudgetSpentError, ConfigurationError, RunDirectoryError
from dataenvgym.interfaces import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    Stateful,
    TaskInterface,
    TeachingAgent,
)
from dataenvgym.llm.usage import read_usage
from dataenvgym.storage import read_json, write_json


def run_episode(
    environment: gymnasium.Env[Any, Any],
    agent: TeachingAgent,
    *,
    iterations: int,
    seed: int = 0,
    test_task: TaskInterface | None = None,
    callbacks: Sequence[EpisodeCallback] = (),
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
        test_task: scored before and after, apart from what the agent sees. None takes the test
            split of the environment's task, where it has one.
        callbacks: told of everything. `events.jsonl` is kept in any case.

    Returns:
        The summary, which also stands in `summary.json`. An episode whose teacher's budget is
        spent ends like any other, and says so in `summary.ended`.
    """
    teaching = environment.unwrapped
    if not isinstance(teaching, TeachingEnvironment):
        raise ConfigurationError(
            f"run_episode needs a TeachingEnvironment, got {type(teaching).__name__}; "
            "step any other gymnasium environment by hand (examples/gymnasium_loop.py)"
        )
    if iterations < 1:
        raise ConfigurationError(f"iterations is {iterations}, expected 1 or more")
    refuse_misfit(teaching, agent)
    if test_task is None:
        test_task = _test_split(teaching.task)
    log = EventLog(teaching.directory / "events.jsonl")
    episode = _Episode(teaching, agent, seed, (log, *callbacks))
    # nobody comes back to a temporary folder: each call there is an episode of its own
    options = {"fresh": True} if teaching.is_temporary else {"resume": True}
    if not teaching.is_temporary:
        episode.refuse_another_agent()
    if not teaching.is_temporary and (summary := episode.finished_summary()) is not None:
        environment.reset(seed=seed, options=options)
        if episode.has_nothing_left(summary, iterations, test_task):
            return summary
    with episode.watched(iterations):
        observation, _ = environment.reset(seed=seed, options=options)
        episode.restore_agent()
        episode.announce()
        ended = None
        while len(teaching.results) <= iterations and not teaching.is_over:
            try:
                action = episode.next_action(observation)
                observation, *_ = environment.step(action)
            except BudgetSpentError as error:
                ended = str(error)
                break
            agent.step()
            episode.announce()
        return episode.conclude(test_task, ended)


def refuse_misfit(teaching: object, agent: object) -> None:
    """Raise ConfigurationError if the agent's actions are not the teaching environment's."""
    takes_records = bool(getattr(teaching, "takes_records", True))
    fits = callable(agent) if takes_records else callable(getattr(agent, "act", None))
    if not fits:
        way_out = (
            "cannot be called for records: use environment=skill_tree"
            if takes_records
            else "has no act(observation, predictor): use agent=skill_tree, or another environment"
        )
        raise ConfigurationError(
            f"agent {_name(agent)!r} does not fit {type(teaching).__name__}, for it {way_out}"
        )


class _Episode:
    """The bookkeeping around the loop."""

    def __init__(
        self,
        teaching: TeachingEnvironment,
        agent: TeachingAgent,
        seed: int,
        callbacks: Sequence[EpisodeCallback],
    ) -> None:
        self.teaching = teaching
        self.agent = agent
        self.seed = seed
        self.callbacks = callbacks
        self.directory = teaching.directory
        self._announced = 0
        self._started: list[EpisodeCallback] = []
        self._has_ended = False

    def refuse_another_agent(self) -> None:
        """An episode belongs to the agent that began it."""
        path = self.directory / "summary.json"
        before = read_summary(self.directory).agent if path.exists() else _name(self.agent)
        if before != _name(self.agent):
            raise RunDirectoryError(
                f"{self.directory} was begun with agent = {before!r}, not {_name(self.agent)!r}; "
                "give the environment another directory"
            )

    def finished_summary(self) -> Summary | None:
        """The summary of a run that has been concluded before."""
        path = self.directory / "summary.json"
        summary = read_summary(self.directory) if path.exists() else None
        return summary if summary is not None and summary.status == "finished" else None

    def has_nothing_left(
        self, summary: Summary, iterations: int, test_task: TaskInterface | None
    ) -> bool:
        """Whether the concluded run, reset just now, has all that is asked for."""
        done = len(self.teaching.results)
        return (
            len(summary.iterations) == done
            and (done > iterations or self.teaching.is_over)
            and (test_task is None or summary.test_score_after is not None)
        )

    @contextmanager
    def watched(self, iterations: int) -> Iterator[None]:
        """Tell the callbacks of the start and of a bad end; listen to the phases meanwhile."""
        plan = EpisodePlan(
            name=self.directory.name,
            task=_name(self.teaching.task),
            agent=_name(self.agent),
            seed=self.seed,
            n_iterations=iterations,
            n_finished=len(list(self.directory.glob("iterations/*/iteration.json"))),
            directory=self.directory,
        )
        self.teaching.clock.listeners.append(self._on_phase)
        try:
            for callback in self.callbacks:
                self._started.append(callback)
                callback.on_start(plan)
            yield
        except BaseException as error:
            if not self._has_ended:
                self._end_badly(error)
            raise
        finally:
            self.teaching.clock.listeners.remove(self._on_phase)

    def restore_agent(self) -> None:
        """Give the agent the state it had after its last call, and end that iteration for it."""
        finished = len(self.teaching.results) - 1
        if self.teaching.pending_action() is not None:
            self._load_agent(finished + 1)
        elif finished > 0:
            self._load_agent(finished)
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
                write_json(self._agent_file(iteration), self.agent.state_dict())
        return action

    def _action(self, observation: dict[str, Any]) -> Any:
        predictor = self.teaching.predictor
        if self.teaching.takes_records:  # `refuse_misfit` saw to it that the agent can
            agent = cast(DataGenerationAgentInterface, self.agent)
            return list(agent(observation["completed"], predictor))
        return cast(ActingAgentInterface, self.agent).act(observation, predictor)

    def announce(self) -> None:
        """Tell of the iterations that have been finished since the last call."""
        for result in self.teaching.results[self._announced :]:
            for callback in self.callbacks:
                callback.on_iteration(summarize_iteration(result))
        self._announced = len(self.teaching.results)
        self._write(self._summary("running"))

    def conclude(self, test_task: TaskInterface | None, ended: str | None) -> Summary:
        """Score the test split of the base and of the best iteration, and sum up.

        Args:
            ended: what ended the episode before its time, or None.
        """
        best = best_iteration(self.teaching.results)
        before = after = None
        if test_task is not None:
            before = self._test_score(test_task, 0)
            after = self._test_score(test_task, best)
        self.teaching.load_iteration(len(self.teaching.results) - 1)
        return self._end("finished", before=before, after=after, ended=ended)

    def _test_score(self, task: TaskInterface, iteration: int) -> float:
        path = self.directory / "test" / f"{iteration:03d}.jsonl"
        if not path.exists():
            self.teaching.load_iteration(iteration)
            self.teaching.clock.start(iteration)
            with self.teaching.clock("test"):
                completed = task.evaluate(self.teaching.predictor)
                # raises if nothing could be scored; saved only then, for a resumed run to try again
                score = task.generate_performance_report(completed).score
                write_completed(path, completed)
            return score
        return task.generate_performance_report(read_completed(path)).score

    def _load_agent(self, iteration: int) -> None:
        path = self._agent_file(iteration)
        if isinstance(self.agent, Stateful) and path.exists():
            self.agent.load_state_dict(read_json(path))

    def _agent_file(self, iteration: int) -> Path:
        return self.directory / "agent" / f"{iteration:03d}.json"

    def _on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        for callback in self.callbacks:
            callback.on_phase(event, iteration, phase, seconds)

    def _end(
        self,
        status: Status,
        *,
        before: float | None = None,
        after: float | None = None,
        ended: str | None = None,
    ) -> Summary:
        summary = self._summary(status, before=before, after=after, ended=ended)
        self._write(summary)
        self._tell_end(summary)
        return summary

    def _end_badly(self, error: BaseException) -> None:
        """Sum up what there is. A directory that refuses this episode is not written to."""
        status: Status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        summary = self._summary(status, error=_described(error))
        if not self.teaching.results:
            if (self.directory / "summary.json").exists():
                changes = {"status": status, "error": summary.error}
                summary = read_summary(self.directory).model_copy(update=changes)
            if isinstance(error, RunDirectoryError):
                self._tell_end(summary)
                return
        self._write(summary)
        self._tell_end(summary)

    def _tell_end(self, summary: Summary) -> None:
        """Every callback hears of the end, whatever another one raises then."""
        self._has_ended = True
        with ExitStack() as stack:
            for callback in reversed(self._started):
                stack.callback(callback.on_end, summary)

    def _summary(
        self,
        status: Status,
        *,
        before: float | None = None,
        after: float | None = None,
        ended: str | None = None,
        error: str | None = None,
    ) -> Summary:
        results = self.teaching.results
        return Summary(
            task=_name(self.teaching.task),
            agent=_name(self.agent),
            seed=self.seed,
            status=status,
            iterations=tuple(summarize_iteration(r) for r in results),
            best_iteration=best_iteration(results) if results else 0,
            test_score_before=before,
            test_score_after=after,
            ended=ended,
            teacher=read_usage(self.directory),
            error=error,
        )

    def _write(self, summary: Summary) -> None:
        write_json(self.directory / "summary.json", summary.model_dump(mode="json"))


def _test_split(task: TaskInterface) -> TaskInterface | None:
    on = getattr(task, "on", None)
    return on("test") if on is not None else None


def _name(thing: object) -> str:
    return str(getattr(thing, "name", type(thing).__name__))


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
