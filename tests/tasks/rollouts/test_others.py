"""Rollouts in which environments ask other models than the student."""

from functools import partial

import gymnasium
import pytest

from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError, SpeakerError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Message, Model
from dataenvgym.records.instances import fault_of
from dataenvgym.tasks import Ask, Outcome, TaskEnvironment
from dataenvgym.tasks.judging import judge_ask, panel_ask
from dataenvgym.tasks.rollouts import rollout
from dataenvgym.tasks.rollouts.driver import answered_together
from tests.fakes import Teacher
from tests.tasks.rollouts.fakes import (
    SAMPLING,
    Countdown,
    Echo,
    Predictor,
    Submitting,
    both_modes,
    instances,
    say_digits,
    say_how_many_came_before,
)

KINDS = [Predictor, Submitting]
both_kinds = pytest.mark.parametrize("make_other", KINDS, ids=["predict", "submit"])


def user(text):
    return (Message(role="user", content=text),)


class Interview(TaskEnvironment):
    """Instance k takes k + 1 messages; a user answers each, and a judge scores the last one."""

    def begin(self, instance):
        said = (yield Ask("user", user(f"begin {instance.id}"))).text
        return user(f"{instance.instruction} {said}")

    def respond(self, instance, conversation):
        turn = sum(m.role == "assistant" for m in conversation)
        if turn <= int(instance.answer):
            said = (yield Ask("user", user(f"turn {turn} of {instance.id}"))).text
            return Outcome(messages=user(said), done=False)
        verdict = (yield Ask("judge", user(f"judge {instance.id}"))).text
        return Outcome(reward=0.5, was_correct=verdict == "yes", info={"note": verdict})


def shout(conversation):
    return Reply(text=conversation[-1].content.upper())


def yes(conversation):
    return Reply(text="yes")


def fail(error):
    raise error


def interviewed(make, make_user=Predictor, make_judge=Predictor, *, n=6, answer=shout, **options):
    others = {"user": make_user(answer), "judge": make_judge(yes)}
    student = make(say_how_many_came_before)
    options = {"chunk_size": 2, "sampling": SAMPLING, "others": others} | options
    return rollout(student, instances(n), Interview, **options)


def test_results_are_the_same_with_and_without_rounds_of_student_and_others():
    results = [interviewed(a, b, c) for a in KINDS for b in KINDS for c in KINDS]
    assert all(result == results[0] for result in results)
    assert all(c.was_correct and c.error is None and c.note == "yes" for c in results[0])
    assert [m.content for m in results[0][2].transcript] == [
        *("Sag 2! BEGIN I2", "0", "TURN 1 OF I2", "1", "TURN 2 OF I2", "2")
    ]


@both_modes
def test_all_that_one_speaker_is_asked_is_a_batch_in_the_order_of_the_instances(make):
    others = {"user": Predictor(shout), "judge": Predictor(yes)}
    interviewed(make, others=others, chunk_size=4, threads=3)
    ids = [f"i{k}" for k in range(6)]
    assert others["user"].chunks[:2] == [
        [f"begin {i}" for i in ids[:4]],
        [f"begin {i}" for i in ids[4:]],
    ]
    assert others["user"].chunks[2:4] == [
        [f"turn 1 of {i}" for i in ids[1:4]],
        [f"turn 1 of {i}" for i in ids[4:]],
    ]


def test_the_student_is_asked_once_no_environment_waits_for_another_speaker():
    class Uneven(TaskEnvironment):
        def begin(self, instance):
            for _ in range(int(instance.answer)):
                yield Ask("user", user("?"))
            return user(instance.instruction)

        def respond(self, instance, conversation):
            return Outcome(was_correct=conversation[-1].content == instance.answer)

    student = Predictor(say_digits)
    others = {"user": Predictor(yes)}
    completed = rollout(student, instances(4), Uneven, sampling=SAMPLING, others=others)
    assert [len(chunk) for chunk in others["user"].chunks] == [3, 2, 1]
    assert ([len(chunk) for chunk in student.chunks], completed[3].was_correct) == ([4], True)


