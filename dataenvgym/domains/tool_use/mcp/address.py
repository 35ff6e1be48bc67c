"""The address of an MCP server, and how to connect to it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

from dataenvgym.errors import ConfigurationError
from dataenvgym.secrets import keep_secret, keep_secrets_of, without_secrets


@dataclass(frozen=True)
class McpServer:
    """An MCP server: a command that uses stdin and stdout, or a URL.

    Attributes:
        command: the program and its arguments; each conversation starts its own process.
        url: of a server that uses streamable HTTP.
        variables: names of environment variables to pass to the command. It gets only these, PATH,
            HOME and a few like them. Name a key that it needs here; its value is never written to
            configurations or files.
        api_key_variable: the environment variable with the key for the URL, or None.
        api_key_header: the header for the key; None sends it as a bearer token.
        headers: more headers of each request, each with the name of the environment variable that
            has its value.
        timeout: seconds for opening a session, and for each call.

    Raises:
        ConfigurationError: unless either a command or a URL is given, with options that fit it.
    """

    command: Sequence[str] | None = None
    url: str | None = None
    variables: Sequence[str] = ()
    api_key_variable: str | None = None
    api_key_header: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0

    def __post_init__(self) -> None:
        if isinstance(self.command, str):
            raise ConfigurationError(
                f"command is {self.command!r}, expected a list: [program, argument, ...]"
            )
        if bool(self.command) == bool(self.url):
            found = "both" if self.command else "neither"
            raise ConfigurationError(
                f"an MCP server has a command or a url, and {found} is given: set one of them"
            )
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ConfigurationError(f"url is {self.url!r}, expected http://... or https://...")
        of_other = "variables" if self.url and self.variables else None
        if self.command and (self.headers or self.api_key_variable):
            of_other = "headers" if self.headers else "api_key_variable"
        if of_other:
            raise ConfigurationError(
                f"{of_other} is set, which is for a {'command' if self.url else 'url'}: leave it "
                "out; variables are for a command, headers and keys for a url"
            )
        if not self.timeout > 0:
            raise ConfigurationError(f"timeout is {self.timeout}, expected more than 0 seconds")
        keep_secrets_of(self.url or "")

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
        """The headers of each request.

        Raises:
            ConfigurationError: if a variable is not set.
        """
        headers = {name: _secret(each, "headers") for name, each in self.headers.items()}
        if self.api_key_variable is not None:
            key = _secret(self.api_key_variable, "api_key_variable")
            bearer = {"Authorization": f"Bearer {key}"}
            headers |= bearer if self.api_key_header is None else {self.api_key_header: key}
        return headers


def _secret(variable: str, option: str) -> str:
    if not variable.isidentifier():  # it may be the secret itself
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
    return value


def require_mcp() -> None:
    """Raise ConfigurationError if the package `mcp` is not installed."""
    if find_spec("mcp") is None:
        raise ConfigurationError(
            'this needs the package mcp, which is not installed: pip install "dataenvgym[mcp]"'
        )
