"""Teachers on the real vLLM: guided decoding, token counts, samples, and the cache."""

import json

import pytest

from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Conversation, Message
from dataenvgym.students.predictors import VllmPredictor
from dataenvgym.students.predictors.vllm.starting import SERVED_NAME
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.teachers import StudentTeacher, Teacher
from dataenvgym.teachers.teacher_log import read_calls

pytestmark = [pytest.mark.external, pytest.mark.timeout(1200)]

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["right", "wrong"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
GUIDED = SamplingParameters(max_tokens=128, json_schema=SCHEMA)
ASKED: list[Conversation] = [
    (Message(role="user", content=f"Write {n} 1 4 1 5 backwards."),) for n in range(8)
]


@pytest.fixture(scope="module")
def student(vllm_python, tmp_path_factory):
    """The pocket student in a vLLM server of this module's own."""
    # else the pocket student writes spaces for ever
    json_only = {"backend": "xgrammar", "disable_any_whitespace": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATAENVGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        predictor = VllmPredictor(
            "pocket",
            trainer=InProcessTrainer(),
            command=[str(vllm_python), "-P", "-m", "vllm.entrypoints.openai.api_server"],
            options={"structured_outputs_config": json_only},
        )
        predictor.connect()
        yield predictor
        predictor.close()


def test_a_teacher_on_vllm_keeps_a_schema_and_is_counted(student, tmp_path):
    options = {
        "base_url": student.server.base_url,
        "api_key_variable": None,
        "cache": tmp_path / "cache",
        "price": {"prompt": 1.0, "completion": 1.0},
    }
    teacher = Teacher(SERVED_NAME, directory=tmp_path / "run", max_cost=1.0, **options)
    replies = teacher.ask(ASKED, GUIDED, purpose="verdicts")
    assert all(isinstance(r, Reply) for r in replies)
    assert {json.loads(r.text)["verdict"] for r in replies if isinstance(r, Reply)} <= {
        *("right", "wrong")
    }
    usage = teacher.usage
    assert (usage.requests, usage.failed, usage.uncounted) == (8, 0, 0)
    assert usage.prompt_tokens > 0
    assert usage.completion_tokens > 0
    assert usage.cost == pytest.approx((usage.prompt_tokens + usage.completion_tokens) / 1e6)
    assert [c.prompt_tokens for c in read_calls(tmp_path / "run")] == [
        r.prompt_tokens for r in replies if isinstance(r, Reply)
    ]
    again = Teacher(SERVED_NAME, max_requests=0, **options)
    assert again.ask(ASKED, GUIDED, purpose="verdicts") == replies
    teacher.close()


def test_samples_of_one_question_differ_on_vllm(student):
    teacher = Teacher(SERVED_NAME, base_url=student.server.base_url, api_key_variable=None)
    warm = SamplingParameters(max_tokens=12, temperature=1.5, seed=5)
    replies = teacher.ask([ASKED[0]] * 8, warm, purpose="samples")
    assert len({r.text for r in replies if isinstance(r, Reply)}) > 1
    teacher.close()


def test_a_student_on_vllm_teaches_itself_and_keeps_a_schema(student, tmp_path):
    teacher = StudentTeacher(student, cache=tmp_path, max_tokens=10**6)
    replies = teacher.ask(ASKED, GUIDED, purpose="verdicts")
    assert all(isinstance(r, Reply) for r in replies)
    assert {json.loads(r.text)["verdict"] for r in replies if isinstance(r, Reply)} <= {
        *("right", "wrong")
    }
    assert teacher.usage.uncounted == 0
    assert teacher.ask(ASKED, GUIDED, purpose="verdicts") == replies
    assert (teacher.usage.requests, teacher.usage.cached) == (8, 8)
