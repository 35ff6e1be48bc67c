"""For own_domain.py: a server in this process that plays models, and a tool format for the student.

The pocket student does not learn calls in JSON from 200 records. The format "short" writes the call
of Find with {"size": "max"} as "Find max"; larger students take "hermes" or "llama_factory".
"""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from dataenvgym.records import ToolCall
from dataenvgym.records.tool_formats import TOOL_FORMATS, TextFormat


def write_tools(tools):
    return " ".join(tool.name for tool in tools)


def write_calls(calls):
    return "\n".join(f"{call.name} {' '.join(map(str, call.arguments.values()))}" for call in calls)


def find_calls(text, start):
    for found in re.compile(r"Find (\w+)").finditer(text, start):
        yield *found.span(), ToolCall(name="Find", arguments={"size": found[1]})


TOOL_FORMATS["short"] = TextFormat(write_tools, write_calls, "\n".join, find_calls)


def teacher(texts):
    """A clerk who makes no mistakes."""
    last = texts[-1]
    if last in ("min", "max"):
        return f"Find {last}"
    return last.replace("price", "####") if last.startswith("price") else "Which"


def customer(texts):
    return texts[0].split()[-1]  # the size on the card


def judge(texts):
    right, said = texts[0].removeprefix("Right: ").split(" Said: ", 1)
    return "yes" if said == right else "no"


MODELS = {"teacher": teacher, "customer": customer, "judge": judge}


class StubModels(ThreadingHTTPServer):
    """Answers each model's requests with its function of the texts of the conversation.

    The first `crowd` requests wait until all of them have arrived; `peak` is the largest number of
    simultaneous requests. `options` are the arguments of a predictor for a model.
    """

    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, crowd):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.crowd = crowd
        self.here, self.counts, self.all_are_here = [], [0], Event()
        url = f"http://127.0.0.1:{self.server_port}"
        self.options = {"base_url": url, "api_key_variable": None, "concurrency": crowd}
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def peak(self):
        return max(self.counts)


class _Handler(BaseHTTPRequestHandler):
    server: StubModels

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub = self.server
        stub.here.append(self)
        stub.counts.append(len(stub.here))
        if len(stub.here) >= stub.crowd:
            stub.all_are_here.set()
        stub.all_are_here.wait(10)  # seconds, if the others never arrive
        stub.here.remove(self)
        text = MODELS[asked["model"]]([message["content"] for message in asked["messages"]])
        body = json.dumps({"choices": [{"message": {"content": text}}]})
        head = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
        self.wfile.write(f"{head}{body}".encode())