@both_modes
@both_kinds
def test_a_failure_of_another_speaker_is_an_error_under_its_name_and_no_wrong_answer(
    make, make_other
):
    def answer(conversation):
        text = conversation[-1].content
        if text == "begin i1":
            return Failure(reason="HTTP 503")
        if text == "turn 1 of i2":
            raise ValueError("too long")
        return Reply(text="\ud800") if text == "turn 1 of i3" else shout(conversation)

    completed = interviewed(make, make_other, n=5, answer=answer)
    assert [c.error for c in completed] == [
        None,
        "user: HTTP 503",
        "user: ValueError: too long",
        "user: the reply is not Unicode text: surrogates not allowed at position 0",
        None,
    ]
    assert [(c.was_correct, c.reward) for c in completed[1:4]] == [(False, 0.0)] * 3
    assert completed[1].transcript == ()
    assert [m.role for m in completed[2].transcript] == ["user", "assistant"]  # to be tried again


@both_modes
def test_a_speaker_that_is_missing_or_breaks_its_contract_is_named(make):
    for c in interviewed(make, others={"user": Predictor(shout)}, n=2):
        assert c.error.startswith("judge: the environment asks it")
        assert "task.others.judge" in c.error
    with pytest.raises(PredictionError, match="predict"):
        interviewed(make, answer=lambda conversation: None)


@pytest.mark.parametrize(
    "error", [PredictionError("gone"), ConfigurationError("no"), BudgetSpentError("spent")]
)
@both_modes
@both_kinds
def test_another_speaker_that_cannot_work_at_all_says_so_to_the_caller(make, make_other, error):
    def answer(conversation):
        return fail(error) if conversation[-1].content == "begin i3" else shout(conversation)

    with pytest.raises(type(error)) as raised:
        interviewed(make, make_other, answer=answer, n=5, threads=2)
    assert raised.value is error


@both_modes
@both_kinds
def test_an_environment_that_never_ends_to_ask_or_whose_speaker_fails_is_ended(make, make_other):
    ended = []

    class Curious(Echo):
        max_asks = 5

        def respond(self, instance, conversation):
            try:
                while True:
                    yield Ask("user", user("And?"))
            except Exception:  # a failure is not an exception that it could swallow
                return Outcome(was_correct=True)
            finally:
                ended.append(instance.id)

    for other, error in ((yes, "environment: Eval"), (lambda c: Failure(reason="no"), "user: no")):
        others = {"user": make_other(other)}
        student = make(say_digits)
        (done,) = rollout(student, instances(1), Curious, sampling=SAMPLING, others=others)
        assert done.error.startswith(error)
    assert ended == ["i0", "i0"]


class Sampled(TaskEnvironment):
    """Asks twice in each of two turns, and notes nothing."""

    def __init__(self, temperature=1.0, others=None):
        super().__init__(others=others)
        self.sampling = SamplingParameters(temperature=temperature, max_tokens=9)

    def respond(self, instance, conversation):
        for _ in range(2):
            yield Ask("user", user(instance.id), self.sampling)
        return Outcome(messages=user("?"), done=len(conversation) == 4)


class Heard(Predictor):
    """Keeps the seeds that it is asked with, by conversation."""

    def __init__(self):
        super().__init__(yes)
        self.seeds = {}

    def predict(self, conversations, sampling):
        for conversation in conversations:
            self.seeds.setdefault(conversation[0].content, []).append(sampling.seed)
        return super().predict(conversations, sampling)


def test_seeds_of_asks_derive_from_the_instance_the_turn_and_the_number():
    def seeds(of, make=Predictor, seed=0, **made):
        heard = Heard()
        sampling = SamplingParameters(seed=seed)
        made = partial(Sampled, **made)
        rollout(make(yes), of, made, sampling=sampling, others={"user": heard}, chunk_size=2)
        return heard.seeds

    first = seeds(instances(3))
    drawn = [seed for each in first.values() for seed in each]
    assert len(set(drawn)) == len(drawn) == 12
    assert max(drawn) < 2**31  # some servers take no larger ones
    assert seeds(instances(3)[::-1], Submitting) == first
    assert seeds(instances(3), seed=1) != first
    assert seeds(instances(1), seed=5, temperature=0.0) == {"i0": [0] * 4}  # greedy ones have none


