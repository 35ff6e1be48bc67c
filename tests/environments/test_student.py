import pytest

from dataenvgym.environments.episode_directory import EpisodeDirectory
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.environments.student import Student
from dataenvgym.errors import AdapterError


class Forgetful:
    """A predictor whose adapters are all lost."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def reset(self) -> None:
        self.calls.append("reset")

    def load(self, path) -> None:
        self.calls.append(f"load {path.parent.name}")
        raise AdapterError("the adapter is gone")


def test_a_student_that_cannot_be_brought_back_does_not_hide_the_steps_own_error(tmp_path):
    predictor, error = Forgetful(), ValueError("the step's own")
    student = Student(predictor, EpisodeDirectory(tmp_path), TeachingOptions())
    student.load(None)
    with pytest.raises(AdapterError):
        student.load(3)
    student.go_back(3, error)
    assert predictor.calls == ["reset", "load 003", "load 003"]
    assert error.__notes__ == ["the student could not be restored either: the adapter is gone"]
