"""Problems before and after the student has tried them."""

import pytest
from pydantic import ValidationError

from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import CompletedTaskInstance, Message, TaskInstance, check_ids


def test_the_response_of_a_completed_instance_is_the_students_last_message():
    instance = TaskInstance(id="1", task="t", instruction="q", answer="4")
    said = tuple(Message(role=r, content=c) for r, c in [("user", "q"), ("assistant", "4")])
    completed = CompletedTaskInstance(
        instance=instance, transcript=said, reward=1.0, was_correct=True
    )
    assert completed.response == "4"
    assert completed.model_copy(update={"transcript": said[:1]}).response is None
    assert CompletedTaskInstance.model_validate_json(completed.model_dump_json()) == completed


def test_two_problems_of_one_id_are_refused():
    problems = [TaskInstance(id=name, task="t", instruction="?") for name in "abc"]
    check_ids(problems, "task 't'")
    with pytest.raises(InvalidInstanceError, match="two instances"):
        check_ids([*problems, problems[1]], "task 't'")


def test_an_instance_with_an_error_is_not_scored():
    problem = TaskInstance(id="a", task="t", instruction="?")
    fields = {"instance": problem, "transcript": (), "reward": 0.0, "was_correct": False}
    assert CompletedTaskInstance(**fields, scores={"kind": 0.5}).scores == {"kind": 0.5}
    for scored in ({"scores": {"kind": 0.5}}, {"reward": 1.0}, {"was_correct": True}):
        with pytest.raises(ValidationError, match="and no scores"):
            CompletedTaskInstance(**{**fields, **scored, "error": "HTTP 503"})
    with pytest.raises(ValidationError, match="finite"):
        CompletedTaskInstance(**fields, scores={"kind": float("inf")})
