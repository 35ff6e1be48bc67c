"""Users: scripted, played by a model, or none."""

import json

import pytest

from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.domains.tool_use.user_seat import MOST_CALLING
from dataenvgym.domains.tool_use.users import STOP
from dataenvgym.errors import InvalidInstanceError, SpeakerError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records.instances import fault_of
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.tasks.judging import fenced
from dataenvgym.tasks.options import LONG_REPLIES
from dataenvgym.tasks.rollouts import rollout, speakers_of
from dataenvgym.teachers.teacher import StudentTeacher
from tests.domains.tool_use.phone_world import (
    READ,
    SET,
    SWITCH,
    Phone,
    begun,
    domain,
    instance,
    say,
)
from tests.fakes import Student
from tests.tasks.rollouts.fakes import Predictor, both_modes

ANN = {"kind": "model", "instructions": "You are Ann and want the large plan."}
WITH_DATA = {
    "kind": "script",
    "states": {
        "start": [
            {"asked": ["switch"], "calls": [SWITCH], "say": "It is on.", "then": "happy"},
            {"say": "I have no data."},
        ],
        "happy": [{"say": "Thanks.", "stop": True}],
    },
}


class Replies(Student):
    """A speaker that says these texts, one after the other."""

    @property
    def seen(self):
        """The conversations that it was asked in."""
        return [conversation for asked in self.rounds for conversation in asked]


def talk(conversation):
    return [(m.role, m.content) for m in conversation if m.role in ("user", "assistant")]


# --- scripts ---


def test_a_scripted_user_goes_from_state_to_state_and_stays_where_its_call_is_refused():
    environment = begun(instance(user=WITH_DATA, user_gold=[SWITCH]))
    for said, answer in (
        ("What is wrong?", "I have no data."),
        ("Please switch it on.", "Error: your plan has no data"),
        (say(SET), "large for 12 months"),
        ("Please switch it on.", "It is on."),
    ):
        assert environment.step(said)[0][-1].content == answer
    conversation, reward, done, *_ = environment.step("Great.")
    assert (conversation[-1].content, reward, done) == ("Thanks.", 1.0, True)


