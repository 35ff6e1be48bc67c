"""Social scenes: scripted ones on one core, and 1,000 at once against a stub server.

    python -m benchmarks.social_scenes [--scenes 1000] [--repeats 3]

Scripted: a negotiator in the student's seat and one in the other play the scenes with a deal, on
one core, by `rollout` as an evaluation does. The bare environment has as many turns, and no scene.

At once: both seats are models behind a stub server in another process, which takes 50 ms for each
answer; 20 turns are ten requests for each seat. The bare environment asks as often, with no scene,
no rules and no views. All scenes must end without an error.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import statistics
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.common import print_table, write_results
from benchmarks.stub_server import stub_server
from benchmarks.tools_users import Remote
from dataenvgym.domains.social import Rules, SocialEnvironment, SocialTask
from dataenvgym.interfaces import Ask, Failure, Reply, SamplingParameters
from dataenvgym.records import CompletedTaskInstance, Conversation, Message, TaskInstance
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.rollouts import rollout
from dataenvgym.teachers import ChatClient

WANTED_A_MINUTE = 3_000
SCRIPTED = 1_000
TURNS = 20
DELAY_S = 0.05
SAMPLING = SamplingParameters()
OFFERS = (*(f"[action] offer {price} euros" for price in (130, 120, 110)), "[leave] Bye.")


class Bargains:
    """A student that makes the same offers in each scene, and then leaves."""

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        said = (sum(m.role == "assistant" for m in c) for c in conversations)
        return [Reply(text=OFFERS[min(n, len(OFFERS) - 1)]) for n in said]


class BareTurns(TaskEnvironment):
    """Answers each of the student's messages with one word."""

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        done = conversation[-1].content == OFFERS[-1]
        return Outcome(() if done else (Message(role="user", content="No."),), done=done)


class BareAsks(TaskEnvironment):
    """Only asks the partner about each of the student's messages."""

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        text = (yield Ask("partner", conversation)).text
        done = sum(m.role == "assistant" for m in conversation) == TURNS // 2
        return Outcome((Message(role="user", content=text),), done=done)


@contextmanager
def one_core() -> Iterator[None]:
    """Restrict all threads of this process to one core, if the system supports it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def problems(n: int, partner: str) -> list[TaskInstance]:
    """So many scenes with a deal, each under an id of its own, from the seat that begins."""
    task = SocialTask(partner="fair", seats="first").whole()
    return [
        instance.model_copy(
            update={"id": f"scene-{i}", "data": {**instance.data, "partner": partner}}
        )
        for i, instance in zip(range(n), itertools.cycle(task.instances), strict=False)
    ]


def scripted(make: Callable[[], TaskEnvironment], scenes: Sequence[TaskInstance]) -> float:
    """Scenes per minute."""
    gc.collect()
    began = time.perf_counter()
    completed = rollout(Bargains(), scenes, make, sampling=SAMPLING, threads=1)
    seconds = time.perf_counter() - began
    check(completed)
    return 60 * len(scenes) / seconds


def measure_scripted(repeats: int) -> list[dict[str, Any]]:
    """Medians over interleaved repetitions."""
    scenes = problems(SCRIPTED, "fair")
    cases = {"scripted scenes": SocialEnvironment, "bare environment": BareTurns}
    rates: dict[str, list[float]] = {name: [] for name in cases}
    with one_core():
        for make in cases.values():
            scripted(make, scenes[:50])  # imports and other one-time costs
        for _, (name, make) in itertools.product(range(repeats), cases.items()):
            rates[name].append(scripted(make, scenes))
    floor = statistics.median(rates["bare environment"])
    return [
        {
            "on one core": name,
            "scenes a minute": statistics.median(found),
            "slowest": min(found),
            "to bare": statistics.median(found) / floor,
            "wanted": WANTED_A_MINUTE if name == "scripted scenes" else "",
        }
        for name, found in rates.items()
    ]


def at_once(
    url: str, make: Callable[[], TaskEnvironment], scenes: Sequence[TaskInstance]
) -> dict[str, float]:
    """All scenes at once: seconds, and the most requests that were open."""
    gc.collect()
    with ChatClient(url, concurrency=len(scenes)) as client:
        model = Remote(client)  # in both seats, so that it counts the requests of both
        began = time.perf_counter()
        completed = rollout(model, scenes, make, sampling=SAMPLING, others={"partner": model})
        seconds = time.perf_counter() - began
    check(completed)
    turns = [sum(m.role == "assistant" for m in c.transcript) for c in completed]
    assert set(turns) == {TURNS // 2}, turns
    return {"seconds": seconds, "most open requests": model.most_at_once}


def measure_at_once(n: int, repeats: int) -> list[dict[str, Any]]:
    """Medians over interleaved repetitions."""
    scenes = problems(n, "model")
    cases: dict[str, Callable[[], TaskEnvironment]] = {
        "scenes of two seats": lambda: SocialEnvironment(rules=Rules(turn_limit=TURNS)),
        "bare environment": BareAsks,
    }
    found: dict[str, list[dict[str, float]]] = {name: [] for name in cases}
    with stub_server(delay=DELAY_S, text="Let me think about it.") as url:
        for make in cases.values():
            at_once(url, make, scenes[:50])
        for _, (name, make) in itertools.product(range(repeats), cases.items()):
            found[name].append(at_once(url, make, scenes))
    medians = {
        name: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for name, rows in found.items()
    }
    floor = medians["bare environment"]["seconds"]
    return [
        {
            "at once": name,
            "scenes": n,
            "requests": TURNS * n,
            "seconds": row["seconds"],
            "requests a second": TURNS * n / row["seconds"],
            "most open requests": round(row["most open requests"]),
            "time to bare": row["seconds"] / floor,
        }
        for name, row in medians.items()
    ]


def check(completed: Sequence[CompletedTaskInstance]) -> None:
    """All have ended."""
    failed = [c.error for c in completed if c.error is not None]
    assert not failed, failed[0]


def main(argv: Sequence[str] | None = None) -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scenes", type=int, default=1_000, help="at once")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    alone = measure_scripted(options.repeats)
    print_table(alone)
    print()
    together = measure_at_once(options.scenes, options.repeats)
    print_table(together)
    path = write_results("social_scenes", {"scripted": alone, "at_once": together})
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    main()
