"""A server that speaks the chat completions protocol and has no model behind it.

    python -m benchmarks.stub_server --port 0 --delay 0.05

It prints `{"port": ...}` as a line of JSON, repeats the last user message after `delay` seconds
(or says `--text`), and ends when its standard input ends. It is fast, so that measurements show the
cost of the client: an asyncio protocol on plain bytes, without checks of the requests.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson


class StubProtocol(asyncio.Protocol):
    """One connection: HTTP/1.1, kept alive, one request after the other."""

    def __init__(self, delay: float, text: str | None) -> None:
        self._delay = delay
        self._text = text
        self._received = b""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end]
            length = _content_length(head)
            if len(self._received) < end + 4 + length:
                return
            body = self._received[end + 4 : end + 4 + length]
            self._received = self._received[end + 4 + length :]
            self._respond(head, body)

    def _respond(self, head: bytes, body: bytes) -> None:
        path = head.split(b" ", 2)[1]
        if path == b"/v1/chat/completions":
            answer = _response(_completion(orjson.loads(body), self._text))
            if self._delay:
                self._loop.call_later(self._delay, self._transport.write, answer)
            else:
                self._transport.write(answer)
        elif path == b"/v1/models":
            models = {"object": "list", "data": [{"id": "stub", "object": "model"}]}
            self._transport.write(_response(orjson.dumps(models)))
        elif path == b"/health":
            self._transport.write(_response(b"{}"))
        else:
            self._transport.write(_response(b'{"error": "no such path"}', b"404 Not Found"))


def _content_length(head: bytes) -> int:
    lowered = head.lower()
    at = lowered.find(b"content-length:")
    return 0 if at < 0 else int(lowered[at + 15 :].split(b"\r\n", 1)[0])


def _completion(request: Any, text: str | None) -> bytes:
    if text is None:
        users = (m["content"] for m in reversed(request["messages"]) if m["role"] == "user")
        text = next(users, "")
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return orjson.dumps(
        {
            "id": "chatcmpl-stub",
            "object": "chat.completion",
            "model": request["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
    )


def _response(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        status,
        len(body),
        body,
    )


async def serve(port: int, delay: float, text: str | None = None) -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: StubProtocol(delay, text), "127.0.0.1", port, backlog=4096
    )
    print(orjson.dumps({"port": server.sockets[0].getsockname()[1]}).decode(), flush=True)
    over = asyncio.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    await over.wait()
    server.close()


@contextmanager
def stub_server(*, delay: float = 0.0, text: str | None = None) -> Iterator[str]:
    """Start the server in its own process; return its base URL."""
    command = [sys.executable, "-m", "benchmarks.stub_server", "--delay", str(delay)]
    command += [] if text is None else ["--text", text]
    root = Path(__file__).parent.parent
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = orjson.loads(process.stdout.readline())["port"]
            yield f"http://127.0.0.1:{port}"
        finally:
            process.stdin.close()
            process.wait(timeout=10)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve with the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that an answer takes")
    parser.add_argument("--text", default=None, help="the answer to everything")
    options = parser.parse_args(argv)
    asyncio.run(serve(options.port, options.delay, options.text))


if __name__ == "__main__":
    main()