@both_modes
def test_an_environment_that_is_stepped_from_outside_asks_by_itself(make):
    """A wrapper, and a subclass with a `step` of its own: `rollout` does not go round them."""
    others = {"user": Predictor(shout), "judge": Predictor(yes)}

    class Louder(gymnasium.RewardWrapper):
        def reward(self, reward):
            return 2 * reward

    class Own(Interview):
        def step(self, action):
            conversation, reward, *rest = super().step(action)
            return conversation, 2 * float(reward), *rest

    for made in (lambda: Own(others=others), lambda: Louder(Interview(others=others))):
        student = make(say_how_many_came_before)
        completed = rollout(student, instances(3), made, sampling=SAMPLING, others=others)
        assert [c.reward for c in completed] == [1.0] * 3
        assert all(c.was_correct for c in completed)

    others["judge"] = Predictor(lambda c: Failure(reason="HTTP 503"))
    (completed,) = rollout(make(yes), instances(1), made, sampling=SAMPLING, others=others)
    assert completed.error == "judge: HTTP 503"
    others["user"] = Predictor(lambda c: fail(BudgetSpentError("spent")))  # is for the caller
    with pytest.raises(BudgetSpentError):
        rollout(make(yes), instances(3), made, sampling=SAMPLING)


def test_environments_with_only_reset_and_step_work_together_with_others():
    class Plain:
        def reset(self, *, seed=None, options=None):
            self.instance = options["instance"]
            return user(self.instance.instruction), {}

        def step(self, action):
            said = (*user(self.instance.instruction), Message(role="assistant", content=action))
            return said, 1.0, True, False, {"was_correct": action == self.instance.answer}

    others = {"user": Predictor(shout)}
    completed = rollout(
        Predictor(say_digits), instances(3), Plain, sampling=SAMPLING, others=others
    )
    assert all(c.was_correct for c in completed)
    assert not others["user"].chunks


def test_other_speakers_connect_before_anything_is_asked():
    class Late(Predictor):
        def connect(self):
            raise ConfigurationError("no server here")

    with pytest.raises(ConfigurationError, match="no server here"):
        rollout(Predictor(yes), [], Countdown, sampling=SAMPLING, others={"user": Late(shout)})


@both_modes
def test_a_teacher_can_be_a_speaker_whose_name_is_the_purpose_of_its_calls(make):
    teacher = Teacher(lambda text, sampling: text.upper())
    assert interviewed(make, others={"user": teacher, "judge": Predictor(yes)}) == interviewed(make)
    assert teacher.purposes == {"user"}


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"predictor": Predictor(yes)}, "speaker 'predictor', expected a name such as 'user'"),
        ({"the user": Predictor(yes)}, "speaker 'the user'"),
        ({"user": "gpt"}, "'user' is 'gpt', expected"),
    ],
)
def test_objects_that_cannot_be_speakers_are_refused(others, message):
    with pytest.raises(ConfigurationError, match=message):
        rollout(Predictor(yes), [], Echo, sampling=SAMPLING, others=others)


def test_a_judge_that_cannot_be_held_to_a_schema_is_asked_without_it():
    class InProcess(Predictor):
        def predict(self, conversations, sampling):
            if sampling.json_schema is not None:
                raise ConfigurationError("json_schema is set")
            return super().predict(conversations, sampling)

    judge = InProcess(lambda c: Reply(text='{"is_right": true}'))
    asked = [judge_ask(user("right?"), Verdict)]
    assert answered_together(asked, {"judge": judge}) == [Verdict(is_right=True)]


class Verdict(Model):
    is_right: bool


class Quoted(Interview):
    """The judge reads what the student said last."""

    def respond(self, instance, conversation):
        said = f"judge {instance.id}: {conversation[-1].content}"
        verdict = (yield Ask("judge", user(said))).text
        return Outcome(reward=0.5, was_correct=verdict == "yes", scores={"seen": 1.0})


