"""Problems before and after the student has tried them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from dataenvgym.records import CompletedTaskInstance, Message, TaskInstance


def test_the_response_of_a_completed_instance_is_the_students_last_message():
    instance = TaskInstance(id="1", task="t", instruction="q", answer="4")
    said = tuple(Message(role=r, content=c) for r, c in [("user", "q"), ("assistant", "4")])
    completed = CompletedTaskInstance(
        instance=instance, transcript=said, reward=1.0, was_correct=True
    )
    assert completed.response == "4"
    assert completed.model_copy(update={"transcript": said[:1]}).response is None
    assert CompletedTaskInstance.model_validate_json(completed.model_dump_json()) == completed


@pytest.mark.parametrize(
    "outcome", [{"reward": 1.0, "was_correct": False}, {"reward": 0.0, "was_correct": True}]
)
def test_an_instance_with_an_error_cannot_be_scored(outcome):
    instance = TaskInstance(id="1", task="t", instruction="q")
    with pytest.raises(ValidationError, match="error"):
        CompletedTaskInstance(instance=instance, transcript=(), error="timeout", **outcome)