@pytest.mark.parametrize("kind", ["script", "model"])
def test_without_an_instruction_the_user_speaks_first(kind):
    script = {"kind": "script", "states": {"s": [{"say": "Hello?"}]}}
    problem = instance("i", "", user=script if kind == "script" else ANN)
    made, user = domain(), Replies("Hello?")
    environment = made.make_environment()
    environment.others = speakers_of({"user": user})
    conversation, _ = environment.reset(options={"instance": problem})
    assert [(m.role, m.content) for m in conversation[1:]] == [("user", "Hello?")]
    assert conversation[0].tools
    if kind == "model":
        assert [m.role for m in user.seen[0]] == ["system", "user"]
        assert [m.role for m in made.prompt(problem)] == ["system"]  # known without its words


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"s": [{"say": "x", "then": "t"}]}, "there is no state 't'"),
        ({"s": [{"asked": ["x"], "say": "x"}]}, "its last line fits only some messages"),
        ({}, "user.script.states"),
        ({"s": [{"calls": [{**SWITCH, "arguments": {}}]}]}, "'on' is m"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_by_field(states, message):
    problem = instance(user={"kind": "script", "states": states})
    with pytest.raises(InvalidInstanceError, match=message):
        domain().prepared(problem)


# --- models ---


def test_a_model_sees_its_instructions_and_the_talk_with_the_roles_exchanged():
    user = Replies("acc_7, please.", f"Thanks! {STOP}")
    sampling = SamplingParameters(temperature=0.7, max_tokens=33)
    environment = begun(instance(user=ANN), {"user": user}, user_sampling=sampling)
    environment.step(say(READ, words="I look."))
    environment.step("Which account?")
    environment.step(say(SET))
    conversation, reward, done, *_ = environment.step("It is done.")
    assert (conversation[-1].content, reward, done) == ("Thanks!", 1.0, True)
    first, second = user.seen
    assert (user.samplings[0].temperature, user.samplings[0].max_tokens) == (0.7, 33)
    assert first[0].role == "system"
    assert "You are Ann" in first[0].content
    assert "help customers" not in first[0].content
    greeting = ("user", "Hi! How can I help you today?")
    wish = ("assistant", "I want the large plan.")
    assert talk(first) == [greeting, wish, ("user", "I look.\nWhich account?")]
    assert talk(second)[3:] == [("assistant", "acc_7, please."), ("user", "It is done.")]
    assert [m.role for m in second] == ["system", *["user", "assistant"] * 2, "user"]


def test_a_model_calls_the_users_tools_and_sees_their_results_before_it_speaks():
    user = Replies(say(SWITCH, words="One moment."), say({"name": "look", "arguments": {}}), "On!")
    environment = begun(instance(user=ANN, user_gold=[SWITCH]), {"user": user})
    environment.step(say(SET))
    conversation, *_ = environment.step("Please switch your data on.")
    assert conversation[-1].content == "One moment.\nOn!"
    assert [m.content for m in user.seen[-1] if m.role == "tool"] == ["data is on", "true"]
    assert [t.name for t in user.seen[0][0].tools] == ["switch_data", "look"]
    assert not any("data is on" in m.content for m in conversation)
    user = Replies(say(SWITCH), say({"name": "fly", "arguments": {}}), "It does not work.")
    begun(instance(user=ANN), {"user": user}).step("Please switch your data on.")
    results = [m.content for m in user.seen[-1] if m.role == "tool"]
    assert results[0] == "Error: your plan has no data"
    assert results[1].startswith("Error: there is no tool 'fly'; the tools are: switch_data, look")


def test_a_step_whose_user_fails_can_be_tried_again():
    texts = [say(SWITCH), Failure(reason="busy"), say(SWITCH), "", "It is on."]
    user = Replies(*texts)
    environment = begun(instance(user=ANN, user_gold=[SWITCH]), {"user": user})
    environment.step(say(SET, words="Done."))
    for message in ("user: busy", "user: the reply is empty"):
        with pytest.raises(SpeakerError, match=message):
            environment.step("Please switch your data on.")
    conversation, *_ = environment.step("Please switch your data on.")
    assert conversation[-1].content == "It is on."
    assert [m.role for m in user.seen[-1]] == ["system", "user", "assistant", "user"]
    assert user.seen[-1][-1].content == "Done.\nPlease switch your data on."


# --- the rules ---

FACTS = {"facts": [{"asked": ["which account"], "tell": "acc_7"}]}
MANY = [say(SWITCH)] * (MOST_CALLING + 1)


@pytest.mark.parametrize(
    ("user", "replies", "message"),
    [
        ({}, MANY, "it called tools in 10 replies and did not speak"),
        ({"must_not_say": ["20"]}, ["I have $20.00."], "it said '20', which it must not say"),
        ({}, ["Eh", "eh", "Eh ", "Eh"], "it said the same 4 times in a row: 'Eh'"),
        (FACTS, ["No.", "Well.", STOP], "it was asked for 'acc_7' and never told it"),
    ],
)
def test_a_model_that_breaks_a_rule_is_at_fault(user, replies, message):
    environment = begun(instance(user={**ANN, **user}), {"user": Replies(*replies)})

    def talk_to_it():
        for number in range(len(replies)):
            environment.step(f"Which account, {number}?")

    with pytest.raises(SpeakerError, match=f"^user: {message}") as raised:
        talk_to_it()
    assert raised.value.fault == "user"


@pytest.mark.parametrize(
    ("user", "replies", "heard"),
    [
        ({}, ["And?"] * 8, ["Hm."] * 8),  # the student repeats itself too
        ({}, ["And?", "Oh.", "And?", "Oh.", "And?", "Oh."], "abcdef"),
        ({"must_not_say": ["20"]}, ["I have 200, on 2020-10-20."], "a"),
        (FACTS, [f"Bye. {STOP}"], ["Anything else?"]),
        (FACTS, ["I do not know.", "Ah, ACC_7!", STOP], ["Which account?", "b", "c"]),
        ({}, ['My note says {"name": "Ann", "arguments": {"x": 1}}', STOP], "ab"),
    ],
)
def test_a_model_that_keeps_the_rules_is_not_at_fault(user, replies, heard):
    environment = begun(instance(user={**ANN, **user}), {"user": Replies(*replies)})
    for text in heard:
        done = environment.step(text)[2]
    assert done == (STOP in replies[-1])


def test_a_student_whose_calls_fail_is_at_fault_even_if_the_user_withheld_something():
    user = {**ANN, **FACTS}
    environment = begun(instance(user=user), {"user": Replies("No.")}, max_errors=1)
    environment.step("Which account?")
    assert environment.step(say({"name": "fly"}))[1:3] == (0.0, True)


@pytest.mark.parametrize("kind", ["script", "model"])
def test_a_user_that_does_not_leave_when_its_problem_is_solved_is_at_fault(kind):
    script = {"kind": "script", "states": {"s": [{"say": "Please do it."}]}}
    user = Replies(*"abcdefgh")
    problem = instance(user=script if kind == "script" else ANN)
    environment = begun(problem, {"user": user}, max_turns=5)
    environment.step(say(SET))
    for _ in range(3):
        environment.step("It is done.")
    with pytest.raises(SpeakerError, match="although"):
        environment.step("It is done.")


def test_a_student_that_solves_it_late_is_not_the_users_fault():
    script = {"kind": "script", "states": {"s": [{"say": "Please do it."}]}}
    environment = begun(instance(user=script), max_turns=5)
    for text in ["Hm."] * 3 + [say(SET)]:
        environment.step(text)
    _, reward, _, truncated, info = environment.step("Done.")
    assert (reward, truncated, info["scores"]) == (0.0, True, {"state": 1.0})


# --- a judge ---


def judged(text, **options):
    judge = Replies(text, text, text)
    others = {"user": Replies(f"Bye. {STOP}"), "judge": judge}
    environment = begun(instance(user=ANN), others, judge_users=True, **options)
    return environment, judge


def test_a_judge_decides_the_fault_of_an_unsolved_conversation():
    environment, judge = judged('{"at_fault": "assistant", "reason": "It did nothing."}')
    _, reward, done, _, info = environment.step("No.")
    assert (reward, done, info["note"]) == (0.0, True, "judge: It did nothing.")
    asked = judge.seen[0][0].content
    assert "You are Ann" in asked
    assert "User:\n    I want the large plan.\n[3] Assistant:\n    No.\n" in asked
    assert 'set_plan({"account": "acc_7", "plan": "large"})' in asked
    assert judge.samplings[0].json_schema is not None
    environment, _ = judged('{"at_fault": "user", "reason": "It left."}')
    with pytest.raises(SpeakerError, match="judge says") as raised:
        environment.step("No.")
    assert raised.value.fault == "user"
    environment, judge = judged("")
    environment.step(say(SET))
    assert environment.step("Done.")[1] == 1.0
    assert not judge.seen  # it is not asked about solved conversations


def test_a_judge_reads_the_users_calls():
    judge = Replies('{"at_fault": "assistant", "reason": "x"}')
    others = {"user": Replies(say(SWITCH), f"Bye. {STOP}"), "judge": judge}
    problem = instance(user=ANN, user_gold=[SWITCH])
    begun(problem, others, judge_users=True).step("No.")
    asked = judge.seen[0][0].content
    switched = fenced('switch_data({"on": true})')
    called = '] User calls:\n    switch_data({"on": true})\n'
    assert f"{called}[5] Result:\n    Error: your plan has no data\n" in asked
    assert f"After them, calls of the user:\n{switched}" in asked


# --- many at once ---


@both_modes
def test_many_users_are_asked_at_once_and_each_has_its_own_view(make):
    def student(conversation):
        n = sum(m.role == "assistant" for m in conversation)
        return Reply(text=["Which account?", say(SET), "Done."][n])

    def user(conversation):
        assert sum(m.role == "system" for m in conversation) == 1
        name = conversation[0].content.rpartition(" ")[2]
        return Reply(text=f"{name}, {STOP}" if conversation[-1].content == "Done." else name)

    problems = [
        instance(f"i{k}", user={"kind": "model", "instructions": f"You are number {k}"})
        for k in range(40)
    ]
    other = make(user)
    completed = rollout(
        make(student),
        problems,
        domain().make_environment,
        sampling=LONG_REPLIES,
        others={"user": other},
        chunk_size=64,
    )
    assert [c.error for c in completed] == [None] * 40
    assert all(c.was_correct for c in completed)
    assert [c.transcript[3].content for c in completed] == [str(k) for k in range(40)]
    if make is Predictor:
        assert [len(chunk) for chunk in other.chunks] == [40, 40]


def test_problems_without_an_instruction_are_split_by_their_users(tmp_path):
    rows = []
    for k in range(12):
        model = {"kind": "model", "instructions": f"You are customer {k}."}
        script = {"kind": "script", "states": {"s": [{"say": f"I am customer {k}."}]}}
        user = model if k % 2 else script
        rows.append({"id": f"p{k}", "instruction": "", "user": user})
    (tmp_path / "first.jsonl").write_text("\n".join(map(json.dumps, rows)))
    task = ToolUseTask(Phone(), tmp_path / "first.jsonl")
    sizes = [len(task.on(split).instances) for split in ("train", "validation", "test")]
    assert sizes == [5, 3, 4]
    assert task.domain.text_of(task.on("test").instances[0]).startswith(("I am", "You are"))


@pytest.mark.slow
def test_the_pocket_student_may_be_the_user_and_the_judge_itself_or_as_a_teacher():
    student = InProcessPredictor()
    problems = [instance(f"i{k}", user=ANN, user_gold=[SWITCH]) for k in range(3)]
    others = {"user": student, "judge": StudentTeacher(student, cache=None)}
    task = domain(judge_users=True, max_turns=2)
    completed = rollout(
        Predictor(lambda c: Reply(text=say(SET) if len(c) == 2 else "Done.")),
        problems,
        task.make_environment,
        sampling=LONG_REPLIES,
        others=speakers_of(others),
    )
    faults = {fault_of(c) for c in completed}
    assert faults <= {"student", "user", "judge"}, [c.error for c in completed]
    assert all(len(c.transcript) >= 4 for c in completed)
