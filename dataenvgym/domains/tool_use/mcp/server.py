"""A world as an MCP server: each session has its tools and its own state.

The server only lists and calls the assistant's tools: no resources, prompts, completions or
logging. So only a tool call can reach a state, and only the state of the caller's own session. A
session begins when a client connects; to start again, connect again.
"""

from __future__ import annotations

import logging
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dataenvgym import __version__
from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.records import Tool as OurTool
from dataenvgym.records import ToolCall
from dataenvgym.tasks.worlds.world import World

MOST_WAITING = 64
"""Largest number of waiting calls of one session; they run one after the other."""

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]


def server_of(world: World[Any], *, one_session: bool = False) -> Server[Any]:
    """An MCP server with the world's tools; each session begins in the world's state.

    Args:
        one_session: all requests belong to one session, as over stdio. Otherwise, requests of
            protocol versions without sessions are refused; clients then call `initialize`.
    """
    listed = ListToolsResult(tools=[_tool(world, tool) for tool in world.tools()])
    only = _Session(world) if one_session else None

    async def list_tools(
        context: _Context, parameters: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return listed

    async def call_tool(context: _Context, parameters: CallToolRequestParams) -> CallToolResult:
        if not parameters.name:
            raise MCPError(INVALID_PARAMS, "the tool's name is empty, expected one of tools/list")
        session = only or _session_of(context, world)
        return await session.call(
            ToolCall(name=parameters.name, arguments=parameters.arguments or {})
        )

    server: Server[Any] = Server(
        world.name,
        version=__version__,
        instructions=world.policy or None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    if not one_session:
        server.middleware.insert(0, _refuse_without_session)
    return server


class _Session:
    """The world of one session."""

    def __init__(self, world: World[Any]) -> None:
        self._world = world.at(world.state.fork())
        self._turn = anyio.Lock()
        self._waiting = 0

    async def call(self, call: ToolCall) -> CallToolResult:
        """Run the call after those before it. It completes even if the client leaves meanwhile."""
        if self._waiting >= MOST_WAITING:
            raise MCPError(
                INVALID_REQUEST,
                f"{MOST_WAITING} calls of this session are waiting, which is the most: wait for "
                "their results",
            )
        self._waiting += 1
        try:
            async with self._turn:
                result = await anyio.to_thread.run_sync(self._world.call, call)
        except EvaluationError as error:
            _log.warning("%s", error)
            raise MCPError(
                INTERNAL_ERROR, f"tool {call.name} failed; that is not a fault of the call"
            ) from None
        finally:
            self._waiting -= 1
        content = TextContent(type="text", text=result.content)
        return CallToolResult(content=[content], is_error=result.error is not None)

    def close(self) -> None:
        self._world.close()


def _session_of(context: _Context, world: World[Any]) -> _Session:
    # The package keeps a dict for each connection, and ends the entries of its stack with the
    # connection. In version 2.3, handlers can reach them only in this way.
    connection = context.session._connection
    if "session" not in connection.state:
        session = connection.state["session"] = _Session(world)
        connection.exit_stack.callback(session.close)
    kept: _Session = connection.state["session"]
    return kept


async def _refuse_without_session(ctx: _Context, call_next: CallNext) -> HandlerResult:
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise MCPError(
            UNSUPPORTED_PROTOCOL_VERSION,
            f"this server keeps a state for each session, which version "
            f"{ctx.protocol_version} of the protocol does not have: open one with `initialize`",
            {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": ctx.protocol_version},
        )
    return await call_next(ctx)


def _tool(world: World[Any], tool: OurTool) -> Tool:
    method = world.methods.get(tool.name)
    hints = None if method is None else ToolAnnotations(read_only_hint=not method.writes)
    schema = {"type": "object", **tool.parameters}
    return Tool(
        name=tool.name, description=tool.description or None, input_schema=schema, annotations=hints
    )


# --- over stdio or HTTP ---------------------------------------------------------------------------


PATH = "/mcp"
MAX_SESSIONS = 4096
IDLE_TIMEOUT = 1800.0
_LARGEST_BODY = 4 * 2**20
_BACKLOG = 4096  # connections that wait to be accepted
_KEEP_ALIVE = 75  # seconds; a request that arrives while its idle connection is closed is lost


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
        ConfigurationError: if it cannot listen there.
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
                timeout_keep_alive=_KEEP_ALIVE,
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
    """A socket that listens there; ConfigurationError if it cannot."""
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
