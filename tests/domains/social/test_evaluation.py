"""The scenes and seats of an evaluation, and its requirements."""

from pathlib import Path

import pytest

from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.evaluation import Scenes, refuse_long_scenes
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure
from dataenvgym.runs.config import build_task, compose
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import Student

SAME = (
    "task=social",
    "model=openai/A",
    "task.others.partner=openai/A",
    "task.others.judge=openai/J",
)
STRATEGISTS = ("strategist", "partner_strategist")


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")


def prepared(*overrides, adapter=None):
    config = compose(overrides, name="eval")
    return config, Scenes.of(config, overrides, adapter)


def test_with_a_judge_all_seven_dimensions_are_scored_unless_some_are_named():
    assert list(prepared(*SAME)[0].task.dimensions) == list(DIMENSIONS)
    assert prepared(*SAME, "task.dimensions=[goal]")[0].task.dimensions == ["goal"]
    assert prepared("task=social", "task.partner=fair")[0].task.dimensions == ["goal"]


def test_a_task_that_is_not_chosen_now_has_the_dimensions_that_it_had():
    config = compose(SAME, name="eval")
    Scenes.of(config, ["task.others.judge=openai/J"], None)
    assert config.task.dimensions == ["goal"]


@pytest.mark.parametrize(
    ("overrides", "adapter"),
    [
        (SAME, None),
        (("task=social", "model=hf/A", "task.others.partner=hf/A:b"), Path("b")),
        (("task=social", "model=hf/A", "task.others.partner=student"), None),
        ((*SAME, *(f"task.others.{who}=openai/S" for who in STRATEGISTS)), None),
    ],
)
def test_the_same_model_in_both_seats_plays_each_scene_once_and_every_seat_is_scored(
    overrides, adapter
):
    config, scenes = prepared(*overrides, adapter=adapter)
    assert scenes.are_seats_alike
    assert (config.task.seats, config.task.scored) == ("first", "all")


@pytest.mark.parametrize(
    "overrides",
    [
        (*SAME, "task.others.partner=openai/B"),
        (*SAME, "task.others.partner.base_url=http://127.0.0.1:1"),
        (*SAME, "task.partner_sampling.temperature=1.0"),
        (*SAME, "task.system_prompt=Be nice."),
        ("task=social", "task.partner=fair"),
        ("task=social", "model=hf/A", "task.others.partner=hf/A:b"),
        (*SAME, "task.others.strategist=openai/S"),
        (*SAME, "task.others.strategist=openai/S", "task.others.partner_strategist=openai/T"),
        (*SAME, "task.role=strategist"),
        (*SAME, "task.scenes=procedural"),
        ("task=social", "model=openai/A", "task.others.partner=student/former", SAME[-1]),
    ],
)
def test_different_models_play_from_both_seats(overrides):
    config, scenes = prepared(*overrides)
    assert not scenes.are_seats_alike
    assert (config.task.seats, config.task.scored) == ("both", "student")


def test_only_the_requested_seat_is_played():
    config, scenes = prepared(*SAME, "task.seats=second")
    assert not scenes.are_seats_alike
    assert (config.task.seats, config.task.scored) == ("second", "student")


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("task.partner=model",), "task.others.partner=openai/NAME"),
        (
            ("task.others.partner=openai/A",),
            "no speaker 'judge' to judge: name one with task.others.judge=openai/NAME",
        ),
    ],
)
def test_a_speaker_that_is_missing_is_named_before_any_is_asked(overrides, expected):
    config, scenes = prepared("task=social", "model=openai/A", *overrides)
    task = build_task(config).whole()
    with pytest.raises(ConfigurationError, match=expected):
        scenes.check(task, ScriptedPredictor([]), task.instances)


class Full(Student):
    """Has no room for conversations of so many characters."""

    room = 10

    def refusals(self, conversations):
        lengths = [sum(len(message.content) for message in c) for c in conversations]
        return [Failure(reason="too long") if n > self.room else None for n in lengths]


def test_a_student_without_room_is_refused_with_a_way_out_and_nobody_is_asked():
    silent = AssertionError("asked")
    others = dict.fromkeys(("partner", "judge"), Student(silent))
    task = SocialTask(partner="model", others=others)
    student = Full(silent)
    reason = "4 of 4 scenes cannot begin with this student: too long. Choose task=pocket_social"
    with pytest.raises(ConfigurationError, match=reason):
        refuse_long_scenes(task, student, task.instances[:4])
    student.room = 100_000
    refuse_long_scenes(task, student, task.instances[:4])
    refuse_long_scenes(task, Student(silent), ())  # it cannot tell
