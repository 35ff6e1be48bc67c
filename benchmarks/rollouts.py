"""Rollouts with a remote student: overhead of the engine and the chat client over a bare loop.

    python -m benchmarks.rollouts

2,000 rollouts of three turns run at once, 6,000 requests, against a stub server in another process
that takes 50 ms for each. The bare loop is 2,000 coroutines that send the same requests with
aiohttp and do nothing else. The two run in turns, with new connections each time. A client on bare
sockets shows the capacity of the stub server; memory is read before and after 20,000 requests.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson
import psutil

from benchmarks.common import print_table, write_results
from benchmarks.stub_server import stub_server
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation, Message, TaskInstance
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.rollouts import rollout
from dataenvgym.teachers import ChatClient

ROLLOUTS = 2000
TURNS = 3
REQUESTS = ROLLOUTS * TURNS
DELAY_S = 0.05
SAMPLING = SamplingParameters()


class ThreeTurns(TaskEnvironment):
    """Asks three times; right if the student repeats what was asked."""

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        turn = len(conversation) // 2
        if turn < TURNS:
            return Outcome(messages=(question(instance.id, turn),), done=False)
        said = [m.content for m in conversation[1::2]]
        return Outcome(was_correct=said == [m.content for m in conversation[::2]])


def question(instance_id: str, turn: int) -> Message:
    """The environment's question in a turn."""
    return Message(role="user", content=f"Rollout {instance_id}, question {turn}: say this again!")


INSTANCES = [
    TaskInstance(id=str(i), task="echo", instruction=question(str(i), 0).content)
    for i in range(ROLLOUTS)
]


class RemoteStudent:
    """A minimal remote predictor."""

    def __init__(self, client: ChatClient) -> None:
        self._client = client

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        return self._client.submit(conversation, sampling, model="stub")

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        return [f.result() for f in [self.submit(c, sampling) for c in conversations]]


def ours(url: str) -> None:
    """All rollouts, by the engine and the chat client."""
    with ChatClient(url, concurrency=ROLLOUTS) as client:
        student = RemoteStudent(client)
        completed = rollout(student, INSTANCES, ThreeTurns, sampling=SAMPLING)
    assert all(c.was_correct for c in completed), next(c.error for c in completed if c.error)


def bare_loop(url: str) -> None:
    """The same requests, by aiohttp alone."""

    async def chain(session: aiohttp.ClientSession, instance_id: str) -> None:
        messages: list[dict[str, str]] = []
        for turn in range(TURNS):
            content = f"Rollout {instance_id}, question {turn}: say this again!"
            messages.append({"role": "user", "content": content})
            payload = {
                "model": "stub",
                "messages": messages,
                "temperature": SAMPLING.temperature,
                "top_p": SAMPLING.top_p,
                "max_tokens": SAMPLING.max_tokens,
            }
            headers = {"Content-Type": "application/json"}
            async with session.post(
                url + "/v1/chat/completions", data=orjson.dumps(payload), headers=headers
            ) as response:
                answer = orjson.loads(await response.read())
            messages.append(answer["choices"][0]["message"])
            assert messages[-1]["content"] == content

    async def all_chains() -> None:
        connector = aiohttp.TCPConnector(limit=ROLLOUTS)
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(chain(session, i.id) for i in INSTANCES))

    asyncio.run(all_chains())


class _RawConnection(asyncio.Protocol):
    """Sends the next request after each answer, until all requests are sent."""

    def __init__(self, request: bytes, left: list[int], done: asyncio.Event) -> None:
        self._request, self._left, self._done = request, left, done

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        # an answer is small and comes in one piece
        self._left[0] -= 1
        if self._left[0] > 0:
            self._transport.write(self._request)
        else:
            self._done.set()


def raw_sockets(url: str) -> None:
    """As many requests, over 64 connections and without an HTTP library."""

    async def send_all() -> None:
        message = {"role": "user", "content": "Rollout 0, question 0: say this again!"}
        body = orjson.dumps({"model": "stub", "messages": [message]})
        head = "POST /v1/chat/completions HTTP/1.1\r\nHost: stub\r\nContent-Length: "
        request = f"{head}{len(body)}\r\n\r\n".encode() + body
        left, done = [REQUESTS], asyncio.Event()
        where = urlsplit(url)
        assert where.hostname is not None
        assert where.port is not None
        host, port = where.hostname, where.port
        loop = asyncio.get_running_loop()
        for _ in range(64):
            await loop.create_connection(lambda: _RawConnection(request, left, done), host, port)
        await done.wait()

    asyncio.run(send_all())


def measure(repeats: int) -> list[dict[str, Any]]:
    """Requests per second and CPU time per request, medians over interleaved repetitions."""
    seconds: dict[str, list[tuple[float, float]]] = {}

    def run(name: str, work: Callable[[str], None], url: str) -> None:
        gc.collect()
        began, cpu = time.perf_counter(), time.process_time()
        work(url)
        spent = time.perf_counter() - began, time.process_time() - cpu
        seconds.setdefault(name, []).append(spent)

    with stub_server(delay=DELAY_S) as slow, stub_server() as fast:
        ours(slow)  # imports and other one-time costs
        for i in range(repeats):
            pair = [("ours", ours), ("bare loop", bare_loop)]
            for name, work in pair[:: 1 if i % 2 else -1]:
                run(name, work, slow)
            run("stub's capacity", raw_sockets, fast)
    rates = {name: [REQUESTS / wall for wall, _ in each] for name, each in seconds.items()}
    reference = rates["bare loop"]
    return [
        {
            "requests": name,
            "per_s": statistics.median(rates[name]),
            "to_bare_loop": statistics.median(
                a / b for a, b in zip(rates[name], reference, strict=True)
            ),
            "cpu_us": statistics.median(cpu for _, cpu in seconds[name]) / REQUESTS * 1e6,
        }
        for name in ("ours", "bare loop", "stub's capacity")
    ]


def memory_growth() -> list[dict[str, Any]]:
    """Resident memory before and after 20,000 requests of one client that is warm."""
    process = psutil.Process()

    def resident_mb() -> float:
        gc.collect()
        return float(process.memory_info().rss / 2**20)

    with stub_server() as url, ChatClient(url, concurrency=ROLLOUTS) as client:
        student = RemoteStudent(client)
        for _ in range(2):
            rollout(student, INSTANCES, ThreeTurns, sampling=SAMPLING)
        before, sent = resident_mb(), 0
        while sent < 20_000:
            rollout(student, INSTANCES, ThreeTurns, sampling=SAMPLING)
            sent += REQUESTS
        after = resident_mb()
    growth = {"requests": sent, "before_mb": before, "after_mb": after, "growth_mb": after - before}
    return [growth]


def main(argv: Sequence[str] | None = None) -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(argv)
    rates, memory = measure(options.repeats), memory_growth()
    print_table(rates)
    print()
    print_table(memory)
    write_results("rollouts", {"rates": rates, "memory": memory})


if __name__ == "__main__":
    main()
