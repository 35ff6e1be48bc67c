"""`dataenvgym serve`: a server that stays until it is ended."""

import shlex
import subprocess
import sys
import threading
import urllib.request

import orjson
import pytest

from dataenvgym.cli.main import main
from tests.processes import MAIN, environment


@pytest.fixture
def typed(stand_in, student):
    command = shlex.join(stand_in.command)
    return ["student=hf", f"student.path={student}", f"predictor.command='{command}'",
            "predictor.variant=cpu", "predictor.start_timeout=30"]  # fmt: skip


def test_it_serves_until_it_is_ended(stand_in, typed):
    with subprocess.Popen(
        [sys.executable, *MAIN, "serve", *typed],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        stopping = threading.Timer(60, process.kill)  # a failed assertion must not wait for ever
        stopping.start()
        line = process.stdout.readline()
        # vLLM on a CPU answers for the student by an adapter that changes nothing
        assert line.startswith("untouched is at http://127.0.0.1:")
        url = line.split()[3]
        with urllib.request.urlopen(f"{url}/models", timeout=10) as reply:
            assert orjson.loads(reply.read())["data"][0]["id"] == "student"
        said = process.stdout.readline()
        assert "dataenvgym eval model=openai/untouched predictor.base_url=" in said
        process.terminate()
        assert process.wait(30) == 0
        assert process.stdout.read() == "ended\n"
        stopping.cancel()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{url}/models", timeout=10)
    assert len(stand_in.lives) == 1


def test_other_predictors_are_refused(stand_in, typed, capsys):
    assert main(["serve", "predictor=in_process"]) == 2
    assert "predictor is a InProcessPredictor, and serve starts a vLLM" in capsys.readouterr().err
    running = [*typed[:2], "predictor=vllm", "predictor.base_url=http://127.0.0.1:9"]
    assert main(["serve", *running]) == 2
    assert "VllmPredictor with a base_url" in capsys.readouterr().err
    assert stand_in.lives == []
