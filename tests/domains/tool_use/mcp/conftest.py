"""A world served over HTTP, a server of the official package, and the protocol spoken by hand."""

import asyncio
import itertools
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dataenvgym.tasks.worlds import Row, State, Table, ToolError, World, check, tool

VERSION = "2025-11-25"
ACCEPTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class Note(Row):
    text: str


class NotesState(State):
    notes: Table[Note] = Table()


class Notes(World[NotesState]):
    """A notebook, with a tool that waits and one that is broken."""

    name = "notes"
    policy = "Keep notes short."

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Semaphore(0)
        self.may_go = threading.Event()
        self.closed = threading.Semaphore(0)

    def initial(self) -> NotesState:
        return NotesState(notes=Table({"first": Note(text="text of the first")}))

    def close(self) -> None:
        self.closed.release()

    @tool
    def read(self, title: str) -> str:
        """Read a note.

        Args:
            title: of the note.
        """
        if title not in self.state.notes:
            raise ToolError(f"there is no note {title}")
        return self.state.notes[title].text

    @tool(writes=True)
    def write(self, title: str, text: str, tags: list[str] | None = None) -> str:
        """Write a note."""
        self.state.notes[title] = Note(text=text)
        return "done"

    @tool
    def wait(self) -> str:
        """Wait until the test says so."""
        self.entered.release()
        self.may_go.wait(30)
        return "waited"

    @tool(writes=True)
    def fall_over(self) -> str:
        """Break."""
        self.state.notes["first"] = Note(text="half written")
        raise RuntimeError(f"inner secret: {self.state!r}")

    @tool(by="user")
    def peek(self) -> str:
        """For the user alone."""
        return "peeked"

    @check
    def has_note(self, title: str) -> bool:
        return title in self.state.notes


class Wire:
    """One session, in JSON-RPC over HTTP by hand."""

    def __init__(self, url: str, session: str | None = None) -> None:
        import httpx2

        self.http = httpx2.Client(timeout=30.0, verify=False)
        self.url = url
        self.session = session
        self._numbers = itertools.count(1)

    def post(self, message: Any, **headers: str) -> Any:
        """The response to any message."""
        own = dict(ACCEPTED)
        if self.session is not None:
            own |= {"mcp-session-id": self.session, "mcp-protocol-version": VERSION}
        content = {"content": message} if isinstance(message, bytes) else {"json": message}
        return self.http.post(self.url, headers={**own, **headers}, **content)

    def ask(self, method: str, parameters: Any = None, **headers: str) -> Any:
        """The answer to a request: {"result": ...} or {"error": ...}."""
        message = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method}
        if parameters is not None:
            message["params"] = parameters
        return self.post(message, **headers).json()

    def open(self) -> Any:
        """Open the session, and say what the response was."""
        client = {"name": "wire", "version": "1"}
        first = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": first}
        response = self.post(message)
        if response.status_code == 200:
            self.session = response.headers["mcp-session-id"]
            self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return response

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """A tool's result, and whether it is marked as failed."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in answer, answer
        (block,) = answer["result"]["content"]
        return block["text"], answer["result"]["isError"]

    def leave_during(self, tool: str, entered: threading.Semaphore) -> None:
        """Call a tool, and hang up once it runs."""
        host, port = self.url.removeprefix("http://").partition("/")[0].split(":")
        call = {"jsonrpc": "2.0", "id": 9999, "method": "tools/call"}
        body = json.dumps({**call, "params": {"name": tool, "arguments": {}}})
        headers = {"Host": f"{host}:{port}", "mcp-session-id": self.session, **ACCEPTED}
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = ["POST /mcp HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", body]
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall("\r\n".join(head).encode())
            assert entered.acquire(timeout=20)

    def end(self) -> int:
        """End the session; the status."""
        headers = {"mcp-session-id": self.session or "", "mcp-protocol-version": VERSION}
        return int(self.http.delete(self.url, headers=headers).status_code)


@pytest.fixture(scope="session")
def notes() -> Notes:
    """The world that is served; its events are those of all sessions."""
    return Notes()


@pytest.fixture(scope="session")
def notes_url(notes: Notes) -> Iterator[str]:
    from dataenvgym.domains.tool_use.mcp.server import served

    with served(notes) as url:
        yield url


@pytest.fixture
def slow_notes() -> Iterator[tuple[Notes, str]]:
    """A world of one test, whose tool `wait` waits for it, and its URL."""
    from dataenvgym.domains.tool_use.mcp.server import served

    world = Notes()
    with served(world) as url:
        yield world, url
        world.may_go.set()


@pytest.fixture
def session(notes_url: str) -> Iterator[Callable[..., Wire]]:
    """Opens sessions by hand, and ends them."""
    opened: list[Wire] = []

    def open_one(url: str | None = None) -> Wire:
        wire = Wire(url or notes_url)
        opened.append(wire)
        assert wire.open().status_code == 200
        return wire

    yield open_one
    for wire in opened:
        if wire.url == notes_url:
            wire.end()
        wire.http.close()


@contextmanager
def running(app: Any) -> Iterator[str]:
    """Run any ASGI application in a thread; gives the URL of its MCP server."""
    import uvicorn

    from dataenvgym.domains.tool_use.mcp.server import listening

    bound = listening("127.0.0.1", 0)
    config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def foreign() -> Any:
    """A server of the official package, with tools as others write them."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Image
    from pydantic import BaseModel

    class Item(BaseModel):
        name: str
        sizes: list[int]

    server = MCPServer("foreign", instructions="Add with care.")

    @server.tool()
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def order(items: list[Item], color: str | None = None) -> str:
        """Order items."""
        return ", ".join(item.name for item in items)

    @server.tool()
    def picture() -> Image:
        """A picture."""
        return Image(data=b"123456", format="png")

    @server.tool()
    def refuse() -> str:
        """Refuse."""
        raise ValueError("not today")

    return server


@pytest.fixture(scope="session")
def foreign_url(foreign: Any) -> Iterator[str]:
    with running(foreign.streamable_http_app()) as url:
        yield url


def in_client(url: Any, use: Callable[[Any], Awaitable[Any]], **options: Any) -> Any:
    """Return `use(client)`, with a client of the official package."""
    from mcp import Client

    async def run() -> Any:
        async with Client(url, **options) as client:
            return await use(client)

    return asyncio.run(run())
