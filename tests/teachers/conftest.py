"""A real HTTP server in a thread, which answers as a test says."""

import asyncio
import json
import random
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from dataenvgym.agents import Agent, LLMEngine, OpenEndedPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import OpenEnded
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Conversation, Message
from dataenvgym.runs.episodes import run_episode
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.teachers import Teacher

GREEDY = SamplingParameters()
Respond = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


def completion(
    text: str | None, finish_reason: str = "stop", usage: dict[str, Any] | None = None
) -> web.Response:
    """An answer as OpenAI's servers give it."""
    message = {"role": "assistant", "content": text}
    answer: dict[str, Any] = {"choices": [{"message": message, "finish_reason": finish_reason}]}
    return web.json_response(answer if usage is None else answer | {"usage": usage})


async def echo(request: web.Request, payload: dict[str, Any]) -> web.StreamResponse:
    """Repeat the last message."""
    return completion(payload["messages"][-1]["content"])


def status(code: int, body: Any = None, **headers: str) -> Respond:
    """Answer with this status."""

    async def respond(request: web.Request, payload: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(body, status=code, headers=headers)

    return respond


def say(text: object) -> Conversation:
    return (Message(role="user", content=str(text)),)


def numbers(n: int, start: int = 0) -> list[Conversation]:
    """Conversations that say a number each."""
    return [say(i) for i in range(start, start + n)]


def ask(teacher: Teacher, conversations: Any, sampling: SamplingParameters = GREEDY) -> list[Any]:
    return teacher.ask(conversations, sampling, purpose="records")


class Author:
    """Answers requests for records, each with other ones; `fault` may do something else first.

    Attributes:
        says: is in every record.
        written: the number of records so far.
    """

    def __init__(self, fault: Any = None, says: str = "") -> None:
        self.fault = fault
        self.says = says
        self.written = 0

    async def __call__(self, request: web.Request, payload: dict[str, Any]) -> web.StreamResponse:
        if self.fault is not None and (answer := await self.fault(self)) is not None:
            return answer
        count = int(re.search(r"Write (\d+) new", payload["messages"][-1]["content"])[1])
        numbers = range(self.written, self.written + count)
        self.written += count
        records = [
            {"instruction": f"Say {words(n)} {self.says}.", "output": f"{self.says}\n#### {n}"}
            for n in numbers
        ]
        usage = {"prompt_tokens": 100, "completion_tokens": 50}
        return completion(json.dumps({"records": records}), usage=usage)


def words(number: int) -> str:
    """A text per number that is near to no other's."""
    draw = random.Random(number)
    return " ".join("".join(draw.choices("abcdefghij", k=6)) for _ in range(4))


def play(directory, url: str, *, n: int = 30, iterations: int = 3, **options: Any):
    """An episode with a teacher at that server."""
    options = {"retries": 0, "api_key_variable": None} | options
    teacher = Teacher("author", base_url=url, directory=directory, **options)
    task = PocketMathTask(n_validation=12, n_test=12)
    engine = LLMEngine(teacher, task, batch_size=5)
    agent = Agent(OpenEndedPolicy(), engine, name="open_ended", records_per_iteration=n)
    student = ScriptedPredictor(lambda conversation: "#### 12345")
    try:
        environment = OpenEnded(task, student, directory=directory)
        return run_episode(environment, agent, iterations=iterations)
    finally:
        teacher.close()


class FakeServer:
    """Answers chat completions with `respond`, which tests replace.

    Attributes:
        requests: the payloads in the order in which they came.
        headers: their headers.
        most_at_once: how many were being answered at the same time, at most.
    """

    def __init__(self, port: int = 0) -> None:
        self.respond: Respond = echo
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = 0
        self._at_once = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = self._run(self._start(port))
        self.url = f"http://127.0.0.1:{self.port}"

    def script(self, *responds: Respond) -> None:
        """Answer the first request with the first of them, and so on; then echo."""
        left = list(responds)

        async def respond(request: web.Request, payload: dict[str, Any]) -> web.StreamResponse:
            return await (left.pop(0) if left else echo)(request, payload)

        self.respond = respond

    def answer(
        self, answer: Callable[[dict[str, Any]], str], *, tokens: tuple[int, int] | None = None
    ) -> None:
        """Answer with `answer(payload)`, and say how many tokens prompt and answer have."""
        usage = None
        if tokens is not None:
            usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}

        async def respond(request: web.Request, payload: dict[str, Any]) -> web.StreamResponse:
            return completion(answer(payload), usage=usage)

        self.respond = respond

    def close(self) -> None:
        self._run(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _start(self, port: int) -> int:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/health", self._health)
        app.router.add_post("/v1/json", self._json)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        payload = await request.json()
        self.requests.append(payload)
        self.headers.append(dict(request.headers))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self.respond(request, payload)
        finally:
            self._at_once -= 1

    async def _health(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="fine")

    async def _json(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"got": await request.json()})


@pytest.fixture
def server():
    """A server that repeats the last message, until a test changes it."""
    fake = FakeServer()
    yield fake
    fake.close()


@pytest.fixture
def teach(server):
    """Makes teachers behind the server that try each request once."""
    made: list[Teacher] = []

    def make(model: str = "m", **options: Any) -> Teacher:
        defaults = {"base_url": server.url, "api_key_variable": None, "retries": 0}
        made.append(Teacher(model, **{**defaults, **options}))
        return made[-1]

    yield make
    for teacher in made:
        teacher.close()


@pytest.fixture
def make_server():
    """Starts servers when the test wants them."""
    made: list[FakeServer] = []

    def make(port: int = 0) -> FakeServer:
        made.append(FakeServer(port))
        return made[-1]

    yield make
    for fake in made:
        fake.close()
