"""Serves a world over stdio, or over streamable HTTP."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dataenvgym.domains.tool_use.mcp.server import server_of
from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.tasks.worlds.world import World

PATH = "/mcp"
MAX_SESSIONS = 4096
IDLE_TIMEOUT = 1800.0
_LARGEST_BODY = 4 * 2**20
_BACKLOG = 4096  # connections that wait to be accepted


def serve_stdio(world: World[Any]) -> None:
    """Serve one session over stdin and stdout, until stdin ends."""
    server = server_of(world, one_session=True)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


class HttpServer:
    """A world at `url`; it accepts connections at once, and answers them while `run` is active.

    Args:
        host, port: the address to listen on; port 0 chooses a free one.
        max_sessions: largest number of open sessions; more are refused (status 503).
        idle_timeout: seconds without a request after which a session ends.

    Raises:
        ConfigurationError: if it cannot listen there, or for an invalid option.
    """

    def __init__(
        self,
        world: World[Any],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        max_sessions: int = MAX_SESSIONS,
        idle_timeout: float = IDLE_TIMEOUT,
    ) -> None:
        check_at_least(1, max_sessions=max_sessions)
        if not 0 < idle_timeout < float("inf"):
            raise ConfigurationError(f"idle_timeout is {idle_timeout}, expected seconds above 0")
        self._socket = listening(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}{PATH}"
        app = server_of(world).streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,  # nothing is sent before the result
            max_request_body_size=_LARGEST_BODY,
            session_idle_timeout=idle_timeout,
            max_sessions=max_sessions,
            host=host,
        )
        _allow_open_files()
        self._server = uvicorn.Server(
            uvicorn.Config(
                _without_streams(app),
                backlog=_BACKLOG,
                log_config=None,
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )

    def run(self) -> None:
        """Serve until `stop`, or a signal in the main thread."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Make `run` return soon; callable from any thread."""
        self._server.should_exit = True


@contextmanager
def served(world: World[Any], **options: Any) -> Iterator[str]:
    """Serve a world in a thread; yields the URL. `options` are those of `HttpServer`."""
    server = HttpServer(world, **options)
    thread = threading.Thread(target=server.run, name="mcp-server", daemon=True)
    thread.start()
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        ConfigurationError: if it cannot.
    """
    # asyncio disables Nagle's delays only for sockets that are declared as TCP
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        bound.close()
        raise ConfigurationError(
            f"cannot listen on {host}, port {port}: {error}; choose another port, or 0 for a free "
            "one"
        ) from None
    return bound


def _without_streams(app: ASGIApp) -> ASGIApp:
    """Refuse GET, as the protocol allows: a world never sends messages on its own.

    So an idle session holds no connection, and ends after its idle time.
    """

    async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            refusal = Response("use POST", 405, headers={"Allow": "POST, DELETE"})
            await refusal(scope, receive, send)
            return
        await app(scope, receive, send)

    return refusing


def _allow_open_files() -> None:
    """Raise this process's limit of open files, and so of connections, as far as allowed."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(ValueError, OSError):  # some systems accept no infinite limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
