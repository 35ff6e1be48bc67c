"""Skill discovery with the real teacher, whose server answers badly."""

import random

import pytest

from dataenvgym.agents.skills import DiscoveredSkills
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.teachers import Teacher
from dataenvgym.teachers.budget import read_usage
from tests.agents.skills.conftest import KeywordTeacher
from tests.agents.skills.serving import serving


class BadServer:
    """Answers 30% of all requests with garbage and 30% with status 500, by their content."""

    def __init__(self) -> None:
        self.url = ""
        self.teacher = KeywordTeacher()
        self.n_bad = 0

    def answered(self, path: str, payload: dict) -> tuple[int, object]:
        draw = random.Random(f"{payload['messages']}{self.n_bad // 3}").random()
        if draw < 0.6:
            self.n_bad += 1
        if draw < 0.3:
            status, text = 500, ""
        elif draw < 0.6:
            status, text = 200, "Sorry, as a language model I {"
        else:
            asked, how = payload["messages"][-1]["content"], SamplingParameters(json_schema={})
            status, text = 200, self.teacher.say(asked, how)
        return status, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


@pytest.fixture
def server():
    made = BadServer()
    with serving(made.answered) as made.url:
        yield made


def test_with_a_bad_server_every_question_gets_a_skill_and_failures_are_counted(
    task, server, tmp_path
):
    teacher = Teacher(
        "m", base_url=server.url, api_key_variable=None, retries=0, directory=tmp_path
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
    assert 0 < labeler.catalog.counts["labeled by similarity"] < 120
