"""The config group `quality`: which checks an environment gets."""

import pytest

from dataenvgym.agents.quality import AlreadyKnownCheck, WrongAnswerCheck
from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.environments import TeachingEnvironment
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import SupervisedDatum
from dataenvgym.runs.config import build_environment, compose
from dataenvgym.runs.config.commented_yaml import describe
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import report_on
from tests.fakes import Teacher

STUDENT = ScriptedPredictor(lambda conversation: "#### 1")


class Mute:
    """A task that cannot judge records."""

    name = "mute"

    def evaluate(self, predictor):
        return []

    def generate_performance_report(self, completed):
        return report_on(self.name, completed)


def checks_of(*overrides: str, **parts: object) -> dict[str, type]:
    environment = build_environment(compose(list(overrides)), predictor=STUDENT, **parts).unwrapped
    assert isinstance(environment, TeachingEnvironment)
    return {check.reason: type(check) for check in environment.quality}


@pytest.mark.parametrize(
    ("name", "checks"),
    [
        ("wrong_answer", {"wrong_answer": WrongAnswerCheck}),
        ("already_known", {"already_known": AlreadyKnownCheck}),
        ("strict", {"wrong_answer": WrongAnswerCheck, "already_known": AlreadyKnownCheck}),
    ],
)
def test_each_option_brings_its_checks_and_says_what_it_is(name, checks):
    assert checks_of(f"quality={name}") == checks
    assert describe(options_by_group()["quality"][name])


def test_a_check_of_strict_can_be_left_out_and_its_options_changed():
    assert checks_of("quality=strict", "~quality.checks.already_known") == {
        "wrong_answer": WrongAnswerCheck
    }
    assert checks_of() == checks_of("~quality.checks") == {}


def test_wrong_answer_needs_a_judge_and_strict_does_not():
    with pytest.raises(ConfigurationError, match="judge_record"):
        checks_of("quality=wrong_answer", task=Mute())
    assert list(checks_of("quality=strict", task=Mute())) == ["wrong_answer", "already_known"]


def test_the_teacher_is_handed_to_the_check():
    class Numbers(Mute):
        domain = MathDomain()

    environment = build_environment(
        compose(["quality=wrong_answer"]),
        predictor=STUDENT,
        task=Numbers(),
        teacher=Teacher(lambda text, sampling: "#### 1"),
    ).unwrapped
    assert isinstance(environment, TeachingEnvironment)
    (check,) = environment.quality
    records = [SupervisedDatum(instruction="One?", output=f"#### {n}") for n in (1, 2)]
    assert check.passes(records, STUDENT) == [True, False]
