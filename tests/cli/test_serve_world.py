"""`dataenvgym serve-world`: what is asked for is checked before anything is served."""

from __future__ import annotations

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
        (["my_module.MyWorld"], "cannot be imported"),
        (["shop", "--task", "no-such"], "world 'shop' has no problem 'no-such'"),
        (["shop", "--problems", "x.jsonl"], "choose one with --task"),
        (["shop", "--task", "x", "--problems", "none.jsonl"], "none.jsonl"),
        (["shop", "--transport", "http", "--port", "70000"], "port 70000"),
        (["shop", "--transport", "http", "--max-sessions", "0"], "max_sessions is 0"),
        (["shop", "--transport", "http", "--idle-timeout", "nan"], "idle_timeout is nan"),
        (["shop", "--transport", "sse"], "invalid choice: 'sse'"),
        ([], "WORLD"),
    ],
)
def test_what_cannot_be_served_is_refused_by_name(dataenvgym, arguments, said):
    result = dataenvgym("serve-world", *arguments)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""


@pytest.mark.slow
def test_a_problem_is_served_over_http_until_a_signal(tmp_path):
    import asyncio

    from mcp import Client

    (tmp_path / "problems.jsonl").write_text(
        '{"id": "p", "instruction": "Cancel my second lamp.", "skill": "s", '
        '"state": {"orders": {"order_9": {"customer": "Ann", "product": "lamp", "price": 1}}}, '
        '"gold": [{"name": "cancel_order", "arguments": {"order_id": "order_9"}}]}\n'
    )
    command = [sys.executable, "-m", "dataenvgym.cli.main", "serve-world", "shop"]
    options = ["--transport", "http", "--port", "0", "--problems", "problems.jsonl", "--task", "p"]
    with subprocess.Popen(
        [*command, *options],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stderr.readline() == "p: Cancel my second lamp.\n"
            line = server.stderr.readline()
            url = re.search(r"http://\S+", line)[0]

            async def cancel():
                async with Client(url) as client:
                    return await client.call_tool("cancel_order", {"order_id": "order_9"})

            for _ in range(2):  # each session begins in the problem's state
                (block,) = asyncio.run(cancel()).content
                assert block.text == "order_9 is cancelled"
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == 143
        assert server.stdout.read() == ""
