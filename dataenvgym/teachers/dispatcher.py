"""The queue of a chat client and its calls in progress, in one event loop.

A call waits in a plain queue, which costs almost nothing. At most `concurrency` calls have left it:
each is a task until it is done, with all tries and pauses.

Callers wait for answers in other threads, and each switch between threads costs about as much as a
request. So threads synchronize once in each turn of the loop: all new calls begin together.

It uses aiohttp and not OpenAI's package. With the latter, even over aiohttp, a request costs three
to five times the processor time. At 2,000 conversations at once, that package reaches 0.15 (typed
calls) to 0.32 (plainest calls) of the requests per second of a bare aiohttp loop; this module 0.8.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, NamedTuple

import aiohttp
import orjson
from pydantic import JsonValue
from yarl import URL

from dataenvgym import exact_json
from dataenvgym.errors import DataEnvGymError, ServerError
from dataenvgym.events import redact, redact_bytes, without_secrets
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.teachers.budget import cost_of
from dataenvgym.teachers.loop import LoopThread
from dataenvgym.teachers.payloads import (
    OF_ONE,
    ClientOptions,
    chat_payload,
    parse_reply,
    server_message,
)

_CLOSED = Failure(reason="the client was closed before an answer came", outage=True)
_MOST_DEATHS = 5
_AHEAD_S = 1.0
_LONGEST_PAUSE_S = 30.0
Outcome = Reply | Failure | BaseException


class Call(Future[Reply | Failure]):
    """One conversation for the server, and its future reply; cancelling it disconnects."""

    def __init__(
        self,
        conversation: Conversation,
        sampling: SamplingParameters,
        model: str,
        hang_up: Callable[[Call], None],
    ) -> None:
        super().__init__()
        self.conversation = conversation
        self.sampling = sampling
        self.model = model
        self.task: asyncio.Task[Reply | Failure] | None = None
        # secrets and warnings belong to the episode that asks
        self.context = copy_context()
        self._hang_up = hang_up

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._hang_up(self)
        return cancelled

    def settle(self, outcome: Outcome) -> None:
        """Give the outcome to the waiting caller; ignored if the call was cancelled."""
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.set_exception(outcome)
            else:
                self.set_result(outcome)


class Dispatcher:
    """Sends calls to one server; `put`, `request` and `close` may come from any thread."""

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._jitter = options.jitter or random.Random()
        self._waiting: deque[Call] = deque()
        self._open: set[Call] = set()
        self._woken = self._closed = self._has_answered = False
        self._is_ahead = options.scout  # is ahead: until the first answer, one call is open
        self._clock: asyncio.TimerHandle | None = None
        headers: dict[str, str] = {}
        if (key := options.api_key) is not None:
            bearer = {"Authorization": f"Bearer {key}"}
            headers = bearer if options.api_key_header is None else {options.api_key_header: key}
        self._session = Session(options.base_url, headers, options.form.path)
        revive = options.on_disconnect
        self._revival = Revival(revive, self._fail_waiting) if revive else None
        self._loop = LoopThread("dataenvgym-llm")

    # --- from any thread ---

    def put(self, conversation: Conversation, sampling: SamplingParameters, model: str) -> Call:
        """Queue one conversation."""
        call = Call(conversation, sampling, model, self._hang_up)
        self._waiting.append(call)
        if self._closed:
            self._fail_waiting(_CLOSED)
        elif not self._woken:
            self._woken = True
            self._loop.soon(self._wake)
        return call

    def request(self, method: str, path: str, payload: JsonValue, timeout: float | None) -> Any:
        """Any other request; see `ChatClient.request`."""
        limit = self._options.timeout if timeout is None else timeout
        future = self._loop.start(self._session.request, method, path, payload, limit)
        try:
            return future.result()
        except CancelledError:
            raise ServerError(f"{method} {path}: the client was closed") from None

    def close(self) -> None:
        """Fail open calls, disconnect and end the loop."""
        if not self._closed:
            self._closed = True
            self._fail_waiting(_CLOSED)
            self._loop.stop(self._finish)

    def _fail_waiting(self, outcome: Failure | DataEnvGymError) -> None:
        with suppress(IndexError):
            while True:
                self._waiting.popleft().settle(outcome)

    def _hang_up(self, call: Call) -> None:
        self._loop.soon(lambda: call.task and call.task.cancel())

    # --- in the loop ---

    def _wake(self) -> None:
        """Begin calls, once each turn of the loop until no new ones come."""
        self._woken = False  # from here on, `put` wakes us again
        loop = asyncio.get_running_loop()
        begun = False
        with suppress(IndexError):  # closing empties the queue, too
            while len(self._open) < (1 if self._is_ahead else self._options.concurrency):
                call = self._waiting.popleft()
                if call.cancelled():
                    continue
                begun = True
                self._open.add(call)
                call.task = loop.create_task(self._see_through(call), context=call.context)
                call.task.add_done_callback(partial(self._end, call))
                if self._is_ahead:
                    self._clock = loop.call_later(_AHEAD_S, self._follow)
        if begun:
            self._woken = True
            loop.call_soon(self._wake)

    def _follow(self) -> None:
        """Let the others follow the first call: the server does not refuse everything."""
        if self._is_ahead:
            self._is_ahead = False
            self._wake()

    def _end(self, call: Call, task: asyncio.Task[Reply | Failure]) -> None:
        self._open.discard(call)
        call.task = None  # its callbacks may refer to the client, which refers to all of this
        call.settle(_CLOSED if task.cancelled() else task.exception() or task.result())
        if self._waiting and not self._woken:
            self._wake()

    async def _see_through(self, call: Call) -> Reply | Failure:
        """Try until there is an answer or a permanent failure.

        Raises:
            DataEnvGymError: that is for all calls: the server refuses everything, or is lost.
        """
        begun = time.monotonic()
        body = chat_payload(
            call.conversation, call.sampling, model=call.model, form=self._options.form
        )
        tries = deaths = 0
        while True:
            generation = 0
            if self._revival is not None:
                generation = self._revival.generation
                if self._revival.under_way is not None:
                    await self._revival.after(generation)
                    continue
            answer = await self._try(body)
            if self._is_ahead:
                self._follow()
            if isinstance(answer, Reply):
                cost = cost_of(self._options.price, answer.prompt_tokens, answer.completion_tokens)
                took = {"seconds": time.monotonic() - begun, "cost": cost}
                return answer.model_copy(update=took)
            if isinstance(answer, Failure):
                return answer
            if answer.disconnected and self._revival is not None:
                deaths += 1
                if deaths >= _MOST_DEATHS:
                    reason = f"the server went away {deaths} times under this request"
                    reason = f"{reason}, the last time: {answer.reason}"
                    return Failure(reason=reason, outage=True)
                await self._revival.after(generation)
                continue
            tries += 1
            if tries > self._options.retries:
                reason = f"gave up after {tries} tries, the last: {answer.reason}"
                return Failure(reason=reason, outage=True)
            pause = answer.retry_after
            if pause is None:
                pause = backoff(self._options.backoff, tries, self._jitter)
            if pause > self._options.timeout:
                return Failure(
                    reason=f"{answer.reason} (the server asks to wait {pause:.0f} s, longer than "
                    f"the timeout of {self._options.timeout:g} s)",
                    outage=True,
                )
            await asyncio.sleep(pause)

    async def _try(self, body: bytes) -> Reply | Failure | Trouble:
        answer = await self._session.ask(body, self._options.timeout)
        if not isinstance(answer, HttpAnswer):
            return answer
        status = answer.status
        if status == 200:
            found = parse_reply(answer.body)
            if not isinstance(found, int):
                self._has_answered = True
                return found
            status = found
        reason = f"HTTP {answer.status}: {server_message(answer.body)}"
        if OF_ONE.search(answer.body):
            return Failure(reason=reason)
        if status in (408, 409, 429) or status >= 500:
            return Trouble(reason, retry_after=answer.retry_after)
        if status == 404 and self._revival is not None:
            return Trouble(reason, disconnected=True)  # restarted, it has forgotten the model
        # a server that has answered may forbid a single question (403), or have lost its model
        # (404); one that has not refuses the user, or does not have the model
        if status == 401 or (status in (403, 404) and not self._has_answered):
            to_check = "model and base_url" if status == 404 else "api_key_variable"
            url = without_secrets(self._options.base_url)
            what = f"the server at {url} refuses: {reason}. Check {to_check}"
            error = ServerError(what, status=status)
            self._is_ahead = self._options.scout
            if self._clock is not None:
                self._clock.cancel()
            self._fail_waiting(error)
            raise error
        return Failure(reason=reason)

    async def _finish(self) -> None:
        tasks = [call.task for call in self._open if call.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._session.close()


class Revival:
    """Restarts a dead server, once for all requests that it interrupted; in one event loop.

    Each start of the server has a number, its generation. A caller that loses the connection passes
    the generation in which its request began. The first such caller starts the revival, the others
    wait for it, and later ones learn that a newer generation is already running.

    Args:
        revive: returns once the server answers again, or raises; called in a thread.
        give_up: called once for each generation in which `revive` raised.
    """

    def __init__(
        self, revive: Callable[[], None], give_up: Callable[[DataEnvGymError], None]
    ) -> None:
        self.generation = 0
        self._revive = revive
        self._give_up = give_up
        self.under_way: asyncio.Task[None] | None = None
        self._errors: dict[int, DataEnvGymError] = {}

    async def after(self, generation: int) -> None:
        """Wait for a server later than this generation's; raise the error if none will come."""
        if generation == self.generation:
            if self.under_way is None:
                self.under_way = asyncio.create_task(self._bring_back())
            await asyncio.shield(self.under_way)
        if generation in self._errors:
            raise self._errors[generation]

    async def _bring_back(self) -> None:
        try:
            await _in_daemon_thread(self._revive)
        except Exception as error:  # noqa: BLE001  each call that waits gets the error
            lost = error
            if not isinstance(lost, DataEnvGymError):
                lost = ServerError(f"the server died, and bringing it back failed: {error!r}")
                lost.__cause__ = error
            self._errors[self.generation] = lost
            self._give_up(lost)
        finally:
            self.generation += 1
            self.under_way = None


