"""Tool calls over MCP: a world's server against the official server with an empty tool.

    python -m benchmarks.tools_mcp

Each server has its own process and uses streamable HTTP; the same client calls them in turns. Then
512 sessions are opened at once: each writes its own value, and reads it when all have written.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp_types import TextContent

from benchmarks.common import print_table, write_results
from dataenvgym.domains.tool_use.mcp.server import listening
from dataenvgym.tasks.worlds import Row, State, Table, World, tool

T = TypeVar("T")

SESSIONS = 8
CALLS = 100  # of each session, in each round
ROUNDS = 5
MANY = 512


class Note(Row):
    """A note of some words."""

    text: str


class NotesState(State):
    """The notes by title."""

    notes: Table[Note] = Table()


class Notes(World[NotesState]):
    """A notebook."""

    name = "notes"

    def initial(self) -> NotesState:
        return NotesState(notes=Table({f"note_{i}": Note(text=f"text {i}") for i in range(1000)}))

    @tool
    def read(self, title: str) -> str:
        """Read a note."""
        return self.state.notes[title].text

    @tool(writes=True)
    def write(self, title: str, text: str) -> str:
        """Write a note."""
        self.state.notes[title] = Note(text=text)
        return "done"


def serve_empty() -> None:
    """The official server, with a tool that does nothing."""
    server = MCPServer("empty")

    @server.tool()
    def nothing() -> str:
        """Do nothing."""
        return ""

    bound = listening("127.0.0.1", 0)
    print(f"it is at http://127.0.0.1:{bound.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        server.streamable_http_app(), log_config=None, log_level="warning", access_log=False
    )
    uvicorn.Server(config).run(sockets=[bound])


@contextmanager
def running(*command: str) -> Iterator[str]:
    """Run a server that says on stderr where it is; gives the URL."""
    process = subprocess.Popen([sys.executable, "-m", *command], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, f"{command} ended with {process.wait()}"
            found = re.search(r"http://\S+", line)
        yield found[0]
    finally:
        process.terminate()
        process.wait()


async def in_session(url: str, use: Callable[[Client], Awaitable[T]]) -> T:
    """Use a session of its own."""
    async with (
        httpx2.AsyncClient(timeout=300.0, verify=False) as http,
        Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
    ):
        return await use(client)


async def calls_a_second(url: str, tool: str, **arguments: str) -> float:
    """Calls per second of several sessions, after all of them are open."""
    ready, done = asyncio.Barrier(SESSIONS + 1), asyncio.Barrier(SESSIONS + 1)

    async def call(client: Client) -> None:
        await client.call_tool(tool, arguments)  # which also lists the tools, once
        await ready.wait()
        for _ in range(CALLS):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result
        await done.wait()

    tasks = [asyncio.create_task(in_session(url, call)) for _ in range(SESSIONS)]
    await ready.wait()
    begin = time.perf_counter()
    await done.wait()
    seconds = time.perf_counter() - begin
    await asyncio.gather(*tasks)
    return SESSIONS * CALLS / seconds


async def many_sessions(url: str) -> dict[str, float]:
    """Open many at once; each writes, and reads when all have written."""
    opened, written = asyncio.Barrier(MANY), asyncio.Barrier(MANY)
    times: list[float] = []

    async def write_and_read(number: int, client: Client) -> bool:
        times.append(time.perf_counter())
        await opened.wait()
        await client.call_tool("write", {"title": "note_1", "text": f"of session {number}"})
        await written.wait()
        (block,) = (await client.call_tool("read", {"title": "note_1"})).content
        return isinstance(block, TextContent) and block.text == f"of session {number}"

    begin = time.perf_counter()
    kept = await asyncio.gather(
        *(in_session(url, partial(write_and_read, n)) for n in range(MANY)), return_exceptions=True
    )
    return {
        "sessions": MANY,
        "dropped": sum(isinstance(each, BaseException) for each in kept),
        "read_what_they_wrote": sum(each is True for each in kept),
        "opened_in_s": max(times) - begin,
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--serve-empty", action="store_true", help=argparse.SUPPRESS)
    if parser.parse_args(argv).serve_empty:
        serve_empty()
        return
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ours: list[float] = []
    empty: list[float] = []
    serve = ("serve-world", "benchmarks.tools_mcp.Notes", "--transport", "http", "--port", "0")
    with (
        running("dataenvgym.cli.main", *serve) as our_url,
        running("benchmarks.tools_mcp", "--serve-empty") as empty_url,
    ):
        for _ in range(ROUNDS):
            ours.append(asyncio.run(calls_a_second(our_url, "read", title="note_1")))
            empty.append(asyncio.run(calls_a_second(empty_url, "nothing")))
        many = asyncio.run(many_sessions(our_url))
    rows = [
        {"server": "a world", "calls_a_second": statistics.median(ours)},
        {"server": "official, empty tool", "calls_a_second": statistics.median(empty)},
    ]
    print_table(rows)
    ratio = statistics.median(a / b for a, b in zip(ours, empty, strict=True))
    print(f"a world's calls a second, as a share of the official server's: {ratio:.2f}")
    print_table([many])
    write_results("tools_mcp", {"servers": rows, "ratio": ratio, "many": many})


if __name__ == "__main__":
    main()
