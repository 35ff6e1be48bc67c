"""A world whose tools are those of an MCP server."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Self

from dataenvgym.domains.tool_use.mcp.address import McpServer, require_mcp
from dataenvgym.errors import ConfigurationError, EvaluationError, shorten
from dataenvgym.records import Tool, ToolCall
from dataenvgym.tasks.worlds.state import State
from dataenvgym.tasks.worlds.world import CallResult, Seat, World

_OPEN = ("additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref")


class McpWorld(World[State]):
    """The tools of a server; the first call of a conversation opens a session for it.

    The state behind the tools is unknown here, so the basis of a problem cannot contain `state`. A
    subclass may add tools and checks to the server's; a check can call tools.

    Args:
        server: asked once for its tools, and for its instructions, which become the policy.
        name: of the world.

    Raises:
        ConfigurationError: if the package mcp is not installed, the server cannot be reached, or
            it lists a tool without a name or with a malformed schema.
    """

    shows_state = False

    def __init__(self, server: McpServer, name: str = "mcp") -> None:
        require_mcp()
        from dataenvgym.domains.tool_use.mcp.client import Session, Sessions

        self.name = name
        super().__init__()
        self._sessions = Sessions(server)
        self._session: Session | None = None
        self._is_first = True
        try:
            session = self._sessions.open()
            try:
                listed = session.tools()
                self.policy = session.instructions
            finally:
                session.close()
        except EvaluationError as error:
            self._sessions.close()
            raise ConfigurationError(str(error)) from error
        try:
            self._tools = {tool.name: tool for tool in map(_read_tool, listed)}
        except ValueError as error:
            self._sessions.close()
            raise ConfigurationError(
                f"the MCP server {server.where} lists {error}: correct it there"
            ) from None

    def initial(self) -> State:
        return State()

    def at(self, state: State) -> Self:
        world = super().at(state)
        world._session = None
        world._is_first = False
        return world

    def tools(self, by: Seat = "assistant") -> tuple[Tool, ...]:
        own = super().tools(by)
        theirs = (tool for name, tool in self._tools.items() if name not in self.methods)
        return (*own, *theirs) if by == "assistant" else own

    def call(self, call: ToolCall, by: Seat = "assistant") -> CallResult:
        """Run one call on the server.

        Raises:
            EvaluationError: if the server fails, or does not answer in time.
        """
        tool = self._tools.get(call.name)
        if tool is None or by != "assistant" or call.name in self.methods:
            return super().call(call, by)
        if wrong := _complaint(tool.parameters, call.arguments):
            return CallResult(f"Error: {call.name}: {wrong}", wrong)
        if self._session is None:
            self._session = self._sessions.open()
            weakref.finalize(self, self._session.close)
        return self._session.call(call)

    def close(self) -> None:
        """End the conversation's session; on the world that was made first, end all sessions."""
        if self._session is not None:
            self._session.close()
            self._session = None
        if self._is_first:
            self._sessions.close()


def _read_tool(tool: Any) -> Tool:
    schema = tool.input_schema
    required, properties = schema.get("required", []), schema.get("properties", {})
    if not tool.name:
        raise ValueError("a tool whose name is empty")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise ValueError(f"tool {tool.name!r} with 'required': {required!r}, expected names")
    if not isinstance(properties, Mapping):
        raise ValueError(
            f"tool {tool.name!r} with 'properties': {properties!r}, expected an object"
        )
    return Tool(name=tool.name, description=tool.description or "", parameters=schema)


def _complaint(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """The error in the names of the arguments; the server checks their values."""
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            return f"argument {name!r} is missing"
    if any(schema.get(key) for key in _OPEN):
        return None
    for name in arguments:
        if name not in properties:
            known = ", ".join(properties) or "none"
            return f"there is no argument {shorten(name, 100)!r}; the arguments are: {known}"
    return None