def quoted(make, make_judge, judge, said):
    others = {"user": make_judge(yes), "judge": make_judge(judge)}
    student = make(lambda conversation: Reply(text=said))
    return rollout(student, instances(2), Quoted, sampling=SAMPLING, others=others)


def fails_for(part, error):
    """Yes, unless that part is in the conversation."""

    def answer(conversation):
        if part not in conversation[-1].content:
            return yes(conversation)
        if isinstance(error, Exception):
            raise error
        return error

    return answer


REFUSALS = [Failure(reason="HTTP 400: too long"), ValueError("too long")]


@pytest.mark.parametrize("error", REFUSALS, ids=["failure", "exception"])
@both_modes
@both_kinds
def test_a_speaker_that_refuses_the_students_words_makes_the_answer_wrong(make, make_other, error):
    completed = quoted(make, make_other, fails_for("zzz", error), "zzz z")
    assert [(c.error, c.was_correct, c.reward) for c in completed] == [(None, False, 0.0)] * 2
    assert all("the student's words: judge: " in c.note for c in completed)
    assert [c.response for c in completed] == ["zzz z"] * 2


@pytest.mark.parametrize("error", REFUSALS, ids=["failure", "exception"])
@both_modes
@both_kinds
def test_a_speaker_that_refuses_the_problem_itself_is_at_fault_whatever_the_student_said(
    make, make_other, error
):
    judge = fails_for("i1", error)
    completed = quoted(make, make_other, judge, "It is i1, judge.")
    assert [fault_of(c) for c in completed] == ["student", "judge"]
    completed = quoted(make, make_other, judge, "So.")
    assert [c.was_correct for c in completed] == [True, False]
    assert fault_of(completed[1]) == "judge"


@both_modes
def test_a_speaker_that_failed_by_chance_has_answered(make):
    left = [Failure(reason="hiccup")]
    completed = quoted(make, Predictor, lambda c: left.pop() if left else yes(c), "zzz")
    assert all(c.was_correct for c in completed)


@both_modes
@both_kinds
def test_a_speaker_out_of_reach_is_not_the_students_fault(make, make_other):
    judge = fails_for("zzz", Failure(reason="timeout", outage=True))
    completed = quoted(make, make_other, judge, "zzz")
    assert [fault_of(c) for c in completed] == ["infrastructure"] * 2


@both_modes
def test_a_student_that_its_own_model_refuses_after_its_words_is_wrong(make):
    def says(conversation):
        if any(m.content == "zzz more" for m in conversation if m.role == "assistant"):
            return Failure(reason="HTTP 400: too long")
        return Reply(text="zzz more")

    class Talks(Echo):
        def respond(self, instance, conversation):
            return Outcome(messages=user("And?"), done=False, scores={"turns": 1.0})

    completed = rollout(make(says), instances(2), Talks, sampling=SAMPLING)
    assert [(c.error, c.was_correct, c.scores) for c in completed] == [
        (None, False, {"turns": 1.0})
    ] * 2
    assert all("the student's words: HTTP 400" in c.note for c in completed)


def test_a_panel_of_which_one_refuses_the_students_words_still_judges():
    class Panel(Echo):
        def respond(self, instance, conversation):
            asked = user(conversation[-1].content)
            judged = yield from panel_ask(asked, Verdict, who=("strict", "kind"))
            if not judged.verdicts:
                raise SpeakerError("strict: no verdict")
            return Outcome(was_correct=True)

    refuses = Predictor(fails_for("zzz", REFUSALS[0]))
    says = Predictor(lambda c: Reply(text='{"is_right": true}'))
    student = Predictor(lambda c: Reply(text="zzz"))
    for kind, is_right in ((says, True), (refuses, False)):
        others = {"strict": refuses, "kind": kind}
        (done,) = rollout(student, instances(1), Panel, sampling=SAMPLING, others=others)
        assert (done.error, done.was_correct) == (None, is_right)
