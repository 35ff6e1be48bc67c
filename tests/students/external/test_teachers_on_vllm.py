"""Teachers on the real vLLM: guided decoding, token counts, samples, the cache, and records.

The pocket student, held to JSON token by token, says nothing sensible there; but every answer is
JSON of the right shape, and so every answer is a record.
"""

import json

import numpy as np
import pytest

from dataenvgym.agents import Agent, Assignment, LLMEngine, OpenEndedPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import OpenEnded
from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Conversation, Message
from dataenvgym.runs.episodes import run_episode
from dataenvgym.storage import read_jsonl
from dataenvgym.students.predictors.vllm.starting import SERVED_NAME
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.teachers import StudentTeacher, Teacher
from dataenvgym.teachers.budget import read_usage
from dataenvgym.teachers.prompts import Prompt
from dataenvgym.teachers.repair import json_in
from dataenvgym.teachers.teacher_log import read_calls
from tests.students.external.conftest import JSON_ONLY

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


PROMPT = Prompt(user="Write {count} lists. {samples}")  # short, for a student that reads little


@pytest.fixture(scope="module")
def student(make_served):
    """The pocket student in a vLLM server of this module's own."""
    predictor = make_served(
        "pocket", trainer=InProcessTrainer(num_train_epochs=1), options=JSON_ONLY
    )
    predictor.connect()
    return predictor


@pytest.fixture
def task():
    return PocketMathTask(n_train=200, n_validation=40, n_test=40)


def engine(teacher, task, **options):
    return LLMEngine(
        teacher, task, PROMPT, examples_per_request=1, exact_schema=True, max_length=40, **options
    )


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


def test_a_server_by_its_address_writes_records(student, task, tmp_path):
    url = student.server.base_url
    teacher = Teacher(student.served_name, base_url=url, api_key_variable=None, directory=tmp_path)
    writes = engine(teacher, task, batch_size=2, max_tokens=150)
    records = writes.generate((Assignment(30, skill="sum"),), student, np.random.default_rng(0))
    teacher.close()
    assert len(records) == 30
    assert {r.provenance.skill for r in records} == {"sum"}
    usage = read_usage(tmp_path)
    assert usage is not None
    assert usage.completion_tokens > 0
    assert usage.uncounted == 0
    calls = list(read_calls(tmp_path))
    assert len(calls) == usage.requests
    whole = [call.reply for call in calls if call.finish_reason == "stop" and call.reply]
    assert whole
    assert all(len(next(json_in(text))["records"]) in (1, 2) for text in whole)


def test_the_student_as_its_own_teacher_goes_through_a_whole_episode(student, task, tmp_path):
    teacher = StudentTeacher(student, directory=tmp_path)
    writes = engine(teacher, task, batch_size=1, max_tokens=120)
    agent = Agent(OpenEndedPolicy(), writes, name="self", records_per_iteration=8)
    environment = OpenEnded(task, student, directory=tmp_path)
    summary = run_episode(environment, agent, iterations=2)
    assert summary.status == "finished"
    submitted = [
        list(read_jsonl(tmp_path / "iterations" / f"{n:03d}" / "records.jsonl")) for n in (1, 2)
    ]
    assert [len(records) for records in submitted] == [8, 8]
    assert summary.teacher is not None
    assert summary.teacher.requests >= 16
