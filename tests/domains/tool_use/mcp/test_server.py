"""A world as an MCP server: actions of a client, and isolation."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice

import pytest

pytest.importorskip("mcp", reason="needs the extra [mcp]")

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.mcp.server import MOST_WAITING, served, server_of
from dataenvgym.records import TaskInstance
from tests.domains.tool_use.mcp.conftest import Wire, in_client

SERVED = {"read", "write", "wait", "fall_over"}
NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST, INTERNAL = -32601, -32602, -32600, -32603
UNSUPPORTED = -32022


def test_tools_are_listed_with_their_schemas_and_the_policy_is_the_instructions(notes, notes_url):
    async def look(client):
        return client.instructions, (await client.list_tools()).tools

    instructions, tools = in_client(notes_url, look)
    assert instructions == "Keep notes short."
    assert [tool.name for tool in tools] == [tool.name for tool in notes.tools()]
    for listed, own in zip(tools, notes.tools(), strict=True):
        assert listed.input_schema == own.parameters | {"type": "object"}
        assert listed.description == own.description
        assert listed.annotations.read_only_hint is (not notes.methods[own.name].writes)


def test_a_refused_call_is_a_tool_error_with_its_message(session):
    wire = session()
    assert wire.call("read", title="x") == ("Error: there is no note x", True)
    assert wire.call("read") == ("Error: read: argument 'title' is missing", True)
    assert "there is no argument 'session'" in wire.call("read", title="first", session=1)[0]
    assert wire.call("read", title=5)[1]
    assert wire.call("nothing")[1]
    nameless = wire.ask("tools/call", {"name": "", "arguments": {}})
    assert "name is empty" in nameless["error"]["message"]


def test_broken_tool_code_is_an_error_of_the_server_that_shows_nothing(session, caplog):
    wire = session()
    with caplog.at_level(logging.WARNING, "dataenvgym"):
        answer = wire.ask("tools/call", {"name": "fall_over", "arguments": {}})
    assert answer["error"]["code"] == INTERNAL
    assert "secret" not in str(answer)
    (line,) = caplog.text.splitlines()  # the log of the server has the reason
    assert "inner secret" in line
    assert "(conftest.py:" in line
    assert wire.call("read", title="first") == ("text of the first", False)  # and nothing changed


OTHER_METHODS = """
resources/list resources/templates/list resources/read resources/subscribe prompts/list prompts/get
completion/complete logging/setLevel tasks/list tasks/get tasks/result subscriptions/listen
server/discover sampling/createMessage roots/list elicitation/create reset step initial state
session/list sessions/list dataenvgym/reset tools/call/initial tools/state __init__
"""
PARAMETERS = (
    None,
    {},
    {"uri": "file:///etc/passwd"},
    {"name": "state"},
    {"ref": {"type": "ref/prompt", "name": "read"}, "argument": {"name": "title", "value": "f"}},
    {"level": "debug"},
    {"taskId": "1"},
)


def test_nothing_but_a_session_s_own_tools_can_be_reached(session, notes):
    """The probe: all that the protocol offers, and names of all that the world has."""
    secret, gold = "written-by-another-session", "what-the-gold-call-writes"
    problem = TaskInstance(
        id="p",
        task="t",
        instruction="?",
        data={
            "world": "notes",
            "state": {"notes": {"gold-1": {"text": "set by the problem"}}},
            "gold": [{"name": "write", "arguments": {"title": "gold-2", "text": gold}}],
            "basis": ["state", "assertions", "said"],
            "assertions": [{"check": "has_note", "arguments": {"title": "gold-2"}}],
            "said": ["what-has-to-be-said"],
        },
    )
    prepared = ToolUseDomain(notes).prepared(problem)
    assert prepared.gold_state.notes["gold-2"].text == gold  # it is there, in the same process
    with served(prepared.world) as url:
        victim, prober = session(url), session(url)
        assert victim.call("write", title="first", text=secret) == ("done", False)
        heard = []

        listed = prober.ask("tools/list")
        heard.append(listed)
        assert {t["name"] for t in listed["result"]["tools"]} == SERVED

        for method in OTHER_METHODS.split():
            for parameters in PARAMETERS:
                answer = prober.ask(method, parameters)
                assert answer["error"]["code"] in (NOT_FOUND, INVALID_PARAMS), (method, answer)
                heard.append(answer)

        names = set(dir(prepared.world)) | set(dir(prepared.world.state)) | set(dir(prepared))
        names |= {"state.notes", "world.initial", "../read", "read\0", "Read", " read", "", "p"}
        for name in names - SERVED:
            for given in ({}, {"title": "gold-2", "self": 1, "session": victim.session}):
                answer = prober.ask("tools/call", {"name": name, "arguments": given})
                refused = answer.get("error") or answer["result"]["isError"]
                assert refused, (name, answer)
                heard.append(answer)

        for extra in ({"sessionId": victim.session}, {"mcp-session-id": victim.session}):
            question = {"name": "read", "arguments": {"title": "first"}, "_meta": extra, **extra}
            heard.append(prober.ask("tools/call", question))
        told = str(heard)
        assert "text of the first" in told  # its own state was read
        for hidden in (secret, gold, "what-has-to-be-said", victim.session):
            assert hidden not in told

        assert prober.call("read", title="gold-1") == ("set by the problem", False)
        assert prober.call("read", title="gold-2")[1]
        assert victim.call("read", title="first") == (secret, False)


def test_a_second_handshake_in_a_session_does_not_reset_it(session):
    wire = session()
    wire.call("write", title="first", text="kept")
    before = wire.session
    response = wire.open()
    assert response.status_code != 200 or wire.session == before
    wire.session = before
    assert wire.call("read", title="first") == ("kept", False)


def test_versions_of_the_protocol_without_sessions_are_refused(notes_url):
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    for method, parameters in (
        ("tools/call", {"name": "read", "arguments": {"title": "first"}}),
        ("tools/list", {}),
        ("server/discover", {}),
    ):
        headers = {"mcp-protocol-version": version, "mcp-method": method}
        if "name" in parameters:
            headers["mcp-name"] = parameters["name"]
        answer = Wire(notes_url).ask(method, {**parameters, "_meta": meta}, **headers)
        assert answer["error"]["code"] == UNSUPPORTED, answer
        assert "`initialize`" in answer["error"]["message"]

    async def read(client):  # a client that knows both versions takes the one with sessions
        return client.protocol_version, await client.call_tool("read", {"title": "first"})

    used, result = in_client(notes_url, read, mode="auto")
    assert used < version
    assert not result.is_error


def test_with_one_session_every_version_of_the_protocol_works(notes):
    async def write(client):
        await client.call_tool("write", {"title": "first", "text": client.protocol_version})
        (block,) = (await client.call_tool("read", {"title": "first"})).content
        return block.text

    versions = [
        in_client(server_of(notes, one_session=True), write, mode=m) for m in ("legacy", "auto")
    ]
    assert versions == ["2025-11-25", "2026-07-28"]


def test_a_flood_of_calls_is_refused_and_does_not_delay_other_sessions(session, slow_notes):
    notes, url = slow_notes
    flooder, other = session(url), session(url)
    extra = 40

    def flood(number: int) -> dict:
        call = {"jsonrpc": "2.0", "id": 1000 + number, "method": "tools/call"}
        return flooder.post({**call, "params": {"name": "wait", "arguments": {}}}).json()

    with ThreadPoolExecutor(MOST_WAITING + extra) as pool:
        floods = [pool.submit(flood, n) for n in range(MOST_WAITING + extra)]
        try:
            assert notes.entered.acquire(timeout=20)
            assert other.call("read", title="first") == ("text of the first", False)
            refused = [each.result() for each in islice(as_completed(floods, 20), extra)]
        finally:
            notes.may_go.set()
        answers = [each.result(timeout=30) for each in floods]
    assert {answer["error"]["code"] for answer in refused} == {INVALID_REQUEST}
    assert f"{MOST_WAITING} calls of this session are waiting" in refused[0]["error"]["message"]
    assert sum("result" in answer for answer in answers) == MOST_WAITING
    assert flooder.call("read", title="first") == ("text of the first", False)


def test_a_client_that_leaves_during_a_call_harms_neither_its_state_nor_others(session, slow_notes):
    notes, url = slow_notes
    leaver, other = session(url), session(url)
    leaver.call("write", title="first", text="before leaving")
    leaver.leave_during("wait", notes.entered)
    assert other.call("read", title="first") == ("text of the first", False)
    notes.may_go.set()
    assert leaver.call("read", title="first") == ("before leaving", False)


def test_huge_and_deep_arguments_get_short_answers(session):
    wire = session()
    deep = json.loads("[" * 150 + "]" * 150)
    for arguments in (
        {"title": ["x" * 2**20]},
        {"x" * 2**20: 1, "title": "first"},
        {"title": deep},
    ):
        text, failed = wire.call("read", **arguments)
        assert failed
        assert len(text) < 500
    assert wire.post(b" " * (5 * 2**20)).status_code == 413
    assert wire.call("read", title="first") == ("text of the first", False)
