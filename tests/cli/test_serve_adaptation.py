"""`dataenvgym serve-adaptation`: a server that is asked and ended."""

import re
import signal
import subprocess
import sys

from tests.adaptation.test_server import asking, post
from tests.processes import MAIN, environment

SERVE = ("serve-adaptation", "predictor=my_students.MyStudent")


def test_an_address_that_it_cannot_listen_on_is_refused(dataenvgym):
    dataenvgym.refuses("port 70000", *SERVE, "--port", "70000")
    dataenvgym.refuses("--token-variable NAME", *SERVE, "--host", "0.0.0.0")


def test_a_signal_ends_it_with_the_code_of_an_interrupted_command(folder):
    command = [sys.executable, *MAIN, *SERVE, "--port", "0"]
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
