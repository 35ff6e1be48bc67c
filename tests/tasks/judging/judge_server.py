"""A chat server that judges as a test says, and the teachers that ask it; for all parts."""

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager

from dataenvgym.teachers import Teacher
from tests.agents.skills.serving import serving


class JudgeServer:
    """Answers chat completions with `say(messages)`: a text, or an HTTP status.

    Attributes:
        requests: all requests in the order of arrival.
    """

    def __init__(self):
        self.say: Callable[[list[dict]], str | int] = lambda messages: verdict(7)
        self.requests: list[dict] = []
        self.url = ""
        self._lock = threading.Lock()

    def answer(self, path, payload):
        with self._lock:
            self.requests.append(payload)
            said = self.say(payload["messages"])
        if isinstance(said, int):
            return said, {"error": {"message": "away"}}
        message = {"role": "assistant", "content": said}
        return 200, {"choices": [{"message": message, "finish_reason": "stop"}]}

    def teacher(self, model="m", **options):
        settings = {"base_url": self.url, "api_key_variable": None, "retries": 0, **options}
        return Teacher(model, **settings)


def verdict(score, reason="so"):
    return json.dumps({"reason": reason, "score": score})


@contextmanager
def judge_server():
    """A server that answers until the block ends."""
    made = JudgeServer()
    with serving(made.answer) as made.url:
        yield made
