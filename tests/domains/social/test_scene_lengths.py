"""Scenes that a student has no room for are refused before any is played."""

import pytest

from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.evaluation import refuse_long_scenes
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure

from ...fakes import Student

SILENT = AssertionError("asked")


class Full(Student):
    """Has no room for conversations of so many characters."""

    def __init__(self, room):
        super().__init__(SILENT)
        self.room = room

    def refusals(self, conversations):
        lengths = [sum(len(message.content) for message in c) for c in conversations]
        return [Failure(reason="too long") if n > self.room else None for n in lengths]


def test_a_student_without_room_is_refused_with_a_way_out_and_nobody_is_asked():
    task = SocialTask(partner="model", others=dict.fromkeys(("partner", "judge"), Student(SILENT)))
    instances = task.instances[:4]
    with pytest.raises(ConfigurationError) as info:
        refuse_long_scenes(task, Full(room=10), instances)
    assert "4 of 4 scenes cannot begin with this student: too long. Choose task=pocket_social" in (
        str(info.value)
    )
    refuse_long_scenes(task, Full(room=100_000), instances)


def test_a_predictor_that_cannot_tell_is_not_refused():
    refuse_long_scenes(SocialTask(), Student(SILENT), ())