def _in_daemon_thread(function: Callable[[], None]) -> asyncio.Future[None]:
    """Call `function` in a daemon thread; the process does not wait for it at its end."""
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()  # it cannot be cancelled

    def call() -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001  raised again in the loop
            future.set_exception(error)
        else:
            future.set_result(None)

    threading.Thread(
        target=copy_context().run, args=(call,), name="dataenvgym-llm-revival", daemon=True
    ).start()
    return asyncio.wrap_future(future)


def backoff(first: float, tries: int, jitter: random.Random) -> float:
    """Seconds to wait after so many tries: doubling, at most 30, half of it random."""
    return float(min(_LONGEST_PAUSE_S, first * 2 ** (tries - 1)) * jitter.uniform(0.5, 1.0))


# --- the connections to the server ---

CONNECT_S = 30.0
"""Seconds after which a connection attempt is given up."""
# Servers close idle connections (uvicorn after 5 s). Close them first, or a request may hit that.
_KEEP_ALIVE_S = 3.0


class HttpAnswer(NamedTuple):
    """A server's answer; `retry_after` is the number of seconds that it asks to wait."""

    status: int
    body: bytes
    is_json: bool
    retry_after: float | None


class Trouble(NamedTuple):
    """A try without an answer; another try may succeed.

    Attributes:
        reason: of the failure.
        disconnected: whether the connection could not be made or broke, or whether a server that
            can be restarted no longer knows the model.
        retry_after: the seconds that the server asks to wait, or None.
    """

    reason: str
    disconnected: bool = False
    retry_after: float | None = None


