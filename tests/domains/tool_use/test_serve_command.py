"""`dataenvgym serve-world`: options are checked before the server starts."""

import asyncio
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip("mcp", reason="needs the extra [mcp]")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shopp"], "there is no world 'shopp'. Did you mean 'shop'?"),
        (["shop", "--task", "no-such"], "task is 'no-such', expected one of"),
        (["shop", "--problems", "x.jsonl"], "choose one with --task"),
        (["shop", "--task", "x", "--problems", "none.jsonl"], "none.jsonl"),
        (["shop", "--transport", "http", "--port", "70000"], "port 70000"),
        (["shop", "--transport", "http", "--idle-timeout", "nan"], "--idle-timeout: 'nan'"),
        (["shop", "--transport", "sse"], "invalid choice: 'sse'"),
    ],
)
def test_worlds_that_cannot_be_served_are_refused_by_name(dataenvgym, arguments, said):
    result = dataenvgym("serve-world", *arguments)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""


WORLD = """
from dataenvgym.tasks.worlds import State, World, tool

class Lamp(State):
    is_on: bool = False

class Room(World[Lamp]):
    name = "room"

    def initial(self):
        return Lamp()

    @tool(writes=True)
    def switch(self, on: bool) -> str:
        before, self.state.is_on = self.state.is_on, on
        return f"was {before}"
"""
PROBLEM = """{"id": "p", "instruction": "Switch it off.", "skill": "s", "state": {"is_on": true},
"gold": [{"name": "switch", "arguments": {"on": false}}]}"""


@pytest.mark.slow
def test_a_problem_of_your_own_world_is_served_over_http_until_a_signal(tmp_path):
    from mcp import Client

    (tmp_path / "rooms.py").write_text(WORLD)
    (tmp_path / "problems.jsonl").write_text(PROBLEM.replace("\n", " ") + "\n")
    command = [sys.executable, "-m", "dataenvgym.cli.main", "serve-world", "rooms.Room"]
    options = ["--transport", "http", "--port", "0", "--problems", "problems.jsonl", "--task", "p"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, *options], cwd=tmp_path, **pipes) as server:
        try:
            assert server.stderr.readline() == "p: Switch it off.\n"
            url = re.search(r"http://\S+", server.stderr.readline())[0]

            async def switch():
                async with Client(url) as client:
                    return await client.call_tool("switch", {"on": False})

            for _ in range(2):  # each session begins in the problem's state
                (block,) = asyncio.run(switch()).content
                assert block.text == "was True"
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(30)
        assert code == 143
        assert server.stdout.read() == ""
