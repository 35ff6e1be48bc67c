"""Conversations with a user: 5,000 at once against a stub server, and the memory of each.

    python -m benchmarks.tools_users

The student and the user are models behind a stub server in another process, which repeats what it
hears. Each of four turns is one request for the student and one for the user. The bare
environment asks as often, with no world, no rules and no view of its own. Memory is Python's peak
(`tracemalloc`), with models in this process instead of the server.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import threading
import time
import tracemalloc
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from typing import Any

from benchmarks.common import print_table, write_results
from benchmarks.stub_server import stub_server
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import ToolUseOptions
from dataenvgym.domains.tool_use.worlds import find_world
from dataenvgym.interfaces import Ask, Failure, Reply, SamplingParameters
from dataenvgym.records import CompletedTaskInstance, Conversation, Message, TaskInstance
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.rollouts import rollout
from dataenvgym.teachers import ChatClient

CONVERSATIONS = 5_000
FEWER = 1_000
TURNS = 4
CONNECTIONS = 1_000
SAMPLING = SamplingParameters()
DOMAIN = ToolUseDomain(find_world("shop"), ToolUseOptions(max_turns=TURNS))


class Remote:
    """A model on the server; it counts the simultaneous requests."""

    def __init__(self, client: ChatClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._under_way = self.most_at_once = 0

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        with self._lock:
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        future = self._client.submit(conversation, sampling, model="stub")
        future.add_done_callback(self._done)
        return future

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        return [f.result() for f in [self.submit(c, sampling) for c in conversations]]

    def _done(self, _: object) -> None:
        with self._lock:
            self._under_way -= 1


class Bare(TaskEnvironment):
    """Only asks the user about each of the student's messages."""

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        text = (yield Ask("user", conversation)).text
        return Outcome(messages=(Message(role="user", content=text),), done=False)


def problems(n: int) -> list[TaskInstance]:
    """One for each conversation, with a user played by a model."""
    user = {"kind": "model", "instructions": "You are Ann. You want to cancel your lamp order."}
    gold = [{"name": "cancel_order", "arguments": {"order_id": "order_1"}}]
    data: dict[str, Any] = {"world": "shop", "user": user, "gold": gold}
    return [
        TaskInstance(id=str(i), task="shop", instruction=f"I am customer {i}.", data=data)
        for i in range(n)
    ]


def tool_use() -> TaskEnvironment:
    """An environment of the shop."""
    return DOMAIN.make_environment()


def bare() -> TaskEnvironment:
    """One that only asks."""
    return Bare(max_turns=TURNS)


def converse(url: str, n: int, make: Callable[[], TaskEnvironment]) -> dict[str, float]:
    """So many conversations at once: asks a second, and how many one speaker had at once."""
    gc.collect()
    with ChatClient(url, concurrency=CONNECTIONS) as client:
        student, user = Remote(client), Remote(client)
        began = time.perf_counter()
        completed = rollout(student, problems(n), make, sampling=SAMPLING, others={"user": user})
        seconds = time.perf_counter() - began
    check(completed)
    at_once = min(student.most_at_once, user.most_at_once)
    return {"asks_per_s": 2 * TURNS * n / seconds, "at_once": at_once}


def check(completed: Sequence[CompletedTaskInstance]) -> None:
    """All have had their turns."""
    failed = [c.error for c in completed if c.error is not None]
    assert not failed, failed[0]
    assert all(sum(m.role == "assistant" for m in c.transcript) == TURNS for c in completed)


class Echo:
    """The same replies as the server's, in this process."""

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        return [Reply(text=c[-1].content) for c in conversations]


def rates(repeats: int = 3) -> list[dict[str, Any]]:
    """Medians over interleaved repetitions."""
    cases = {
        ("a shop", FEWER): tool_use,
        ("a shop", CONVERSATIONS): tool_use,
        ("bare environment", CONVERSATIONS): bare,
    }
    found: dict[tuple[str, int], list[dict[str, float]]] = {case: [] for case in cases}
    with stub_server() as url:
        converse(url, 100, tool_use)  # imports and other one-time costs
        for _ in range(repeats):
            for case, make in cases.items():
                found[case].append(converse(url, case[1], make))
    medians = {
        case: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for case, rows in found.items()
    }
    reference = medians["bare environment", CONVERSATIONS]["asks_per_s"]
    return [
        {"conversations": name, "n": n, **row, "to_bare": row["asks_per_s"] / reference}
        for (name, n), row in medians.items()
    ]


def memory() -> list[dict[str, Any]]:
    """Kilobytes of each conversation at the peak, all of them at once."""
    rows: list[dict[str, Any]] = []
    for n in (100, FEWER, CONVERSATIONS):
        instances = problems(n)
        gc.collect()
        tracemalloc.start()
        try:
            completed = rollout(
                Echo(), instances, tool_use, sampling=SAMPLING, others={"user": Echo()}
            )
            check(completed)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if n > 100:  # those were for imports
            rows.append({"conversations": "a shop", "n": n, "kb_each": peak / n / 1024})
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    asked, held = rates(parser.parse_args(argv).repeats), memory()
    print_table(asked)
    print()
    print_table(held)
    write_results("tools_users", {"rates": asked, "memory": held})


if __name__ == "__main__":
    main()
