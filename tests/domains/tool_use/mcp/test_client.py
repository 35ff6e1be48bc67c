"""Sessions with an MCP server, for synchronous callers."""

import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

pytest.importorskip("mcp", reason="needs the extra [mcp]")

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from dataenvgym.domains.tool_use.mcp import McpServer, client
from dataenvgym.domains.tool_use.mcp.client import Sessions
from dataenvgym.errors import EvaluationError
from dataenvgym.records import ToolCall
from tests.domains.tool_use.mcp.conftest import running

READ = ToolCall(name="read", arguments={"title": "first"})
PAGES = {None: ("a", "1"), "1": ("b", "2"), "2": ("c", None)}


def paged(pages, *, modern_only=False):
    """A server that lists one tool a page, and says the name of a tool that is called."""

    async def list_tools(context, parameters):
        name, following = pages[parameters.cursor if parameters else None]
        tool = types.Tool(name=name, input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool], next_cursor=following)

    async def call_tool(context, parameters):
        return types.CallToolResult(content=[types.TextContent(type="text", text=parameters.name)])

    async def refuse_handshake(ctx, call_next):
        if ctx.method == "initialize":
            data = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
            raise MCPError(types.UNSUPPORTED_PROTOCOL_VERSION, "no handshake", data)
        return await call_next(ctx)

    server = Server("paged", on_list_tools=list_tools, on_call_tool=call_tool)
    if modern_only:
        server.middleware.insert(0, refuse_handshake)
    return server.streamable_http_app()


def threads():
    return {thread for thread in threading.enumerate() if thread.name == "dataenvgym-mcp"}


@pytest.fixture
def sessions_with():
    """Opens sessions with a URL, and ends them."""
    made = []

    def make(url):
        made.append(Sessions(McpServer(url=url, timeout=10.0)))
        return made[-1]

    yield make
    for sessions in made:
        sessions.close()


def test_certificates_are_read_once_for_all_sessions(notes_url, sessions_with, monkeypatch):
    read, made = [], ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda *a, **k: read.append(1) or made())
    client._certificates.cache_clear()
    sessions = sessions_with(notes_url)
    for _ in range(2):
        assert sessions.open().call(READ).error is None
    assert len(read) == 1


@pytest.mark.parametrize(
    ("pages", "names"), [(PAGES, "abc"), ({None: ("a", "1"), "1": ("b", "1")}, "ab")]
)
def test_all_pages_of_a_listing_are_read_and_one_that_goes_in_circles_ends(
    sessions_with, pages, names
):
    with running(paged(pages)) as url, closing(sessions_with(url)) as sessions:
        assert [tool.name for tool in sessions.open().tools()] == [*names]


def test_a_server_that_knows_no_sessions_is_asked_without(sessions_with):
    with running(paged(PAGES, modern_only=True)) as url:
        session = sessions_with(url).open()
        assert [tool.name for tool in session.tools()] == ["a", "b", "c"]
        assert session.call(ToolCall(name="b")).content == "b"


def test_sessions_are_used_from_many_threads_and_share_one(notes_url, sessions_with):
    before = threads()
    sessions = sessions_with(notes_url)

    def talk(number):
        session = sessions.open()
        write = {"title": "first", "text": str(number)}
        assert session.call(ToolCall(name="write", arguments=write)).content == "done"
        said = session.call(READ).content
        session.close()
        return said

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(talk, range(24))) == [str(n) for n in range(24)]
    assert len(threads() - before) == 1


def test_a_closed_session_raises_and_another_can_be_opened(notes_url, sessions_with):
    sessions = sessions_with(notes_url)
    session = sessions.open()
    sessions.close()
    with pytest.raises(EvaluationError, match="the session is closed"):
        session.call(READ)
    assert sessions.open().call(READ).error is None


def test_forgotten_sessions_end_their_thread(notes_url):
    before = threads()
    sessions = Sessions(McpServer(url=notes_url))
    sessions.open()
    (thread,) = threads() - before
    del sessions
    thread.join(20)
    assert not thread.is_alive()
