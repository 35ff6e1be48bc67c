"""The adaptation server: takes requests over HTTP or ZeroMQ, and sends their answers.

    HTTP      POST / with a JSON object; the answer comes when it is there. GET / tells how many
              requests wait. Errors are {"error": TEXT}, with status 400, 401, 500 or 503. A
              connection is for one request, which must arrive within `SLOWEST` seconds.
    ZeroMQ    a JSON object to a ROUTER socket, from a REQ or DEALER socket; needs pyzmq.

`{"cmd": "shutdown"}` ends the server: requests that were accepted are answered before, others are
refused. A signal ends it at once: requests that wait get an error. Other addresses than those of
this machine need a token, sent as "Authorization: Bearer TOKEN" or, over ZeroMQ, as the field
"token".
"""

from __future__ import annotations

import asyncio
import hmac
import importlib.util
import resource
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Literal

import orjson
from aiohttp import web

from dataenvgym import exact_json
from dataenvgym.adaptation.request_queue import MOST_WAITING, RequestQueue
from dataenvgym.adaptation.requests import ignored_fields
from dataenvgym.errors import (
    ConfigurationError,
    DataEnvGymError,
    InvalidInstanceError,
    ServerError,
)

Transport = Literal["http", "zmq"]
LARGEST_REQUEST = 64 * 2**20
"""In bytes."""
SLOWEST = 60.0
"""Seconds within which a request must arrive; the slowest are cut off if there are too many."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_Answer = tuple[HTTPStatus, dict[str, Any]]


class AdaptationServer:
    """Serves the requests of a queue.

    Args:
        transport: "http" or "zmq".
        host, port: the address to listen on; port 0 chooses a free one.
        token: that every request must have; None for a server without tokens.

    Raises:
        ConfigurationError: for a missing package, or an address that others can reach without a
            token.
    """

    def __init__(
        self,
        queue: RequestQueue,
        *,
        transport: Transport = "http",
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
    ) -> None:
        if transport == "zmq" and importlib.util.find_spec("zmq") is None:
            raise ConfigurationError(
                "transport zmq needs the package pyzmq: pip install 'dataenvgym[zmq]'"
            )
        if token is None and not _is_loopback(host):
            raise ConfigurationError(
                f"host is {host!r}, which other machines can reach: give the server a token "
                "(--token-variable NAME, a variable with the token), or leave the host out"
            )
        self._queue = queue
        self._open = {"http": self._http, "zmq": self._zmq}[transport]
        self._host, self._port, self._token = host, port, token
        self._ending: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, on_begin: Callable[[str], object] = lambda url: None) -> int | None:
        """Serve until a shutdown request, `stop`, or a signal in the main thread.

        Args:
            on_begin: is called with the server's address when it listens.

        Returns:
            The number of the signal that ended it; None if none did.

        Raises:
            ConfigurationError: if it cannot listen there.
        """
        return asyncio.run(self._run(on_begin))

    def stop(self) -> None:
        """Make `run` return soon, as a signal does; callable from any thread."""
        if self._loop is not None and self._ending is not None:
            self._queue.cancel()
            with suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._ending.set)

    async def _run(self, on_begin: Callable[[str], object]) -> int | None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        received: list[int] = []

        def interrupt(number: int) -> None:
            received.append(number)
            self.stop()

        is_main = threading.current_thread() is threading.main_thread()
        before = {number: signal.getsignal(number) for number in _ENDING if is_main}
        try:
            for number in before:
                self._loop.add_signal_handler(number, interrupt, number)
            async with self._open(self._host, self._port) as url:
                on_begin(url)
                await self._ending.wait()
                await asyncio.to_thread(self._queue.close)
        finally:
            for number, handler in before.items():
                self._loop.remove_signal_handler(number)
                signal.signal(number, handler)
        return received[0] if received else None

    async def _answer(self, body: bytes, is_known: Callable[[Any], bool]) -> _Answer:
        """Answer one message; `is_known` says whether it may be answered at all."""
        try:
            fields = exact_json.loads(body)
        except orjson.JSONDecodeError as error:
            return HTTPStatus.BAD_REQUEST, {"error": f"the request is not JSON: {error}"}
        if not is_known(fields):
            return HTTPStatus.UNAUTHORIZED, {"error": "the request has not the server's token"}
        if isinstance(fields, dict):
            fields.pop("token", None)
            if "cmd" in fields:
                return self._command(fields["cmd"])
        try:
            answering = await asyncio.to_thread(self._queue.submit, fields)
            # equal requests wait for the same answer, which none of them may cancel
            answer = await asyncio.shield(asyncio.wrap_future(answering))
            return HTTPStatus.OK, {**answer, **ignored_fields(fields)}
        except (ConfigurationError, InvalidInstanceError) as error:
            return HTTPStatus.BAD_REQUEST, {"error": str(error)}
        except ServerError as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)}
        except Exception as error:  # noqa: BLE001  the failure of one request
            kind = "" if isinstance(error, DataEnvGymError) else f"{type(error).__name__}: "
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"{kind}{error}"}

    def _command(self, name: Any) -> _Answer:
        if name != "shutdown":
            known = f"cmd is {name!r:.80}, expected 'shutdown'"
            return HTTPStatus.BAD_REQUEST, {"error": known}
        self._queue.refuse_new()
        assert self._ending is not None
        self._ending.set()
        return HTTPStatus.OK, {"status": "bye"}

    def _has_token(self, given: Any) -> bool:
        if self._token is None:
            return True
        return isinstance(given, str) and hmac.compare_digest(
            given.encode("utf-8", "surrogatepass"), self._token.encode()
        )

    # --- HTTP ---

    @asynccontextmanager
    async def _http(self, host: str, port: int) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0] % 2**32  # no limit is -1
        most = min(files // 4, 2 * MOST_WAITING)
        arrived: set[Any] = set()  # the connections whose request is here

        async def respond(request: web.Request) -> web.Response:
            refusal = self._refusal(request)
            try:
                body = b"" if refusal else await request.read()
            except web.HTTPRequestEntityTooLarge as error:
                text = f"the request has more than {LARGEST_REQUEST} bytes, which is the most"
                refusal = HTTPStatus(error.status), {"error": text}
            arrived.add(request.protocol)
            if refusal or request.method != "POST":
                status, said = refusal or (HTTPStatus.OK, {"waiting": self._queue.n_waiting})
            else:
                status, said = await self._answer(body, lambda fields: True)
            response = web.Response(
                body=exact_json.dumps(said), status=status, content_type="application/json"
            )
            response.force_close()
            return response

        def cut_off(connection: Any) -> None:
            if connection not in arrived:
                connection.force_close()

        def cut_off_slowest() -> None:
            known = runner.server.connections if runner.server else []  # the oldest first
            arrived.intersection_update(known)
            slow = [one for one in known if one not in arrived]
            for one in slow[: max(0, len(known) - most)]:
                one.force_close()

        def connect() -> asyncio.BaseProtocol:
            assert runner.server is not None
            connection = runner.server()
            loop.call_soon(cut_off_slowest)  # several connections may begin at once
            loop.call_later(SLOWEST, cut_off, connection)
            return connection

        app = web.Application(client_max_size=LARGEST_REQUEST)
        app.router.add_post("/", respond)
        app.router.add_get("/", respond)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=5.0)
        await runner.setup()
        try:
            try:
                server = await loop.create_server(connect, host, port)
            except (OSError, OverflowError) as error:
                raise _cannot_listen(host, port, error) from None
            try:
                yield f"http://{_in_url(host)}:{server.sockets[0].getsockname()[1]}"
            finally:
                server.close()
        finally:
            await runner.cleanup()

    def _refusal(self, request: web.Request) -> _Answer | None:
        """Refuse a request without the token, or from a web page with a name for this machine."""
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        if self._token is None and not _is_loopback(request.url.host or ""):
            said = f"the server's name is {request.url.host!r} here, expected that of this machine"
            return HTTPStatus.FORBIDDEN, {"error": said}
        if not self._has_token(given if kind.lower() == "bearer" else None):
            said = "the request has not the server's token: Authorization: Bearer TOKEN"
            return HTTPStatus.UNAUTHORIZED, {"error": said}
        if request.method == "POST" and request.content_type != "application/json":
            # a browser sends other types to any address without asking
            said = f"Content-Type is {request.content_type!r}, expected 'application/json'"
            return HTTPStatus.BAD_REQUEST, {"error": said}
        return None

    # --- ZeroMQ ---

    @asynccontextmanager
    async def _zmq(self, host: str, port: int) -> AsyncIterator[str]:
        import zmq
        import zmq.asyncio

        with zmq.asyncio.Context() as context, context.socket(zmq.ROUTER) as socket:
            socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_REQUEST)
            socket.setsockopt(zmq.LINGER, 1000)  # ms for the last answers
            socket.setsockopt(zmq.IPV6, ":" in host)
            try:
                socket.bind(f"tcp://{_in_url(host)}:{port or '*'}")
            except (zmq.ZMQError, OverflowError) as error:
                raise _cannot_listen(host, port, error) from None
            answering: set[asyncio.Task[None]] = set()

            async def answer(envelope: list[bytes], body: bytes) -> None:
                def is_known(fields: Any) -> bool:
                    return self._has_token(fields.get("token") if type(fields) is dict else None)

                _, said = await self._answer(body, is_known)
                await socket.send_multipart([*envelope, exact_json.dumps(said)])

            async def receive() -> None:
                while True:
                    *envelope, body = await socket.recv_multipart()
                    task = asyncio.create_task(answer(envelope, body))
                    answering.add(task)
                    task.add_done_callback(answering.discard)

            receiving = asyncio.create_task(receive())
            try:
                bound: Any = socket.getsockopt(zmq.LAST_ENDPOINT)
                yield bound.decode().rstrip("\0")
            finally:
                receiving.cancel()
                await asyncio.gather(receiving, *answering, return_exceptions=True)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _cannot_listen(host: str, port: int, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"cannot listen on {host}, port {port}: {error}; choose another port, or 0 for a free one"
    )
