"""`dataenvgym serve-adaptation` with a real student: 32 clients, killed, and started anew."""

import subprocess
import sys
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException

import pytest

from dataenvgym.adaptation.request_queue import opened_queue
from dataenvgym.runs.config import build_predictor, build_task, compose
from dataenvgym.students.external.processes import free_port
from tests.adaptation.test_server import asking, post
from tests.processes import MAIN, environment
from tests.waiting import wait_for

COUNTING = """
from dataenvgym.students.trainers import InProcessTrainer

class Counting(InProcessTrainer):
    def train(self, config_path):
        self.note("begin", config_path)
        folder = super().train(config_path)
        self.note("end", config_path)
        return folder

    def note(self, what, config_path):
        with open("trainings.txt", "a") as file:
            file.write(f"{what} {config_path.parent.name}\\n")
"""
REQUESTS = [
    asking(
        (f"who is {n}?", f"{n} b"),
        (f"what is {n}?", "c"),
        sequences=[f"who is {n}? {n} b", f"what is {n}? c"],
        seed=n,
    )
    for n in range(32)
]


def persistent(url, request):
    """The answer of a client that sends its request again if the server is gone."""
    answers = []

    def answered():
        try:
            status, answer = post(url, request)
        except (urllib.error.URLError, HTTPException, OSError):
            return False
        assert status == 200
        answers.append(answer)
        return True

    wait_for(answered, seconds=600)
    return answers[0]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_32_clients_of_a_killed_server_get_the_answers_of_an_undisturbed_one(
    tiny_student, tmp_path, monkeypatch
):
    (tmp_path / "counting.py").write_text(COUNTING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    overrides = [
        *("task=knowledge", "task.sources=none.json", "task.sampling.max_tokens=8"),
        *("student=hf", f"student.path={tiny_student}", "student.format=completion"),
        *("predictor.threads=1", "trainer=custom", "trainer._target_=counting.Counting"),
        *("+trainer.threads=1", "+trainer.num_train_epochs=4", "+trainer.learning_rate=3e-2"),
    ]
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, *MAIN, "serve-adaptation", *overrides, "--port", str(port)]

    @contextmanager
    def serve():
        env = environment()
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=env, text=True) as server:
            try:
                assert f" is at {url} (" in server.stderr.readline()
                yield server
            finally:
                server.kill()

    def trainings():
        file = tmp_path / "trainings.txt"
        return file.read_text() if file.exists() else ""

    with ThreadPoolExecutor(32) as clients:
        with serve():
            answers = [clients.submit(persistent, url, request) for request in REQUESTS]
            wait_for(lambda: trainings().count("end") > 4, seconds=600)
        with serve() as server:
            found = [answer.result() for answer in answers]
            assert post(url, {"cmd": "shutdown"}) == (200, {"status": "bye"})
            assert server.wait(60) == 0
    lines = trainings().splitlines()
    for n, line in enumerate(lines):  # no adapter is trained after it was complete
        what, name = line.split()
        assert what == "begin" or f"begin {name}" not in lines[n:]
    assert not [*tmp_path.glob("adaptations/*/adapters/*/adapter")]

    config = compose(overrides)
    task = build_task(config)
    with opened_queue(task, build_predictor(config, task=task), tmp_path / "undisturbed") as queue:
        undisturbed = [queue.submit(request) for request in REQUESTS[:8]]
        assert found[:8] == [answer.result() for answer in undisturbed]
    assert any(answer["adapter_texts"] != answer["baseline_texts"] for answer in found)
