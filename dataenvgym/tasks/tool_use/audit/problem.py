"""The checks on one problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from dataenvgym.errors import DataEnvGymError, EvaluationError
from dataenvgym.records import TaskInstance, ToolCall
from dataenvgym.tasks.tool_use.audit.impurity import asked
from dataenvgym.tasks.tool_use.audit.legal_values import LegalValues
from dataenvgym.tasks.tool_use.audit.mutations import Attempt
from dataenvgym.tasks.tool_use.audit.violations import Audit, Violation
from dataenvgym.tasks.tool_use.domain import ToolUseDomain
from dataenvgym.tasks.tool_use.prepared import Prepared
from dataenvgym.tasks.tool_use.users import ModelUser
from dataenvgym.tasks.tool_use.world import CallResult, Seat, World

RANDOM_CALLS = 50
_MOST_CHANGES = 5  # legal changes that are tried for each argument
_MOST_WATCHED = 30  # calls of each tool that are watched for clocks and chance
_SHOWN = 160
_Played = tuple[Attempt, Sequence[str | None]]  # with the result of each call


@dataclass
class ProblemAudit:
    """Runs the checks on one problem.

    Attributes:
        values: the values in the problem's first state.
        watched: how many calls of each tool were watched for clocks and chance.
        differs: whether two replays of the same calls differed.
    """

    done: Audit
    domain: ToolUseDomain
    instance: TaskInstance
    prepared: Prepared
    values: LegalValues
    rng: Random
    watched: Counter[str]
    differs: bool = False

    def attempts(self) -> Iterator[Attempt]:
        """All attempts at the problem; they note violations."""
        yield from self._gold()
        yield self._graded("nothing", (), ("",), 0.0, "who does nothing")
        words = self._words
        gold = self.prepared.problem.gold
        if words:
            yield self._play(gold, ("",))[0]
            yield self._play((), words)[0]
            yield from (
                self._play(gold, (*words[:i], *words[i + 1 :]))[0] for i in range(len(words))
            )
        for i in range(len(gold)):
            yield self._play((*gold[:i], *gold[i + 1 :]), words)[0]
        yield from self._changed()
        yield from self._random()

    @property
    def _words(self) -> tuple[str, ...]:
        return self.prepared.problem.said or (
            (self.instance.answer,) if self.instance.answer else ()
        )

    def _gold(self) -> Iterator[Attempt]:
        gold, words = self.prepared.problem.gold, self._words
        once, results = self._play(gold, words)
        yield self._graded("gold", gold, words, 1.0, "the gold calls", once)
        self._same_twice("the gold calls", (once, results), self._play(gold, words))
        if not isinstance(self.prepared.problem.user, ModelUser):
            self._gold_conversation()

    def _same_twice(self, what: str, once: _Played, twice: _Played) -> None:
        (one, results), (other, results_again) = once, twice
        if self.differs:  # noted once is enough
            return
        self.differs = (results, one.world.state.digest()) != (
            results_again,
            other.world.state.digest(),
        )
        if self.differs:
            self._note("same twice", f"{what} have other results or another state")

    def _gold_conversation(self) -> None:
        try:
            completed = self.domain.gold_conversation(self.instance)
        except DataEnvGymError as error:
            self._note("gold", f"the conversation fails: {error}")
            return
        if completed is None or not completed.was_correct:
            scores = completed.scores if completed else {}
            self._note("gold", f"the conversation with the gold calls gets {scores or 'no end'}")

    def _changed(self) -> Iterator[Attempt]:
        """Plans with one argument of a writing call changed."""
        world, gold = self.prepared.world, self.prepared.problem.gold
        tools = {tool.name: tool for tool in world.tools()}
        for i, call in enumerate(gold):
            method = world.methods[call.name]
            if not method.writes:
                continue
            given = method.arguments.defaults | method.arguments.read(call.arguments)
            changes: dict[str, list[ToolCall]] = {}
            for name, changed in self.values.changes(tools[call.name], call):
                with suppress(ValueError):
                    read = method.arguments.read(changed.arguments)
                    if method.arguments.defaults | read != given:
                        changes.setdefault(name, []).append(changed)
            for name, legal in changes.items():
                for changed in self._that_work(gold[:i], legal):
                    plan = (*gold[:i], changed, *gold[i + 1 :])
                    what = f"{changed.name} with {name}={changed.arguments.get(name)!r}"
                    yield self._graded("argument", plan, self._words, 0.0, what)

    def _that_work(self, before: Sequence[ToolCall], calls: Sequence[ToolCall]) -> list[ToolCall]:
        """The first few of the calls that succeed after the calls before."""
        world = self.prepared.world.at(self.prepared.state.fork())
        for call in before:
            self._call(world, call)
        found = []
        for call in calls:
            if self._call(world.at(world.state.fork()), call) is None:
                self.done.tried["changed arguments that a tool refused"] += 1
                continue
            self.done.tried["changed arguments"] += 1
            found.append(call)
            if len(found) == _MOST_CHANGES:
                break
        return found

    def _random(self) -> Iterator[Attempt]:
        tools = self.prepared.world.tools()
        if not tools:
            return
        rng = self.rng
        drawn = (self.values.draw(rng.choice(tools), rng) for _ in range(20 * RANDOM_CALLS))
        calls = list(islice(filter(self._is_legal, drawn), RANDOM_CALLS))
        self.done.tried["random calls"] += len(calls)
        attempt, results = self._play(calls, ("",), by_user=False)
        what = f"{len(calls)} random calls"
        self._same_twice(what, (attempt, results), self._play(calls, ("",), by_user=False))
        yield self._graded("random calls", calls, ("",), 0.0, what, attempt)
        if self._words and attempt.world.state != self.prepared.state:
            what += ", and the right words"
            yield self._graded("random calls", calls, self._words, 0.0, what)

    def _is_legal(self, call: ToolCall) -> bool:
        with suppress(ValueError):
            self.prepared.world.methods[call.name].arguments.read(call.arguments)
            return True
        return False

    def _graded(
        self,
        check: str,
        calls: Sequence[ToolCall],
        words: Sequence[str],
        wanted: float,
        what: str,
        attempt: Attempt | None = None,
    ) -> Attempt:
        attempt = attempt or self._play(calls, words, by_user=bool(calls))[0]
        try:
            reward = attempt.reward(self.prepared.problem)
        except EvaluationError as error:
            self._note("tools", str(error))
            return attempt
        if reward != wanted:
            self._note(check, f"{what}: the reward is {reward:g}, expected {wanted:g}")
        return attempt

    def _play(
        self, calls: Sequence[ToolCall], words: Sequence[str], *, by_user: bool = True
    ) -> _Played:
        """Make the assistant's and the user's calls; return the attempt and the result of each."""
        world = self.prepared.world.at(self.prepared.state.fork())
        results = [self._call(world, call) for call in calls]
        if by_user:
            results += [self._call(world, c, "user") for c in self.prepared.problem.user_gold]
        made = [c for c, result in zip(calls, results, strict=False) if result is not None]
        return Attempt(world, self.prepared.gold_state, words, made), results

    def _call(self, world: World[Any], call: ToolCall, by: Seat = "assistant") -> str | None:
        """The result, or None if the tool refuses; if its code fails, that is noted."""
        try:
            if self.watched[call.name] < _MOST_WATCHED:
                self.watched[call.name] += 1
                result = self._watched(world, call, by)
            else:
                result = world.call(call, by)
        except EvaluationError as error:
            self._note("tools", str(error), of_world=True)
            return None
        return None if result.error is not None else result.content

    def _watched(self, world: World[Any], call: ToolCall, by: Seat) -> CallResult:
        with asked() as impure:
            result = world.call(call, by)
        for name in sorted(impure):
            detail = f"tool {call.name} asks {name}; use self.state.now and new_id"
            self._note("same twice", detail, of_world=True)
        return result

    def _note(self, check: str, detail: str, *, of_world: bool = False) -> None:
        short = detail if len(detail) <= _SHOWN else detail[:_SHOWN] + "..."
        self.done.violations.append(Violation(check, "" if of_world else self.instance.id, short))
