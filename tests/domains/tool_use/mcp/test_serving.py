"""A world over HTTP and stdio: its sessions, and clients that misbehave."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp", reason="needs the extra [mcp]")

from dataenvgym.domains.tool_use.mcp.server import HttpServer, served
from dataenvgym.errors import ConfigurationError
from tests.domains.tool_use.mcp.conftest import Wire


def test_another_session_is_reached_neither_by_a_guess_nor_ended(session):
    victim = session()
    victim.call("write", title="first", text="the victim's")
    own = victim.session
    guesses = ["", "0", own[:-1], own + "0", own.upper(), own[::-1], "*", "../" + own, "\x7f"]
    for guess in {each for each in guesses if each != own}:
        thief = Wire(victim.url, guess)
        call = {"name": "read", "arguments": {"title": "first"}}
        response = thief.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        assert response.status_code in (400, 404), guess
        assert thief.end() in (400, 404), guess
    assert victim.call("read", title="first") == ("the victim's", False)


def test_a_session_that_its_client_ended_is_gone(session, notes):
    wire = session()
    wire.call("read", title="first")
    while notes.closed.acquire(blocking=False):
        pass
    assert wire.end() == 200
    assert notes.closed.acquire(timeout=20)  # so is its world
    assert wire.ask("tools/list")["error"]["message"] == "Session not found"


def test_an_idle_session_ends(session, slow_notes):
    notes, _ = slow_notes
    with served(notes, idle_timeout=1.0) as url:
        wire = session(url)
        wire.call("read", title="first")
        assert notes.closed.acquire(timeout=20)
        assert wire.ask("tools/list")["error"]["message"] == "Session not found"


def test_more_sessions_than_the_most_are_refused_until_one_ends(session, notes):
    with served(notes, max_sessions=2) as url:
        one, other = session(url), session(url)
        refused = Wire(url).open()
        assert refused.status_code == 503
        assert refused.json()["error"]["message"] == "Too many open sessions"
        assert other.call("read", title="first") == ("text of the first", False)
        assert one.end() == 200
        assert session(url).call("read", title="first") == ("text of the first", False)


def test_a_handshake_that_fails_keeps_no_session(session, notes):
    with served(notes, max_sessions=1) as url:
        for message in ({}, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, b"{"):
            assert Wire(url).post(message).status_code >= 400
        assert session(url).call("read", title="first") == ("text of the first", False)


def test_other_requests_are_refused_as_are_web_pages_under_another_name(session, notes_url):
    wire, listing = session(), {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert Wire(notes_url).post(listing).status_code == 400  # outside of a session
    assert wire.post(listing, host="evil.example").status_code == 421
    assert wire.post(listing, origin="https://evil.example").status_code == 403
    headers = {"accept": "text/event-stream", "mcp-session-id": wire.session}
    refused = wire.http.get(notes_url, headers=headers)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST, DELETE")
    root = notes_url.removesuffix("/mcp")
    for path in ("/", "/docs", "/mcp/state", "/sse", "/state"):
        assert wire.http.post(root + path, json={}).status_code in (404, 405), path


def test_impossible_options_are_refused_by_name(notes, notes_url):
    port = int(notes_url.rpartition(":")[2].removesuffix("/mcp"))
    for options, said in (
        ({"port": port}, f"port {port}.*choose another port"),
        ({"host": "no.such.host.invalid"}, "cannot listen on no.such.host.invalid"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            HttpServer(notes, **options)
