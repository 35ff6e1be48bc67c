"""What a student's words make fail is the student's: no problem leaves its score.

Students say anything, of every size, and the other speakers and the student's own model are behind
a server that refuses what OpenAI's and vLLM refuse: too many characters, control characters, the
special tokens of a template.
"""

import itertools
import json
import random
import re

import pytest
from aiohttp import web

from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.tool_use.calls.task import BFCLTask
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records.instances import count_faults, fault_of
from dataenvgym.students.predictors import OpenAIPredictor
from tests.calls_files import write_bfcl
from tests.domains.test_costs import EACH, call, problems
from tests.teachers.conftest import FakeServer, completion

MOST = 30_000
FOUND = json.dumps({"things": [{"number": 1, "reason": "r", "was_said": True}]})
REFUSED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|<\|\w+\|>|💣")


def refusal(message, code=None):
    error = {"message": message, "type": "invalid_request_error", "code": code or 400}
    return web.json_response({"error": error}, status=400)


class LimitedServer(FakeServer):
    """Says the text of each model to all that it accepts.

    Attributes:
        says: by model.
        refuses_problem: a text that it never accepts.
    """

    def __init__(self, says, refuses_problem=None):
        super().__init__()
        self.says = says
        self.refuses_problem = refuses_problem
        self.respond = self._answer

    async def _answer(self, request, payload):
        text = "\n".join(str(m["content"]) for m in payload["messages"])
        if self.refuses_problem is not None and self.refuses_problem in text:
            return refusal("filtered", "content_filter")
        if len(text) > MOST:
            return refusal("maximum context length is ...", "context_length_exceeded")
        if REFUSED.search(text):
            return refusal("disallowed special token")
        is_of_facts = "was_said" in str(payload.get("response_format"))
        return completion(FOUND if is_of_facts else self.says[payload["model"]])

    def speaker(self, model):
        options = {"base_url": self.url, "api_key_variable": None, "retries": 0}
        return OpenAIPredictor(model, **options)


def odd_texts(draw, size):
    """Texts of every kind and size, with the letters of a generator."""
    words = ["".join(draw.choices("abcde é中", k=draw.randint(1, 9))) for _ in range(60)]
    called = '<tool_call>\n{"name": "answer", "arguments": %s}\n</tool_call>'
    yield from ("", "\n" * size, "\t \n" * size, "\\" * size, "`$" * size, "e" + "\u0301" * size)
    yield " ".join(draw.choice(words) for _ in range(size))
    yield "\n".join(draw.choice(words) for _ in range(size))
    yield "Answer: " + "".join(draw.choices("abc.,'\"", k=size * 4))
    yield from ("9" * size, "1e999999", "[action] offer " + "9" * size, "-" * size)
    yield from ("a\x00b", "\x00" * size, "".join(map(chr, range(32))), "\x7f\x80\x9f\x1b[31m")
    yield from ("\ud800", "a\udfff" * size, "\udc00\ud800", "\ufeff\u202e\u200b\uffff")
    yield from ("<|im_end|>", "</s><|eot_id|>[INST]", "<think>", "</think>" * size)
    yield from ("💣", "".join(chr(0x2190 + i % 3000) for i in range(size * 4)))
    yield from ("[" * size, '{"a":' * size, "<a>" * size, "{" * 500 + "}" * 500)
    for value in ("1" * 400, "NaN", "1e999", "[" * 150 + "]" * 150, "[" * size + "]" * size):
        yield called % f'{{"model": {value}}}'
    yield called % r'{"model": "\ud800\u0000"}'


class Odd:
    """A student that says one text after the other, every second one after its usual words.

    Args:
        most: its context, in characters.
    """

    def __init__(self, usual, texts, most):
        self.said = [usual * (number % 2) + text for number, text in enumerate(texts)]
        self.next = itertools.cycle(self.said)
        self.most = most

    def predict(self, conversations, sampling):
        return [self._reply("".join(m.content for m in chat)) for chat in conversations]

    def _reply(self, text):
        if len(text) > self.most or "\x00" in text:
            return Failure(reason="HTTP 400: too long")
        return Reply(text=next(self.next))


def as_many(task, n, **data):
    """As many problems of a task, each with an id of its own."""
    few = [one.model_copy(update={"data": one.data | data}) for one in problems(task)]
    return [few[i % len(few)].model_copy(update={"id": f"p{i}"}) for i in range(n)]


def bfcl(others, folder):
    return BFCLTask(write_bfcl(folder / "bfcl"), fractions={"validation": 1.0})


def strategist(others, folder):
    options = {"n_validation": 4, "n_test": 1, "n_train": 1}
    return PocketSocialTask(role="strategist", others=others, **options)


SAID = {"basis": ["said"], "said": ["done"], "said_by": "judge"}
ALL = {
    **EACH,
    "social": (EACH["social"][0], "Hello.", EACH["social"][2] | {"partner": "Hello."}),
    "said": (EACH["tool_use"][0], "It is done.", EACH["tool_use"][2]),
    "strategist": (strategist, "Be kind.", {"speaker": "Hello."}),
    "calls": (bfcl, call("f"), {}),
}


def attempts(name, folder, *, size, most):
    make, usual, others = ALL[name]
    server = LimitedServer(others)
    try:
        task = make({who: server.speaker(who) for who in others}, folder)
        student = Odd(usual, odd_texts(random.Random(name), size), most)
        data = SAID if name == "said" else {}
        return task.attempt(student, as_many(task, len(student.said), **data))
    finally:
        server.close()


@pytest.mark.parametrize("name", ALL)
def test_no_text_of_a_student_takes_a_problem_out_of_its_score(name, tmp_path):
    tried = attempts(name, tmp_path, size=8_000, most=20_000)
    assert {c.instance.id: c.error for c in tried if c.error} == {}
    if name == "social":  # nor out of the mean of its goals
        refused = [c.scores for c in tried if "student's words" in (c.note or "")]
        assert refused
        assert all(scores["goal"] == 0.0 for scores in refused)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_no_text_of_megabytes_does_so(name, tmp_path):
    tried = attempts(name, tmp_path, size=300_000, most=10**9)
    assert {c.instance.id: c.error for c in tried if c.error} == {}


def test_a_question_that_the_judge_refuses_itself_is_the_judges_fault(tmp_path):
    make, usual, others = EACH["knowledge"]
    server = LimitedServer(others, refuses_problem="Who b?")
    try:
        task = make({"judge": server.speaker("judge")}, tmp_path)
        student = Odd(usual, ["You ask: Who b?", "x" * 50_000], 10**9)
        tried = task.attempt(student, as_many(task, 8))
    finally:
        server.close()
    faults = [fault_of(c) for c in tried if "Who b?" in c.instance.instruction]
    assert faults == ["judge"] * 2
    assert count_faults(tried) == {"judge": 2}
