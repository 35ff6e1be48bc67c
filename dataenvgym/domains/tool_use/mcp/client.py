"""Sessions with an MCP server, for synchronous callers; the event loop is in a hidden thread."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import cache
from io import StringIO
from typing import IO, Any, Literal, TextIO, TypeVar, cast

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client._transport import TransportStreams
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)
from pydantic_core import to_json

from dataenvgym.domains.tool_use.mcp.world import McpServer
from dataenvgym.errors import DataEnvGymError, EvaluationError, shorten
from dataenvgym.events import redact
from dataenvgym.records import ToolCall
from dataenvgym.tasks.worlds.world import CallResult, limited
from dataenvgym.teachers.loop import LoopThread

T = TypeVar("T")
_MOST_SHOWN = 200
_MARGIN_S = 5.0  # for hangs that the package's own time limit misses
_OTHER_MODE = (UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND)


class Sessions:
    """Opens sessions with one server; they share one thread."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._finalizer: weakref.finalize[..., Sessions] | None = None

    def open(self) -> Session:
        """Open a new session.

        Raises:
            EvaluationError: if the server cannot be reached, or does not answer in time.
            ConfigurationError: if a named environment variable is not set.
        """
        with self._lock:
            if self._loop is None:
                self._loop = LoopThread("dataenvgym-mcp")
                self._finalizer = weakref.finalize(self, self._loop.stop, _nothing)
                self._finalizer.atexit = False  # programs see that their stdin ended
            loop = self._loop
        return Session(self.server, loop)

    def close(self) -> None:
        """End all sessions; a session may be opened again afterwards."""
        with self._lock:
            if self._finalizer is not None:
                self._finalizer()
            self._loop = self._finalizer = None


class Session:
    """One session with a server, until `close`."""

    def __init__(self, server: McpServer, loop: LoopThread) -> None:
        self._server = server
        self._loop = loop
        self._ended = asyncio.Event()
        self._said: IO[str] = StringIO()  # the program's output on stderr
        if server.command:
            self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._last_words = ""
        server.check_variables()
        opened: Future[Client] = Future()
        life = loop.start(self._live, opened)
        with self._failures("does not open a session"):
            try:
                self._client = opened.result(server.timeout + _MARGIN_S)
            except BaseException:
                life.cancel()
                raise

    @property
    def instructions(self) -> str:
        """The server's description of its tools."""
        return redact(self._client.instructions or "")

    def tools(self) -> list[Tool]:
        """All tools, in the server's order; EvaluationError if the server does not list them."""
        with self._failures("does not list its tools"):
            return self._wait(self._list_tools)

    def call(self, call: ToolCall) -> CallResult:
        """Call a tool. An error of the tool or the server about the call is part of the result.

        Raises:
            EvaluationError: if the server fails, or does not answer in time.
        """
        with self._failures(f"fails at {call.name}"):
            try:
                result = self._wait(self._client.call_tool, call.name, dict(call.arguments))
            except MCPError as error:
                if error.code != INVALID_PARAMS:
                    raise
                reason = limited(redact(error.message))
                return CallResult(f"Error: {reason}", reason)
            return read_result(result)

    def close(self) -> None:
        """End the session, without waiting for the server."""
        self._loop.soon(self._ended.set)

    async def _live(self, opened: Future[Client]) -> None:
        """Hold the session open; the task that opened it must also close it."""
        failure = None
        try:
            async with AsyncExitStack() as stack:
                opened.set_result(await self._connected(stack))
                await self._ended.wait()
        except Exception as error:  # noqa: BLE001  once it is open, calls fail and say why
            failure = error
        finally:
            self._listen()
            self._said.close()
            if failure is not None and not opened.done():
                opened.set_exception(failure)

    async def _connected(
        self, stack: AsyncExitStack, mode: Literal["legacy", "auto"] = "legacy"
    ) -> Client:
        """The client, with a session first; then for protocol versions that have none."""
        transport = _transport(self._server, self._said)
        client = Client(transport, mode=mode, read_timeout_seconds=self._server.timeout)
        try:
            return await stack.enter_async_context(client)
        except Exception as error:
            if mode == "auto" or getattr(_cause(error), "code", None) not in _OTHER_MODE:
                raise
        return await self._connected(stack, "auto")

    async def _list_tools(self) -> list[Tool]:
        page = await self._client.list_tools()
        tools, seen = [*page.tools], set[str]()
        while page.next_cursor is not None and page.next_cursor not in seen:
            seen.add(page.next_cursor)
            page = await self._client.list_tools(cursor=page.next_cursor)
            tools += page.tools
        return tools

    def _wait(self, function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        async def run() -> T:
            return await function(*arguments)

        future = self._loop.start(run)
        try:
            return future.result(self._server.timeout + _MARGIN_S)
        except BaseException:
            future.cancel()
            raise

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        """Attribute failures in the block to the server."""
        try:
            yield
        except DataEnvGymError:
            raise
        except (Exception, CancelledError) as error:
            cause = _cause(error)
            reason = str(cause)
            self._listen()
            if isinstance(cause, TimeoutError):
                reason = f"no answer within {self._server.timeout:g} s"
            elif isinstance(cause, CancelledError):
                reason = "the session is closed"
            raise EvaluationError(
                f"the MCP server {self._server.where} {what}: {type(cause).__name__}: "
                f"{shorten(redact(reason), _MOST_SHOWN)}{self._last_words}"
            ) from error

    def _listen(self) -> None:
        """Keep the last line that the program wrote to stderr."""
        with suppress(ValueError):  # closed, and kept before
            self._said.seek(0)
            lines = [line.strip() for line in self._said if line.strip()]
            self._last_words = (
                f" (it said: {shorten(redact(lines[-1]), _MOST_SHOWN)})" if lines else ""
            )


@asynccontextmanager
async def _transport(server: McpServer, said: IO[str]) -> AsyncIterator[TransportStreams]:
    if server.url is not None:
        time_limit = httpx2.Timeout(server.timeout)
        async with (
            httpx2.AsyncClient(
                headers=server.all_headers(), timeout=time_limit, verify=_certificates()
            ) as http,
            streamable_http_client(server.url, http_client=http) as streams,
        ):
            yield streams
        return
    program, *arguments = server.command or ()
    parameters = StdioServerParameters(command=program, args=arguments, env=server.environment())
    async with stdio_client(parameters, errlog=cast(TextIO, said)) as streams:
        yield streams


@cache
def _certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context()  # slow to read, so once


def _cause(error: BaseException) -> BaseException:
    """The first error in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _nothing() -> None:
    """Do nothing: sessions end with the loop."""


def read_result(result: CallToolResult) -> CallResult:
    """The blocks of a result, joined; without blocks, its structured content as JSON.

    It is cut like the results of other worlds.
    """
    text = "\n".join(map(_text, result.content))
    if not text and result.structured_content is not None:
        text = to_json(result.structured_content).decode()
    text = limited(redact(text))
    if not result.is_error:
        return CallResult(text)
    text = text or "Error: the tool failed"
    return CallResult(text, text)


def _text(block: ContentBlock) -> str:
    """A block as text; an image, a sound or a file is represented by its kind."""
    match block:
        case TextContent():
            return block.text
        case ResourceLink():
            return f"{block.name}: {block.uri}"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case EmbeddedResource():
            return f"[{block.resource.mime_type or 'file'} at {block.resource.uri}]"
    return f"[{block.mime_type}, {len(block.data) * 3 // 4} bytes]"
