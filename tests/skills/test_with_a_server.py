"""Skill discovery with the real teacher, whose server answers badly."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dataenvgym.llm import Teacher
from dataenvgym.llm.usage import read_usage
from dataenvgym.skills import DiscoveredSkills

from .conftest import KeywordTeacher


class BadServer(ThreadingHTTPServer):
    """Answers 30% of all requests with garbage and 30% with status 500, by what is asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.teacher = KeywordTeacher()
        self.n_bad = 0

    def answered(self, body: bytes) -> tuple[int, str]:
        payload = json.loads(body)
        draw = random.Random(f"{payload['messages']}{self.n_bad // 3}").random()
        if draw < 0.6:
            self.n_bad += 1
        if draw < 0.3:
            return 500, ""
        if draw < 0.6:
            return 200, "Sorry, as a language model I {"
        return 200, self.teacher._reply(payload["messages"][-1]["content"]).text


class Handler(BaseHTTPRequestHandler):
    server: BadServer

    def do_POST(self) -> None:
        status, text = self.server.answered(self.rfile.read(int(self.headers["Content-Length"])))
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        data = json.dumps({"choices": [choice]}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[BadServer]:
    with BadServer() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_a_bad_server_leaves_no_question_without_a_skill_and_what_it_did_is_counted(
    task, server, tmp_path
):
    teacher = Teacher(
        "m",
        base_url=f"http://127.0.0.1:{server.server_port}",
        api_key_variable=None,
        retries=0,
        directory=tmp_path,
    )
    labeler = DiscoveredSkills(teacher, task=task, directory=tmp_path, batch_size=4)
    labels = labeler.label(task.instances)
    assert len(labels) == 120
    assert all(label.skill for label in labels)
    assert server.n_bad > 10
    usage = read_usage(tmp_path)
    assert usage.failed > 0
    assert usage.malformed > 0
    assert usage.failed + usage.malformed == server.n_bad
    assert 0 < labeler.catalog.counts["labelled by similarity"] < 120
