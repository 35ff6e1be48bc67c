"""A server in this process that plays models, for an example that needs some and has no key."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


class StubModels(ThreadingHTTPServer):
    """Answers each model's requests with a function of the last message.

    The first `crowd` requests wait until all of them are there; `peak` says how many there were at
    the same time, at most.
    """

    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, models, crowd):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.models, self.crowd = models, crowd
        self.here, self.counts, self.all_are_here = [], [0], Event()
        self.url = f"http://127.0.0.1:{self.server_port}"
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def peak(self):
        return max(self.counts)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub = self.server
        stub.here.append(self)
        stub.counts.append(len(stub.here))
        if len(stub.here) >= stub.crowd:
            stub.all_are_here.set()
        stub.all_are_here.wait(10)  # seconds, if the others never come
        stub.here.remove(self)
        text = stub.models[asked["model"]](asked["messages"][-1]["content"])
        body = json.dumps({"choices": [{"message": {"content": text}}]})
        head = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
        self.wfile.write(f"{head}{body}".encode())
