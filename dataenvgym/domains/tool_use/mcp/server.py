"""A world as an MCP server: each session has its tools and its own state.

The server only lists and calls the assistant's tools: no resources, prompts, completions or
logging. So only a tool call can reach a state, and only the state of the caller's own session. A
session begins when a client connects; to start again, connect again.
"""

from __future__ import annotations

import logging
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
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

from dataenvgym import __version__
from dataenvgym.errors import EvaluationError
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
    listed = ListToolsResult(tools=[_tool(world, tool.name) for tool in world.tools()])
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
            {
                "supported": list(HANDSHAKE_PROTOCOL_VERSIONS),
                "requested": ctx.protocol_version,
            },
        )
    return await call_next(ctx)


def _tool(world: World[Any], name: str) -> Tool:
    tool = next(tool for tool in world.tools() if tool.name == name)
    method = world.methods.get(name)
    hints = None if method is None else ToolAnnotations(read_only_hint=not method.writes)
    schema = {"type": "object", **tool.parameters}
    return Tool(
        name=name, description=tool.description or None, input_schema=schema, annotations=hints
    )
