"""`dataenvgym serve-adaptation`: options are checked before the server starts."""

import re
import signal
import subprocess
import sys

import pytest

from tests.adaptation.test_server import asking, post
from tests.processes import MAIN, environment


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--transport", "tcp"], "invalid choice: 'tcp'"),
        (["--port", "x"], "--port: 'x'"),
        (["--port", "70000"], "cannot listen on 127.0.0.1, port 70000"),
        (["--host", "0.0.0.0"], "--token-variable NAME"),
        (["--token-variable", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE is not set"),
        (["task=no_such"], "no_such"),
    ],
)
def test_a_server_that_cannot_start_says_why(dataenvgym, arguments, said):
    small = ("predictor=custom", "predictor._target_=my_students.MyStudent")
    result = dataenvgym("serve-adaptation", *small, *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_a_signal_ends_it_with_the_code_of_an_interrupted_command(folder):
    small = ("predictor=custom", "predictor._target_=my_students.MyStudent")
    command = [sys.executable, *MAIN, "serve-adaptation", *small, "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment(), **pipes) as server:
        try:
            url = re.search(r"http://\S+", server.stderr.readline())[0]
            status, answer = post(url, asking(("1 + 1 =", "#### 2"), sequences=["1 + 1 = 2"]))
            assert (status, answer["adapter_texts"]) == (200, ["#### 99"])
            assert (
                "no `config`" in post(url, asking(("1 + 1 =", "#### 2"), lora_rank=4))[1]["error"]
            )
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(60)
    assert code == 143
