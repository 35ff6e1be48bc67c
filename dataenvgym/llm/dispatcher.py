"""The queue of a chat client and the workers that empty it, in one event loop.

A call waits in a plain queue, which costs almost nothing. At most `concurrency` workers, which are
tasks, take calls from it. A worker stays with a call until it is done, with all tries and pauses.
New workers are created only when all others are busy.

Callers wait for answers in other threads, and each switch between threads costs about as much as a
request. So threads synchronize once in each turn of the loop: all answers of the turn are handed
out together, and all new calls begin together.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from dataenvgym.errors import DataEnvGymError, ServerError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.llm.budget import Price, cost_of
from dataenvgym.llm.loop import LoopThread
from dataenvgym.llm.outages import Revival, Scout, Trouble, backoff, is_transient, refuses_all
from dataenvgym.llm.payloads import OF_ONE, RequestForm, chat_payload, parse_reply, server_message
from dataenvgym.llm.session import HttpAnswer, Session
from dataenvgym.records import Conversation
from dataenvgym.secrets import without_secrets

_CLOSED = Failure(reason="the client was closed before an answer came", outage=True)
_MOST_DEATHS = 5


@dataclass(frozen=True)
class Options:
    """Options of a dispatcher; see `ChatClient`. `url` ends before "/v1"."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    form: RequestForm
    concurrency: int
    timeout: float
    retries: int
    on_disconnect: Callable[[], None] | None
    scout: bool
    first_backoff: float
    jitter: random.Random
    price: Price | None = None


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
        self.worker: asyncio.Task[None] | None = None
        self.context = copy_context()
        self._hang_up = hang_up

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._hang_up(self)
        return cancelled

    def settle(self, outcome: Reply | Failure | BaseException) -> None:
        """Give the outcome to the waiting caller; ignored if the call was cancelled."""
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.set_exception(outcome)
            else:
                self.set_result(outcome)


class Dispatcher:
    """Sends calls to one server; `put`, `request` and `close` may come from any thread."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._waiting: deque[Call] = deque()
        self._workers: list[asyncio.Task[None]] = []
        self._idle: list[asyncio.Future[None]] = []
        self._outcomes: list[tuple[Call, Reply | Failure | DataEnvGymError]] = []
        self._woken = False
        self._closed = False
        self._has_answered = False
        self._scout = Scout(options.scout, self._follow)
        self._session = Session(options.url, options.headers, options.form.path)
        self._revival = (
            None
            if options.on_disconnect is None
            else Revival(options.on_disconnect, self._fail_waiting)
        )
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
        while True:
            try:
                call = self._waiting.popleft()
            except IndexError:
                return
            call.settle(outcome)

    def _hang_up(self, call: Call) -> None:
        self._loop.soon(lambda: call.worker and call.worker.cancel())

    # --- in the loop ---

    def _wake(self) -> None:
        """Start workers, once each turn of the loop until no new calls come."""
        if not self._wanted():
            self._woken = False
            if not self._wanted():  # else it was put just now, by a thread that saw us awake
                return
            self._woken = True
        for _ in range(self._wanted()):
            if self._idle:
                self._idle.pop().set_result(None)
            else:
                self._workers.append(asyncio.create_task(self._work(), context=Context()))
        asyncio.get_running_loop().call_soon(self._wake)

    def _wanted(self) -> int:
        n_busy = len(self._workers) - len(self._idle)
        most = 1 if self._scout.is_ahead else self._options.concurrency
        return max(0, min(len(self._waiting), most - n_busy))

    def _follow(self) -> None:
        if not self._woken:
            self._woken = True
            self._wake()

    async def _work(self) -> None:
        worker = asyncio.current_task()
        assert worker is not None
        while True:
            try:
                call = self._waiting.popleft()
            except IndexError:
                self._idle.append(idle := asyncio.get_running_loop().create_future())
                await idle
                continue
            if not call.cancelled():
                await self._attend(call, worker)
            del call  # its callbacks may refer to the client, which refers to all of this

    async def _attend(self, call: Call, worker: asyncio.Task[None]) -> None:
        call.worker = worker
        # workers serve several episodes; secrets and warnings belong to the one that asks
        entered = [variable.set(value) for variable, value in call.context.items()]
        try:
            begun = time.monotonic()
            outcome = await self._see_through(call)
            if isinstance(outcome, Reply):
                tokens = outcome.prompt_tokens, outcome.completion_tokens
                took = {
                    "seconds": time.monotonic() - begun,
                    "cost": cost_of(self._options.price, *tokens),
                }
                outcome = outcome.model_copy(update=took)
            if not self._outcomes:
                asyncio.get_running_loop().call_soon(self._settle)
            self._outcomes.append((call, outcome))
        except asyncio.CancelledError:
            # cancelling the call and closing may arrive as one cancellation
            if self._closed or not call.cancelled():
                call.settle(_CLOSED)
                raise
            worker.uncancel()
        except Exception as error:  # noqa: BLE001  the call that failed carries the error
            call.settle(error)
        finally:
            call.worker = None
            for token in entered:
                token.var.reset(token)

    def _settle(self) -> None:
        outcomes, self._outcomes = self._outcomes, []
        for call, outcome in outcomes:
            call.settle(outcome)

    async def _see_through(self, call: Call) -> Reply | Failure | DataEnvGymError:
        """Try until there is an answer or a permanent failure."""
        options, revival = self._options, self._revival
        self._scout.set_out()
        body = chat_payload(call.conversation, call.sampling, model=call.model, form=options.form)
        tries = deaths = 0
        while True:
            generation = 0
            if revival is not None:
                generation = revival.generation
                if revival.under_way is not None:
                    if error := await revival.after(generation):
                        return error
                    continue
            answer = await self._try(body)
            if isinstance(answer, ServerError):
                self._scout.is_refused()
                self._fail_waiting(answer)
                return answer
            self._scout.is_answered()
            if not isinstance(answer, Trouble):
                return answer
            if answer.disconnected and revival is not None:
                deaths += 1
                if deaths >= _MOST_DEATHS:
                    reason = f"the server went away {deaths} times under this request"
                    reason = f"{reason}, the last time: {answer.reason}"
                    return Failure(reason=reason, outage=True)
                if error := await revival.after(generation):
                    return error
                continue
            tries += 1
            if tries > options.retries:
                reason = f"gave up after {tries} tries, the last: {answer.reason}"
                return Failure(reason=reason, outage=True)
            pause = answer.retry_after
            if pause is None:
                pause = backoff(options.first_backoff, tries, options.jitter)
            if pause > options.timeout:
                return Failure(
                    reason=f"{answer.reason} (the server asks to wait {pause:.0f} s, longer than "
                    f"the timeout of {options.timeout:g} s)",
                    outage=True,
                )
            await asyncio.sleep(pause)

    async def _try(self, body: bytes) -> Reply | Failure | Trouble | ServerError:
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
        if is_transient(status):
            return Trouble(reason, retry_after=answer.retry_after)
        if status == 404 and self._revival is not None:
            return Trouble(reason, disconnected=True)  # restarted, it has forgotten the model
        if refuses_all(status, has_answered=self._has_answered):
            to_check = (
                "the model's name and base_url"
                if status == 404
                else "the key in the environment variable that api_key_variable names"
            )
            url = without_secrets(self._options.url)
            return ServerError(
                f"the server at {url} refuses: {reason}. Check {to_check}", status=status
            )
        return Failure(reason=reason)

    async def _finish(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._settle()
        await self._session.close()
