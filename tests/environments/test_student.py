import pytest

from dataenvgym.environments import SkillList
from dataenvgym.errors import AdapterError
from tests.fakes import begun


def test_a_student_that_cannot_be_brought_back_does_not_hide_the_steps_own_error(
    task, student, records, monkeypatch
):
    environment = begun(SkillList(task, student))
    environment.step(records[:1])

    def fail(*_: object) -> None:
        raise ValueError("the step's own")

    def forget(path: object) -> None:
        raise AdapterError("the adapter is gone")

    monkeypatch.setattr(student, "train", fail)
    monkeypatch.setattr(student, "load", forget)
    with pytest.raises(ValueError, match="own") as caught:
        environment.step(records[1:])
    assert caught.value.__notes__ == [
        "the student could not be restored either: the adapter is gone"
    ]
