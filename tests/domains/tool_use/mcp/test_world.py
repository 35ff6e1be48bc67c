"""A world whose tools are those of an MCP server."""

from __future__ import annotations

import math
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("mcp", reason="needs the extra [mcp]")

from dataenvgym.domains.tool_use.mcp import McpServer, McpWorld
from dataenvgym.domains.tool_use.mcp.server import served
from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.records import ToolCall
from dataenvgym.tasks.worlds import check, tool
from tests.domains.tool_use.mcp.conftest import in_client

READ = ToolCall(name="read", arguments={"title": "first"})
WRITE = ToolCall(name="write", arguments={"title": "first", "text": "changed"})


@pytest.fixture(scope="module")
def world(notes_url):
    made = McpWorld(McpServer(url=notes_url))
    yield made
    made.close()


@pytest.fixture
def conversation(world):
    """Begins conversations in the world, and ends them."""
    begun = []

    def begin(base=world):
        begun.append(base.at(base.state.fork()))
        return begun[-1]

    yield begin
    for each in begun:
        each.close()


@pytest.mark.parametrize(
    ("listed", "complaint"),
    [
        ({"name": ""}, "name"),
        ({"input_schema": {"required": [1]}}, "required.0 is 1"),
        ({"input_schema": {"properties": None}}, "properties"),
        ({"input_schema": {"maximum": math.inf}}, "maximum"),
    ],
)
def test_a_malformed_tool_of_a_server_is_refused(notes_url, monkeypatch, listed, complaint):
    import mcp_types as types

    from dataenvgym.domains.tool_use.mcp.client import Session

    odd = types.Tool(**({"name": "odd", "input_schema": {"type": "object"}} | listed))
    monkeypatch.setattr(Session, "tools", lambda session: [odd])  # its package lists none of them
    with pytest.raises(ConfigurationError) as caught:
        McpWorld(McpServer(url=notes_url))
    assert complaint in str(caught.value)
    assert notes_url in str(caught.value)


def test_tools_of_other_servers_are_taken_as_they_are_and_their_calls_return_text(
    foreign_url, conversation
):
    async def listed(client):
        return {t.name: t.input_schema for t in (await client.list_tools()).tools}

    with closing(McpWorld(McpServer(url=foreign_url))) as base:
        schemas = in_client(foreign_url, listed)
        assert "$defs" in schemas["order"]
        assert {tool.name: tool.parameters for tool in base.tools()} == schemas
        assert (base.policy, base.tools("user")) == ("Add with care.", ())
        world = conversation(base)

        def call(name, **arguments):
            return world.call(ToolCall(name=name, arguments=arguments))

        for long in (2, 2**70, -(10**300)):  # exact
            assert call("add", a=long, b=1).content == str(long + 1)
        assert call("order", items=[{"name": "nail", "sizes": [1, 2]}]).content == "nail"
        assert call("picture").content == "[image/png, 6 bytes]"
        refused = call("refuse")
        assert refused.content == refused.error
        assert "refuse" in refused.error
        assert call("add", a="two").error  # values are for the server to check


def test_a_session_is_opened_by_the_first_call_and_ended_with_the_conversation(
    slow_notes, conversation
):
    notes, url = slow_notes
    base = McpWorld(McpServer(url=url))
    begun = conversation(base)
    assert begun._session is None
    begun.call(READ)
    begun.close()
    assert notes.closed.acquire(timeout=20)
    assert begun.call(READ).error is None  # a new one
    base.close()


def test_names_of_arguments_are_checked_before_the_server_is_asked(conversation):
    world = conversation()
    for arguments, said in (
        ({}, "argument 'title' is missing"),
        ({"title": "first", "x": 1}, "there is no argument 'x'; the arguments are: title"),
    ):
        result = world.call(ToolCall(name="read", arguments=arguments))
        assert result.error == said
        assert result.content == f"Error: read: {said}"
    unknown = world.call(ToolCall(name="raed")).error
    assert unknown == "there is no tool 'raed'; the tools are: read, write, wait, fall_over"
    assert world._session is None


def test_a_server_that_went_away_is_the_server_s_fault(notes, conversation):
    with served(notes) as url:
        base = McpWorld(McpServer(url=url, timeout=5.0))
        world = conversation(base)
        assert world.call(READ).error is None
    for each in (world, conversation(base)):
        with pytest.raises(EvaluationError, match=f"the MCP server {url}"):
            each.call(READ)
    base.close()


def test_a_call_that_takes_too_long_is_the_server_s_fault(slow_notes, conversation):
    _, url = slow_notes
    base = McpWorld(McpServer(url=url, timeout=1.0))
    with pytest.raises(EvaluationError, match=r"fails at wait.*timed out"):
        conversation(base).call(ToolCall(name="wait"))
    base.close()


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (McpServer(url="http://127.0.0.1:1/mcp"), "127.0.0.1:1/mcp does not open a session"),
        (McpServer(command=["no-such-program"]), "no-such-program"),
        (
            McpServer(command=[sys.executable, "-c", "import sys; sys.exit('no key is set')"]),
            "it said: no key is set",
        ),
        (McpServer(command=[sys.executable, "-c", "print('hello')"]), "does not open a session"),
    ],
    ids=range(4),
)
def test_a_server_that_cannot_be_reached_is_refused_with_the_reason(server, said):
    with pytest.raises(ConfigurationError, match=said):
        McpWorld(server)


def test_the_key_is_sent_and_never_shown(monkeypatch):
    monkeypatch.setenv("MCP_KEY", "key-9876-of-a-server")
    seen = []

    class Locked(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.headers["Authorization"])
            self.send_response(401)
            self.end_headers()
            self.wfile.write(f"bad key {self.headers['Authorization']}".encode())

        def log_message(self, *arguments):
            pass

    with HTTPServer(("127.0.0.1", 0), Locked) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        with pytest.raises(ConfigurationError) as refused:
            McpWorld(McpServer(url=url, api_key_variable="MCP_KEY"))
        server.shutdown()
    assert seen[0] == "Bearer key-9876-of-a-server"
    assert "key-9876" not in str(refused.value)


class Guarded(McpWorld):
    """Tools and checks of its own beside those of the server."""

    @tool
    def shout(self, text: str) -> str:
        """Shout."""
        return text.upper()

    @check
    def first_is(self, text: str) -> bool:
        return self.call(READ).content == text


def test_a_subclass_adds_tools_and_checks_that_ask_the_server(notes_url, conversation):
    base = Guarded(McpServer(url=notes_url))
    world = conversation(base)
    assert [tool.name for tool in world.tools()][:2] == ["shout", "read"]
    assert world.call(ToolCall(name="shout", arguments={"text": "a"})).content == "A"
    world.call(WRITE)
    assert world.holds("first_is", {"text": "changed"})
    assert not world.holds("first_is", {"text": "text of the first"})
    base.close()


@pytest.mark.slow
def test_over_stdio_each_conversation_has_a_process_of_its_own(conversation):
    command = [sys.executable, "-m", "dataenvgym.cli.main", "serve-world", "shop"]
    base = McpWorld(McpServer(command=command))
    cancel = ToolCall(name="cancel_order", arguments={"order_id": "order_1"})
    one, other = conversation(base), conversation(base)
    assert one.call(cancel).error is None
    assert one.call(cancel).error
    assert other.call(cancel).error is None
    base.close()
