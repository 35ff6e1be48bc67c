"""An MCP server, and a world whose tools are those of the server."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Self

from pydantic import BaseModel, PositiveFloat, ValidationError

from dataenvgym.errors import ConfigurationError, DataEnvGymError, first_fault, shorten
from dataenvgym.events import checked_key, keep_key, keep_secret, keep_secrets_of, without_secrets
from dataenvgym.records import Tool, ToolCall
from dataenvgym.tasks.worlds.state import State
from dataenvgym.tasks.worlds.world import CallResult, Seat, World


@dataclass(frozen=True)
class McpServer:
    """An MCP server: a command that uses stdin and stdout, or a URL.

    Attributes:
        command: the program and its arguments; each conversation starts its own process.
        url: of a server that uses streamable HTTP.
        variables: names of environment variables to pass to the command. It gets only these, PATH,
            HOME and a few like them. Name a key that it needs here; its value is never written to
            configurations or files.
        api_key_variable: the environment variable with the key for the URL, or None; it is sent as
            a bearer token.
        headers: more headers of each request, each with the name of the environment variable that
            has its value.
        timeout: seconds for opening a session, and for each call.

    Raises:
        ConfigurationError: unless either a command or a URL is given.
    """

    command: Sequence[str] | None = None
    url: str | None = None
    variables: Sequence[str] = ()
    api_key_variable: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: PositiveFloat = 60.0

    def __post_init__(self) -> None:
        if isinstance(self.command, str) or bool(self.command) == bool(self.url):
            raise ConfigurationError(
                f"command is {self.command!r} and url is {self.url!r}, expected one of them; a "
                "command is a list: [program, argument, ...]"
            )
        keep_secrets_of(self.url or "")
        for name in (*self.variables, *self.headers.values()):
            keep_key(name)

    def check_variables(self) -> None:
        """Raise ConfigurationError if a named environment variable is not set."""
        self.environment()
        self.all_headers()

    @property
    def where(self) -> str:
        """The URL or the program, for messages."""
        return str(without_secrets(self.url or (self.command or [""])[0]))

    def environment(self) -> dict[str, str]:
        """The variables for the command, in addition to the usual ones.

        Raises:
            ConfigurationError: if one is not set.
        """
        return {name: _secret(name, "variables") for name in self.variables}

    def all_headers(self) -> dict[str, str]:
        """The headers of each request; ConfigurationError if a variable is not set."""
        headers = {name: _secret(each, "headers") for name, each in self.headers.items()}
        if self.api_key_variable is not None:
            key = _secret(self.api_key_variable, "api_key_variable")
            headers["Authorization"] = f"Bearer {key}"
        return headers


def _secret(variable: str, option: str) -> str:
    if keep_key(variable):
        raise ConfigurationError(
            f"{option} of the MCP server has a text that is not the name of an environment "
            "variable: put the value into a variable, and name that"
        )
    if not (value := os.environ.get(variable)):
        raise ConfigurationError(
            f"the environment variable {variable}, which {option} of the MCP server names, is not "
            "set: set it, or leave it out"
        )
    keep_secret(value)
    return value if option == "variables" else checked_key(value, variable)


def require_mcp() -> None:
    """Raise ConfigurationError if the package `mcp` is not installed."""
    if find_spec("mcp") is None:
        raise ConfigurationError(
            'this needs the package mcp, which is not installed: pip install "dataenvgym[mcp]"'
        )


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
            with closing(self._sessions.open()) as session:
                self.policy = session.instructions
                self._tools = {each.name: _read_tool(each, server) for each in session.tools()}
        except DataEnvGymError as error:
            self._sessions.close()
            raise ConfigurationError(str(error)) from error

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
        if wrong := _argument_error(tool.parameters, call.arguments):
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


class _Named(BaseModel):
    """What a schema of arguments names."""

    required: list[str] = []
    properties: dict[str, Any] = {}


def _read_tool(tool: Any, server: McpServer) -> Tool:
    schema = tool.input_schema
    try:
        _Named.model_validate(schema)
        return Tool(name=tool.name, description=tool.description or "", parameters=schema)
    except ValidationError as error:
        raise ConfigurationError(
            f"the MCP server {server.where} lists a tool {tool.name!r}: {first_fault(error)}"
        ) from None


def _argument_error(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
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
