"""Steps per second of a scripted student in the shop, against an environment that does nothing.

    python -m benchmarks.tools [--seconds 3] [--rounds 5]

Both environments play the same replies of the same problems, in turns within one run, so that the
ratio does not depend on the load of the machine. A step is one message of the student; the time
includes resets. Also measured: the cost of a fork of a state with 10,000 rows and with 100. Writes
`benchmarks/results/tools.json` and a table.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.common import print_table, write_results
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.problem import load_problems
from dataenvgym.domains.tool_use.worlds import find_world, problems_of
from dataenvgym.records import Conversation, TaskInstance
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.worlds import Row, State, Table

WANTED_RATIO, WANTED_STEPS = 0.25, 20_000
Rows = list[dict[str, str | float]]
Script = Sequence[tuple[TaskInstance, Sequence[str]]]


class Nothing(TaskEnvironment):
    """Has the same prompts, and ends after as many messages as the problem's script has."""

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        n_replies = len(conversation) - 2  # after the policy and the problem
        return Outcome(done=n_replies >= instance.data["turns"])  # type: ignore[operator]


class Many(Row):
    name: str
    price: float = 1.0


class ManyRows(State):
    rows: Table[Many] = Table()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    rows = [*steps(options.seconds, options.rounds), *forks(options.rounds)]
    print_table(rows)
    write_results("tools", {"rows": rows})


def steps(seconds: float, rounds: int) -> Rows:
    """Steps per second of both environments, and the median of the ratios of all rounds."""
    shop, bare = _shop_script()
    world = ToolUseDomain(find_world("shop")).make_environment()
    nothing = Nothing(system_prompt=world.prompt_template.system)
    taken = seconds / rounds / 2
    play(world, shop, 0.2)
    play(nothing, bare, 0.2)
    figures = [(play(nothing, bare, taken), play(world, shop, taken)) for _ in range(rounds)]
    ratio = statistics.median(theirs / none for none, theirs in figures)
    none, theirs = (statistics.median(column) for column in zip(*figures, strict=True))
    return [
        _row("steps a second, nothing done", none),
        _row("steps a second, shop", theirs, f"at least {WANTED_STEPS:,}"),
        _row("shop to nothing done", ratio, f"at least {WANTED_RATIO}"),
    ]


def play(environment: TaskEnvironment, script: Script, seconds: float) -> float:
    """Steps per second; every solvable problem has to be solved."""
    count, start = 0, time.perf_counter()
    while (taken := time.perf_counter() - start) < seconds:
        for instance, replies in script:
            environment.reset(seed=0, options={"instance": instance})
            for reply in replies:
                _, reward, done, _, _ = environment.step(reply)
            count += len(replies)
            if not done or reward != float("gold" in instance.data):
                raise RuntimeError(f"problem {instance.id} ended with reward {reward}")
    return count / taken


def _shop_script() -> tuple[Script, Script]:
    """The gold replies of all problems, and the same for the environment that does nothing."""
    domain = ToolUseDomain(find_world("shop"))
    shop, bare = [], []
    for instance in load_problems(problems_of("shop"), "shop"):
        completed = domain.gold_conversation(instance)
        assert completed is not None
        n_replies = sum(message.role == "assistant" for message in completed.transcript)
        replies = [r for r, _ in zip(domain.gold_replies(instance), range(n_replies), strict=False)]
        shop.append((instance, replies))
        bare.append((instance.model_copy(update={"data": {"turns": n_replies}}), replies))
    return shop, bare


def forks(rounds: int, count: int = 20_000) -> Rows:
    """Nanoseconds for a fork of a state with few and with many rows, one of them changed."""
    both = [_forked(n) for n in (100, 10_000)]
    taken = [tuple(_nanoseconds(fork, count) for fork in both) for _ in range(rounds)]
    small, large = (statistics.median(column) for column in zip(*taken, strict=True))
    return [
        _row("fork of 100 rows, ns", small),
        _row("fork of 10,000 rows, ns", large),
        _row("10,000 rows to 100", large / small, "about 1"),
    ]


def _forked(n_rows: int) -> Callable[[], State]:
    state = ManyRows(rows=Table({f"row_{n}": Many(name=str(n)) for n in range(n_rows)})).fork()
    state.rows["row_7"] = state.rows["row_7"].changed(price=2.0)
    return state.fork


def _nanoseconds(function: Callable[[], object], count: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(count):
        function()
    return (time.perf_counter_ns() - start) / count


def _row(name: str, figure: float, wanted: str = "") -> dict[str, str | float]:
    return {"": name, "figure": figure, "wanted": wanted}


if __name__ == "__main__":
    main()
