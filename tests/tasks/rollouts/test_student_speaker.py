"""The student as another speaker."""

import pytest

from dataenvgym.environments.shown_student import ShownStudent, TimedPredictor
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Ask, Reply
from dataenvgym.records import Message
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.rollouts import StudentSpeaker, describe_speakers, rollout
from tests.tasks.rollouts.fakes import SAMPLING, Predictor, Submitting, instances


class Talk(TaskEnvironment):
    """Asks the partner once; the student's message and the partner's are both kept."""

    def respond(self, instance, conversation):
        said = (yield Ask("partner", (Message(role="user", content="You?"),))).text
        return Outcome(messages=(Message(role="user", content=said),), reward=1.0)


class Learner(Predictor):
    """Answers with the name of its adapter; others share its base."""

    def __init__(self, name="current", former=None):
        super().__init__(lambda conversation: Reply(text=name))
        self.former = former
        self.beside = []
        self.n_closed = 0

    def with_adapter(self, folder):
        self.beside.append(Learner("untouched" if folder is None else folder.name))
        return self.beside[-1]

    def former_adapter(self):
        return self.former

    def remember_former(self, folder):
        self.former = folder

    def close(self):
        self.n_closed += 1


def partner_said(student, speaker):
    done = rollout(student, instances(3), Talk, sampling=SAMPLING, others={"partner": speaker})
    assert [c.error for c in done] == [None] * 3
    (said,) = {c.transcript[-1].content for c in done}
    return said


@pytest.mark.parametrize("kind", [Predictor, Submitting])
def test_the_student_itself_may_answer_for_another_speaker(kind):
    student = kind(lambda conversation: Reply(text=conversation[-1].content))
    assert partner_said(student, StudentSpeaker()) == "You?"


def test_former_untouched_and_saved_adapters_answer_together_with_the_student(tmp_path):
    folders = [tmp_path / name for name in ("former", "saved")]
    for folder in folders:
        folder.mkdir()
    student = Learner(former=folders[0])
    assert partner_said(student, StudentSpeaker("former")) == "former"
    assert partner_said(student, StudentSpeaker(folders[1])) == "saved"
    assert partner_said(student, StudentSpeaker("untouched")) == "untouched"
    assert partner_said(Learner(former=None), StudentSpeaker("former")) == "untouched"
    others = {"partner": StudentSpeaker("untouched")}

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # they are closed in any case
        rollout(student, instances(1), stop, sampling=SAMPLING, others=others)
    assert [other.n_closed for other in student.beside] == [1, 1, 1, 1]
    assert student.n_closed == 0


@pytest.mark.parametrize("wrap", [TimedPredictor, ShownStudent])
def test_a_student_that_an_environment_wraps_plays_against_its_former_self_too(wrap, tmp_path):
    student = Learner(former=tmp_path)
    assert partner_said(wrap(student), StudentSpeaker("former")) == tmp_path.name
    assert [other.n_closed for other in student.beside] == [1]


def test_time_of_a_former_self_counts_as_time_of_the_student(tmp_path):
    timed = TimedPredictor(Learner(former=tmp_path))
    beside = timed.with_adapter(tmp_path)
    beside.predict([(Message(role="user", content="?"),)], SAMPLING)
    assert timed.seconds == beside.seconds > 0


def test_a_student_that_cannot_speak_there_is_named():
    for adapter in ("former", "untouched"):
        with pytest.raises(ConfigurationError, match="another adap"):
            partner_said(Predictor(None), StudentSpeaker(adapter))
    environment = Talk(instances(1), others={"partner": StudentSpeaker()})
    environment.reset(seed=0)
    with pytest.raises(ConfigurationError, match="stepped by itself"):
        environment.step("Hi.")
    with pytest.raises(ConfigurationError, match="mean 'former'"):
        StudentSpeaker("fromer")


def test_a_saved_adapter_is_described_by_its_content(tmp_path):
    (tmp_path / "weights").write_text("1")
    one = describe_speakers({"partner": StudentSpeaker(tmp_path)})
    (tmp_path / "weights").write_text("2")
    assert one != describe_speakers({"partner": StudentSpeaker(tmp_path)})
