"""A server in this process that plays a teacher, a customer and a judge.

The first `crowd` requests wait until all of them have arrived; `peak` is the largest number of
simultaneous requests. `options` are the arguments of a predictor for a model.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


def answer(model, texts):
    """What a model says after the texts of a conversation."""
    first, last = texts[0], texts[-1]
    if model == "customer":
        return first.split()[-1]  # the size on the card
    if model == "judge":
        right, said = first.removeprefix("Right: ").split(" Said: ", 1)
        return "yes" if said == right else "no"
    if last in ("min", "max"):  # the teacher: a clerk who makes no mistakes
        return f"Find {last}"
    return last.replace("price", "####") if last.startswith("price") else "Which"


class StubModels(ThreadingHTTPServer):
    request_queue_size, daemon_threads = 1024, True

    def __init__(self, crowd):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.crowd, self.peak, self.here, self.all_are_here = crowd, 0, set(), Event()
        url = f"http://127.0.0.1:{self.server_port}"
        self.options = {"base_url": url, "api_key_variable": None, "concurrency": crowd}
        Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: StubModels

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.here.add(self)
        self.server.peak = max(self.server.peak, len(self.server.here))
        if self.server.peak == self.server.crowd:
            self.server.all_are_here.set()
        self.server.all_are_here.wait(10)  # seconds, if the others never arrive
        self.server.here.remove(self)
        text = answer(asked["model"], [message["content"] for message in asked["messages"]])
        body = json.dumps({"choices": [{"message": {"content": text}}]})
        head = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
        self.wfile.write(f"{head}{body}".encode())
