"""Checks a world and its problems: each problem must be solvable, and not solvable by chance.

    loads         the world can pose the problem, and its gold calls succeed
    gold          the gold calls, and the words that go with them, earn the full reward
    same twice    calls, played again, give the same results and state, also in other processes; no
                  tool asks for a clock, chance or the machine
    outside       tools change nothing but their state, and read no environment variables
    nothing       doing nothing earns 0
    argument      a gold plan with one argument of a writing call changed earns 0
    order         two neighboring writes in the other order earn the full reward as well, unless the
                  request names an order
    constant reply
                  words alone that list everything, or answer another problem, earn 0
    extra write   the gold calls and a further call that changes the state earn 0
    random calls  50 random legal calls earn 0; if they changed the state, also with the right words
    said          the gold calls with words of the request, the policy or any answer earn 0
    verifier      a verifier that drops a component, flips an assertion or omits a required fact
                  is noticed: at least one attempt at one problem gets another score
    tools         tools raise only ToolError and are quick, their results are not cut, and reading
                  tools do not change the state

`audit` runs all checks and lists the violations. Checks without problems are in
`dataenvgym.tasks.worlds.audit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from math import prod
from random import Random
from typing import Any

from dataenvgym.domains.tool_use.components import Ending, score
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.problem import Component, Prepared, ToolUseProblem
from dataenvgym.domains.tool_use.users import ModelUser
from dataenvgym.errors import ConfigurationError, DataEnvGymError, EvaluationError
from dataenvgym.records import TaskInstance, ToolCall
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.worlds import State, World
from dataenvgym.tasks.worlds.audit import Audit, Violation
from dataenvgym.tasks.worlds.audit.legal_values import ExtremeValues, LegalValues
from dataenvgym.tasks.worlds.audit.processes import compare_processes
from dataenvgym.tasks.worlds.audit.tools import Made, Played, ToolsAudit, asked

__all__ = ["Audit", "Violation", "audit"]

RANDOM_CALLS = 50
EXTREME_CALLS = 20
_MOST_CHANGES = 5  # legal changes that are tried for each argument
_MOST_EXTRA, _MOST_DRAWN = 2, 20  # extra writes with each tool, and draws for them
_MOST_REPLIES = 200  # constant replies to each problem
_SAID_BY_ALL = (
    "Yes. No. OK. Done. It is done. Here you are. There is none. Sorry, I cannot do that. Please "
    "wait. Thank you, you are welcome. Can I help you with anything else?"
)
_NAMES_AN_ORDER = re.compile(r"\b(first|then|next|after\w*|before|later|finally)\b", re.IGNORECASE)
_Played = tuple[Ending, Sequence[str | None]]  # with the result of each call


@dataclass
class ProblemAudit:
    """Runs the checks on one problem.

    Attributes:
        values: the values in the problem's first state.
        tools: makes the calls.
        differs: whether two replays of the same calls differed.
    """

    domain: ToolUseDomain
    instance: TaskInstance
    prepared: Prepared
    values: LegalValues
    rng: Random
    tools: ToolsAudit
    differs: bool = False

    def attempts(self) -> Iterator[Ending]:
        """All attempts at the problem; they note violations."""
        yield from self._gold()
        nothing = self._play((), ("",), by_user=False)[0]
        yield self._graded("nothing", nothing, 0.0, "who does nothing")
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
        self._orders()
        self._easy_words()
        yield from self._changed()
        yield from self._random()
        yield from self._extra_writes()
        self._extremes()

    def try_constant_replies(self, others: Sequence[ProblemAudit]) -> None:
        """Note words that earn the reward without a call, although they are no answer to it.

        Args:
            others: the audits of all problems; their replies are tried.
        """
        problem, first = self.prepared.problem, self.prepared.world
        if "said" not in problem.basis or self._earned(first, self._words) != 1.0:
            return
        policy = self.domain.prompt_template.system
        facts = (fact for other in others for fact in other.prepared.problem.said)
        replies: dict[Sequence[str], str] = {
            (f"{policy}\n{self.instance.instruction}",): "the policy and the request",
            (", ".join((*dict.fromkeys(facts), self.values.listed)),): "a list of everything",
        }
        for other in others:
            if other is not self and other._words:
                replies.setdefault(other._words, f"the reply to {other.instance.id}")
        self.tools.done.tried["constant replies"] += len(replies)
        for words, what in islice(replies.items(), _MOST_REPLIES):
            if (reward := self._earned(first, words)) != 0.0:
                self._note("constant reply", f"{what}: the reward is {reward:g}, expected 0")

    def _earned(self, world: World[Any], words: Sequence[str]) -> float:
        with suppress(EvaluationError):  # noted before
            ending = Ending(world, self.prepared.gold_state, words, ())
            return score(self.prepared.problem, ending)[0]
        return 0.0

    def _extra_writes(self) -> Iterator[Ending]:
        """The gold calls, and a legal call that changes something more."""
        gold, after = self.prepared.problem.gold, self.prepared.gold_state
        for tool in self.prepared.world.tools():
            if not self.prepared.world.methods[tool.name].writes:
                continue
            drawn = (self.values.draw(tool, self.rng) for _ in range(_MOST_DRAWN))
            tried = 0
            for call in filter(self._is_legal, drawn):
                world = self.prepared.world.at(after.fork())
                if self.tools.call(world, call) is None or world.state == after:
                    continue
                attempt = Ending(world, after, self._words, (*gold, call))
                given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
                what = f"the gold calls, then {call.name}({given})"
                yield self._graded("extra write", attempt, 0.0, what)
                if (tried := tried + 1) == _MOST_EXTRA:
                    break
            self.tools.done.tried["extra writes"] += tried

    def _extremes(self) -> None:
        """Calls with values at the ends of their ranges: refused or answered, never an error."""
        tools = self.prepared.world.tools()
        values = ExtremeValues(self.prepared.state)
        world = self.prepared.world.at(self.prepared.state.fork())
        for _ in range(EXTREME_CALLS if tools else 0):
            self.tools.call(world, values.draw(self.rng.choice(tools), self.rng))
            self.tools.done.tried["extreme calls"] += 1

    @property
    def _words(self) -> tuple[str, ...]:
        return self.prepared.problem.said or (
            (self.instance.answer,) if self.instance.answer else ()
        )

    def _gold(self) -> Iterator[Ending]:
        gold, words = self.prepared.problem.gold, self._words
        what = "the gold calls"
        yield self._graded("gold", self._twice(what, gold, words), 1.0, what)
        if isinstance(self.prepared.problem.user, ModelUser):
            return
        try:
            completed = self.domain.gold_conversation(self.instance)
        except DataEnvGymError as error:
            self._note("gold", f"the conversation fails: {error}")
            return
        if completed is None or not completed.was_correct:
            scores = completed.scores if completed else {}
            self._note("gold", f"the conversation with the gold calls gets {scores or 'no end'}")

    def _orders(self) -> None:
        """Note neighboring writes whose order decides, although the request does not name one."""
        world, gold = self.prepared.world, self.prepared.problem.gold
        if _NAMES_AN_ORDER.search(self.domain.text_of(self.instance)):
            return
        for i, (one, two) in enumerate(pairwise(gold)):
            if world.methods[one.name].writes and world.methods[two.name].writes:
                plan = (*gold[:i], two, one, *gold[i + 2 :])
                attempt, results = self._play(plan, self._words)
                if None not in results:
                    what = f"{two.name} before {one.name}, which the request does not order"
                    self._graded("order", attempt, 1.0, what)

    def _easy_words(self) -> None:
        """Note facts that are told without knowing them, by a student that makes the gold calls."""
        problem = self.prepared.problem
        if "said" not in problem.basis:
            return
        texts = {"repeats the request": self.domain.text_of(self.instance)}
        texts["says what is always said"] = _SAID_BY_ALL
        if self.prepared.gold_state != self.prepared.state:
            texts["recites the policy"] = self.domain.prompt_template.system
        for what, text in texts.items():
            attempt = self._play(problem.gold, (text,), by_user=bool(problem.gold))[0]
            self._graded("said", attempt, 0.0, f"who makes the gold calls and {what}")

    def _twice(
        self, what: str, calls: Sequence[ToolCall], words: Sequence[str], *, by_user: bool = True
    ) -> Ending:
        """Play calls twice, and note a difference; return the first attempt."""
        (one, results), (other, results_again) = (
            self._play(calls, words, by_user=by_user) for _ in range(2)
        )
        state = one.world.state.digest()
        made: list[Made] = [(call, "assistant") for call in calls]
        made += [(call, "user") for call in self.prepared.problem.user_gold]
        made = made[: len(results)]  # random calls are those of the assistant alone
        self.tools.played.append(Played(self.prepared.problem.state, made, results, state))
        if not self.differs:  # noted once is enough
            self.differs = (results, state) != (results_again, other.world.state.digest())
            if self.differs:
                self._note("same twice", f"{what} have other results or another state")
        return one

    def _changed(self) -> Iterator[Ending]:
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
                    yield self._graded("argument", self._play(plan, self._words)[0], 0.0, what)

    def _that_work(self, before: Sequence[ToolCall], calls: Sequence[ToolCall]) -> list[ToolCall]:
        """The first few of the calls that succeed after the calls before."""
        world = self.prepared.world.at(self.prepared.state.fork())
        for call in before:
            self.tools.call(world, call)
        found = []
        for call in calls:
            if self.tools.call(world.at(world.state.fork()), call) is None:
                self.tools.done.tried["changed arguments that a tool refused"] += 1
                continue
            self.tools.done.tried["changed arguments"] += 1
            found.append(call)
            if len(found) == _MOST_CHANGES:
                break
        return found

    def _random(self) -> Iterator[Ending]:
        tools = self.prepared.world.tools()
        if not tools:
            return
        rng = self.rng
        drawn = (self.values.draw(rng.choice(tools), rng) for _ in range(20 * RANDOM_CALLS))
        calls = list(islice(filter(self._is_legal, drawn), RANDOM_CALLS))
        self.tools.done.tried["random calls"] += len(calls)
        what = f"{len(calls)} random calls"
        attempt = self._twice(what, calls, ("",), by_user=False)
        yield self._graded("random calls", attempt, 0.0, what)
        if self._words and attempt.world.state != self.prepared.state:
            what += ", and the right words"
            attempt = self._play(calls, self._words, by_user=bool(calls))[0]
            yield self._graded("random calls", attempt, 0.0, what)

    def _is_legal(self, call: ToolCall) -> bool:
        with suppress(ValueError):
            self.prepared.world.methods[call.name].arguments.read(call.arguments)
            return True
        return False

    def _graded(self, check: str, attempt: Ending, wanted: float, what: str) -> Ending:
        try:
            with asked() as impure:
                reward = score(self.prepared.problem, attempt)[0]
        except EvaluationError as error:
            self._note("tools", str(error))
            return attempt
        for name in sorted(impure):
            self._note("same twice", f"a check of its assertions asks {name}")
        if reward != wanted:
            self._note(check, f"{what}: the reward is {reward:g}, expected {wanted:g}")
        return attempt

    def _play(
        self, calls: Sequence[ToolCall], words: Sequence[str], *, by_user: bool = True
    ) -> _Played:
        """Make the assistant's and the user's calls; return the attempt and the result of each."""
        world = self.prepared.world.at(self.prepared.state.fork())
        results = [self.tools.call(world, call) for call in calls]
        if by_user:
            results += [self.tools.call(world, c, "user") for c in self.prepared.problem.user_gold]
        made = [c for c, result in zip(calls, results, strict=False) if result is not None]
        return Ending(world, self.prepared.gold_state, words, made), results

    def _note(self, check: str, detail: str) -> None:
        self.tools.note(check, detail, self.instance.id)


def audit(world: World[Any], problems: Iterable[TaskInstance], *, seed: int = 0) -> Audit:
    """Run all checks on a world with its problems.

    No judge is asked: facts that a judge would recognize must be said literally here.

    Args:
        seed: selects the random calls.

    Raises:
        ConfigurationError: for a world that does not show its state, or whose state is not a
            `State`.
    """
    if not world.shows_state or not isinstance(world.state, State):
        raise ConfigurationError(
            f"world {world.name!r} does not show its state, and an audit replays calls on forks of "
            "it: audit a world with a state of its own"
        )
    done = Audit(world.name)
    values = LegalValues(world.state)
    domain = ToolUseDomain(world)
    mutations: dict[str, bool] = {}
    tools = ToolsAudit(done, world)
    tools.try_each(values, Random(derive_seed(seed, "audit", "tools")))
    audits: list[ProblemAudit] = []
    for instance in problems:
        problem = instance
        if instance.data.get("said_by") == "judge":
            problem = instance.model_copy(update={"data": {**instance.data, "said_by": "text"}})
        done.tried["problems"] += 1
        try:
            prepared = domain.prepared(problem)
            _ = prepared.gold_state
        except DataEnvGymError as error:
            done.violations.append(Violation("loads", problem.id, str(error)))
            continue
        own = prepared.problem.world == world.name and not prepared.problem.state
        checked = ProblemAudit(
            domain,
            problem,
            prepared,
            values if own else LegalValues(prepared.state),
            Random(derive_seed(seed, "audit", problem.id)),
            tools,
        )
        audits.append(checked)
        for mutation, is_noticed in _mutations(prepared.problem, checked.attempts()).items():
            mutations[mutation] = mutations.get(mutation, False) or is_noticed
    for checked in audits:
        checked.try_constant_replies(audits)
    tools.note_slow()
    compare_processes(tools)
    done.tried["mutations"] += len(mutations)
    done.violations += [
        Violation("verifier", "", f"no problem notices a verifier that {mutation}")
        for mutation, is_noticed in mutations.items()
        if not is_noticed
    ]
    done.violations = list(dict.fromkeys(done.violations))
    return done


def _mutations(problem: ToolUseProblem, attempts: Iterable[Ending]) -> dict[str, bool]:
    """Each error that the problem's verifier may have, and whether it changes an attempt's score.

    The verifier drops a component, flips an assertion, or omits a required fact.
    """
    scored: list[tuple[Ending, dict[Component, float]]] = []
    for attempt in attempts:
        with suppress(EvaluationError):  # the audit has noted it
            scored.append((attempt, {n: _part(problem, n, attempt) for n in problem.basis}))
    mutants: list[tuple[str, Component, ToolUseProblem | None]] = [
        (f"drops the component {name!r}", name, None) for name in problem.basis
    ]
    for i, one in enumerate(problem.assertions if "assertions" in problem.basis else ()):
        flipped = one.model_copy(update={"expected": not one.expected})
        changed = (*problem.assertions[:i], flipped, *problem.assertions[i + 1 :])
        mutant = problem.model_copy(update={"assertions": changed})
        mutants.append((f"flips an assertion of the check {one.check!r}", "assertions", mutant))
    for i in range(len(problem.said) if "said" in problem.basis else 0):
        said = (*problem.said[:i], *problem.said[i + 1 :])
        mutant = problem.model_copy(update={"said": said})
        mutants.append(("forgets something that has to be said", "said", mutant if said else None))
    noticed: dict[str, bool] = {}
    for error, component, wrong in mutants:
        noticed[error] = noticed.get(error, False)
        for attempt, parts in scored:
            part = 1.0 if wrong is None else _part(wrong, component, attempt)
            noticed[error] |= prod({**parts, component: part}.values()) != prod(parts.values())
    return noticed


def _part(problem: ToolUseProblem, component: Component, attempt: Ending) -> float:
    """One component of an attempt's reward."""
    return score(problem.model_copy(update={"basis": (component,)}), attempt)[0]
