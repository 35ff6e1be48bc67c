"""A real HTTP server in a thread, which answers each POST with JSON that a test makes."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, dict[str, Any]], tuple[int, object]]
"""Path and content of a request -> status and content of the answer."""


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Answer so; the server's URL."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.answer = answer
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # with 5, many at once wait for a second
    answer: Answer


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, content = self.server.answer(self.path, json.loads(body))
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