class Session:
    """Connects at first use, in the event loop of that use.

    Args:
        url: the server, without "/v1".
        headers: sent with every request, in addition to our own.
        path: where conversations are sent.
    """

    def __init__(self, url: str, headers: Mapping[str, str], path: str) -> None:
        self._url = URL(url)
        self._headers = {
            "Content-Type": "application/json",
            "User-Agent": "dataenvgym",
            **headers,
        }
        self._http: aiohttp.ClientSession | None = None
        self._ask_url = self._at(path)

    @property
    def _connected(self) -> aiohttp.ClientSession:
        """aiohttp's session."""
        if self._http is None:
            self._http = aiohttp.ClientSession(
                # no limit here: the number of workers is the limit, and `request` needs room;
                # no total timeout either: aiohttp's own costs more than a clock for each try
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                read_bufsize=2**18,
            )
        return self._http

    async def ask(self, body: bytes, timeout: float) -> HttpAnswer | Trouble | Failure:
        """Send one request for a reply."""
        return await self._send("POST", self._ask_url, body, timeout, redirects=False)

    async def request(self, method: str, path: str, payload: JsonValue, timeout: float) -> Any:
        """Send one request of any kind; see `ChatClient.request`."""
        url = self._at(path)
        what = f"{method} {without_secrets(str(url))}"
        body = None if payload is None else exact_json.dumps(payload)
        answer = await self._send(method, url, body, timeout, redirects=True)
        if not isinstance(answer, HttpAnswer):
            raise ServerError(f"{what}: {answer.reason}")
        status, said = answer.status, answer.body
        if status >= 400:
            raise ServerError(f"{what}: HTTP {status}: {server_message(said)}", status=status)
        if not answer.is_json:
            return said.decode(errors="replace")
        try:
            return exact_json.loads(said)
        except orjson.JSONDecodeError as error:
            raise ServerError(f"{what}: the answer is not JSON: {error}") from None

    async def _send(
        self, method: str, url: URL, body: bytes | None, timeout: float, redirects: bool
    ) -> HttpAnswer | Trouble | Failure:
        data = body and aiohttp.BytesPayload(body, content_type="application/json")
        try:
            sent = self._connected.request(method, url, data=data, allow_redirects=redirects)
            async with asyncio.timeout(timeout) as clock, sent as response:
                answer = redact_bytes(await response.read())
        except TimeoutError:
            if clock.expired():
                return Trouble(f"no answer within {timeout:g} s")
            return Trouble(f"no connection within {CONNECT_S:g} s")
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, OSError) as error:
            reason = redact(f"no connection: {type(error).__name__}: {error}")
            return Trouble(reason, disconnected=True)
        except aiohttp.ClientError as error:
            return Failure(reason=redact(f"the server's answer is not HTTP: {error}"))
        is_json = response.content_type == "application/json"
        return HttpAnswer(response.status, answer, is_json, _retry_after(response.headers))

    def _at(self, path: str) -> URL:
        """The URL of a path, with the query of the server's URL."""
        path, _, query = path.partition("?")
        whole = self._url.raw_path.rstrip("/") + path
        return self._url.with_path(whole, encoded=True, keep_query=True).extend_query(query)

    async def close(self) -> None:
        """Disconnect."""
        if self._http is not None:
            await self._http.close()


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait from `retry-after-ms`, or from `Retry-After`, which has seconds or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * unit)
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(headers["Retry-After"]).timestamp() - time.time())
    return None
