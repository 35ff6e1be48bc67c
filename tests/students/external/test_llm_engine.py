"""The LLM engine and real vLLM: the pocket student, held to JSON token by token, teaches itself.

A model of its size says nothing sensible there; but every answer is JSON of the right shape, and so
every answer is a record.
"""

import numpy as np
import pytest

from dataenvgym.agents import Agent, Assignment, LLMEngine, OpenEndedPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import OpenEnded
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.runs.episodes import run_episode
from dataenvgym.storage import read_jsonl
from dataenvgym.students.predictors import VllmPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.teachers import StudentTeacher, Teacher
from dataenvgym.teachers.budget import read_usage
from dataenvgym.teachers.prompts import Prompt
from dataenvgym.teachers.repair import json_in
from dataenvgym.teachers.structured import Schema, ask_json
from dataenvgym.teachers.teacher_log import read_calls

pytestmark = [pytest.mark.external, pytest.mark.timeout(1200)]

# short, for a student that reads few tokens
PROMPT = Prompt(user="Write {count} lists. {samples}")


@pytest.fixture(scope="module")
def student(vllm_python, tmp_path_factory):
    """The pocket student, served by vLLM."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATAENVGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        predictor = VllmPredictor(
            "pocket",
            InProcessTrainer(num_train_epochs=1),
            command=[str(vllm_python), "-P", "-m", "vllm.entrypoints.openai.api_server"],
            # else the pocket student writes spaces for ever
            options={
                "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True}
            },
        )
        yield predictor
        predictor.close()


@pytest.fixture
def task():
    return PocketMathTask(n_train=200, n_validation=40, n_test=40)


def test_guided_answers_fit_the_schema_without_repair(student):
    schema: Schema = {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["explore", "exploit"]},
            "n": {"type": "integer", "minimum": 0, "maximum": 9},
        },
        "required": ["action", "n"],
        "additionalProperties": False,
    }
    asked = [(Message(role="user", content=f"What is {n} plus 2?"),) for n in range(20)]
    sampling = SamplingParameters(temperature=1.0, max_tokens=64)
    found = ask_json(StudentTeacher(student), asked, schema, sampling, purpose="test")
    assert None not in found
    assert {type(f["n"]) for f in found if f is not None} == {int}


def test_a_server_by_its_address_writes_records(student, task, tmp_path):
    student.connect()
    model = student.server.name_of(student._name)
    teacher = Teacher(
        model, base_url=student.server.base_url, api_key_variable=None, directory=tmp_path
    )
    engine = LLMEngine(
        teacher, task, PROMPT, batch_size=2, examples_per_request=1, max_tokens=150,
        exact_schema=True,
        max_length=40,
    )  # fmt: skip
    records = engine.generate((Assignment(30, skill="sum"),), student, np.random.default_rng(0))
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
    engine = LLMEngine(
        teacher, task, PROMPT, batch_size=1, examples_per_request=1, max_tokens=120,
        exact_schema=True,
        max_length=40,
    )  # fmt: skip
    agent = Agent(OpenEndedPolicy(), engine, name="self", records_per_iteration=8)
    environment = OpenEnded(task, student, directory=tmp_path)
    summary = run_episode(environment, agent, iterations=2)
    assert summary.status == "finished"
    submitted = [
        list(read_jsonl(tmp_path / "iterations" / f"{n:03d}" / "records.jsonl")) for n in (1, 2)
    ]
    assert [len(records) for records in submitted] == [8, 8]
    assert summary.teacher is not None
    assert summary.teacher.requests >= 16
