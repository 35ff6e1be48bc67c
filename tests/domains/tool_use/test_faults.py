"""Whose fault a failed conversation was: 100 faults of each kind, injected in many ways."""

from collections import Counter
from functools import partial

import pytest

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import ToolUseOptions
from dataenvgym.domains.tool_use.users import STOP
from dataenvgym.errors import EvaluationError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records.instances import fault_of
from dataenvgym.tasks.options import LONG_REPLIES
from dataenvgym.tasks.rollouts import rollout
from dataenvgym.tasks.worlds import tool
from tests.domains.tool_use.phone_world import READ, SET, SWITCH, Phone, instance, say
from tests.tasks.rollouts.fakes import Predictor, Submitting

UNKNOWN = {"name": "fly", "arguments": {}}
LOOK = {"name": "look", "arguments": {}}
OTHER = {**SET, "arguments": {"account": "acc_7", "plan": "huge"}}
NOBODY = {**SET, "arguments": {"account": "acc_8", "plan": "large"}}
ANN = {
    "kind": "model",
    "instructions": "You are Ann and want the large plan.",
    "facts": [{"asked": ["which account"], "tell": "acc_7"}],
    "must_not_say": ["12 months"],
}
SCRIPT = {
    "kind": "script",
    "states": {"s": [{"asked": ["done"], "say": "Bye.", "stop": True}, {"say": "And?"}]},
}


class ReadTimeout(Exception):
    """As libraries have them that do not derive from OSError."""


def raising(error):
    def raise_it(conversation):
        raise error

    return raise_it


def in_turn(*texts):
    """Says these, one in each turn, and then the last one again and again."""

    def answer(conversation):
        turn = sum(m.role == "assistant" for m in conversation)
        text = texts[min(turn, len(texts) - 1)]
        return text if isinstance(text, Failure) else Reply(text=text)

    return answer


def user_in_turn(*texts):
    """The same for a model in the user's seat, whose first message was given."""
    return in_turn(None, *texts)


SOLVES = in_turn("Which account is it?", say(SET), "Done.", "Done.", "Done.", "Done.", "Done.")
FAILS = in_turn("Which account is it?", say(OTHER), "Done.")
GOOD_USER = user_in_turn("acc_7", f"Thanks. {STOP}")
LEAVES = user_in_turn("It is acc_7.", "No, that is wrong.", STOP)


def outcome(student=SOLVES, user=GOOD_USER, judge=None, make=Predictor, problem=None, world=Phone):
    """Whose fault it was."""
    others = {"user": make(user)} if user else {}
    if judge is not None:
        others["judge"] = make(judge)
    made = ToolUseDomain(world(), ToolUseOptions(max_turns=6), judge_users=judge is not None)
    problem = problem or instance(user=ANN)
    (completed,) = rollout(
        make(student), [problem], made.make_environment, sampling=LONG_REPLIES, others=others
    )
    if completed.error is not None:
        assert (completed.reward, completed.was_correct, completed.scores) == (0.0, False, {})
    return fault_of(completed)


def test_without_a_fault_it_is_nobodys():
    for make in (Predictor, Submitting):
        assert outcome(make=make) is None
        assert outcome(make=make, problem=instance(user=SCRIPT)) is None


# --- the ways, each a function that gives whose fault it was ---

WRONG_STUDENTS = [
    *map(in_turn, ("No.", "", say(UNKNOWN), "Assistant: done", "x" * 100_000, "\ud800")),
    *(in_turn(say(*calls), "Done.") for calls in ([OTHER], [SET, OTHER], [NOBODY], [SWITCH])),
    *(
        in_turn(say({"name": "set_plan", "arguments": arguments}))
        for arguments in ({}, SET["arguments"] | {"months": "twelve"}, SET["arguments"] | {"x": 1})
    ),
    in_turn('<tool_call>\n{"name": "set_plan", "arg\n</tool_call>', "Done."),
    in_turn(*[say(READ)] * 9),
    in_turn(say(SET, *[UNKNOWN] * 5)),
    in_turn("[" * 2000, "{" * 2000, "I will do it.", "Done."),
    in_turn(*(f"Are you sure, number {k}?" for k in range(9))),
]
PLAIN_ENDS = [
    {"problem": instance()},
    {"problem": instance(user=SCRIPT)},
    {"user": user_in_turn(*(f"acc_7, please, {k}" for k in range(3)), STOP)},
    {"user": user_in_turn("acc_7?", "Hm.", f"Well, bye. {STOP}"), "make": Submitting},
    {"user": LEAVES, "judge": in_turn('{"at_fault": "assistant", "reason": "it is"}')},
    {"problem": instance(basis=["state", "said"], said=["12"])},
]


def student_faults():
    for student in WRONG_STUDENTS:
        for end in PLAIN_ENDS:
            yield partial(outcome, student, **end)


ERRORS = [ValueError("no"), KeyError("x"), RuntimeError(""), ZeroDivisionError(), TypeError("é")]
OUTAGES = [
    *(TimeoutError(), ConnectionError("x"), OSError("x"), ConnectionResetError()),
    *(BrokenPipeError(), ReadTimeout("slow"), InterruptedError(), ConnectionAbortedError()),
]


def user_faults():
    replies = ["", "\t\n ", "\u00a0", "Assistant: Done.", "**Agent:** Sure!", "x\n# Assistant:"]
    replies += [say(SET), say(UNKNOWN, SET), say(SET, words="I do it."), say(SET) + STOP, "\ud800"]
    replies += ["It is for 12 months.", "12.0 MONTHS?", f"12 months. {STOP}"]
    replies += ["x" * 8_001, "word " * 2_000, "[" * 9_000]
    users = [user_in_turn(text) for text in replies]
    users += [user_in_turn(*[say(call)] * 30) for call in (LOOK, UNKNOWN)]
    users += [in_turn("acc_7", "And?", "Ah?", "So?", "Eh?"), *map(raising, ERRORS)]
    users += [user_in_turn(Failure(reason=r)) for r in ("HTTP 400: too long", "filter", "no text")]
    secrets = ("acc_6", "I forgot it.", "Never mind.", f"No. {STOP}", STOP)
    withheld = [user_in_turn(text, STOP) for text in secrets]
    first = instance("i", "", user=ANN)
    lingers = {"kind": "script", "states": {"s": [{"say": "Please."}]}}
    for make in (Predictor, Submitting):
        yield from (partial(outcome, user=user, make=make) for user in users)
        for user in withheld:
            for student in (FAILS, in_turn("Which account is it?", "No.")):
                yield partial(outcome, student, user=user, make=make)
        for text in ("", STOP, "12 months", say(SET)):
            yield partial(outcome, user=in_turn(text), problem=first, make=make)
        repeats = user_in_turn(*["Hello?"] * 9)
        yield partial(outcome, in_turn(*"abcdefgh"), user=repeats, make=make)
        for say_so in ("Done.", "It is done.", "Ready", "Anything else?"):
            student = in_turn(say(SET), *[say_so] * 9)
            yield partial(outcome, student, problem=instance(user=lingers), make=make)
            yield partial(outcome, student, user=user_in_turn(*"abcdefg"), make=make)
    verdict = in_turn('{"at_fault": "user", "reason": "it lied"}')
    yield partial(outcome, FAILS, user=LEAVES, judge=verdict)


def judge_faults():
    texts = [" ", "It was the user.", "{}", "[1, 2]", "null", "3", "{" * 500, "x" * 99_999]
    texts += ['{"at_fault": "user"}', '{"at_fault": "me", "reason": "x"}', '{"reason": "x"}']
    texts += ['{"at_fault": ["user"], "reason": "x"}', '{"at_fault": null, "reason": "x"}']
    texts += ['{"at_fault": "user", "reason": 5}', '{"at_fault": {}, "reason": {}}']
    texts += ["```json", "\ud800"]
    answers = [*map(in_turn, texts), *map(raising, ERRORS)]
    answers += [in_turn(Failure(reason=reason)) for reason in ("HTTP 400", "no", "filtered")]
    for make in (Predictor, Submitting):
        for answer in answers:
            for student in (FAILS, in_turn("No.")):
                yield partial(outcome, student, user=LEAVES, judge=answer, make=make)


class Breaking(Phone):
    """A world whose tools, the user's `look` included, fail in the way that `error` says."""

    def __init__(self, error):
        self.error = error
        super().__init__()

    def _account(self, account):
        if isinstance(self.error, BaseException):
            raise self.error
        return self.error

    @tool(by="user")
    def look(self) -> bool:
        """Whether data is on."""
        return self._account("").is_on


def environment_faults():
    errors = [*ERRORS, *OUTAGES, RecursionError(), MemoryError(), EvaluationError("x"), EOFError()]
    errors += [AttributeError(), AssertionError(), NotImplementedError(), StopIteration()]
    looks = {"kind": "script", "states": {"s": [{"calls": [LOOK], "say": "Hm."}]}}
    ends = [{"problem": instance()}, {"problem": instance(user=SCRIPT)}, {}]
    ends += [{"student": in_turn("Look."), "problem": instance(user=looks)}]
    ends += [{"student": in_turn("Look."), "user": user_in_turn(say(LOOK), "Hm.")}]
    for error in (*errors, "not an account", 7, None, object()):
        for end in ends:
            yield partial(outcome, world=partial(Breaking, error), **end)
    asserted = [{"check": "breaks"}, {"check": "is_vague"}, {"check": "has_moon"}]
    asserted += [{"check": "has_plan", "arguments": {"x": 1}}]
    broken = [
        *(instance(gold=[call]) for call in (NOBODY, UNKNOWN)),
        *(instance(basis=["assertions"], assertions=[each]) for each in asserted),
        *(instance(state=state) for state in ({"moon": 1}, {"accounts": {"acc_9": {}}})),
        *(instance(user=user) for user in ({"kind": "robot"}, {"kind": "script", "states": {}})),
        instance(user_gold=[{"name": "switch_data", "arguments": {"on": "yes"}}]),
        *(instance(world="moon"), instance(basis=["said"]), instance(color="red")),
    ]
    for problem in broken:
        for make in (Predictor, Submitting):
            yield partial(outcome, in_turn(say(SET), "Done."), problem=problem, make=make)


def infrastructure_faults():
    down = [Failure(reason=r, outage=True) for r in ("gave up", "not asked: the budget", "closed")]
    failed = [Failure(reason=r) for r in ("HTTP 500", "user: x", "too long", "judge: y")]
    for make in (Predictor, Submitting):
        for student in map(raising, (*OUTAGES, *ERRORS, MemoryError())):
            yield partial(outcome, student, make=make)
        for failure in down + failed:
            yield partial(outcome, in_turn(failure), make=make)
            yield partial(outcome, in_turn("Which account?", failure), make=make)
        for answer in (*map(raising, OUTAGES), *map(in_turn, down)):
            yield partial(outcome, FAILS, user=LEAVES, judge=answer, make=make)
        for user in (*map(raising, OUTAGES), *map(user_in_turn, down), None):  # there is no speaker
            yield partial(outcome, user=user, make=make)


KINDS = {
    "student": student_faults,
    "user": user_faults,
    "environment": environment_faults,
    "judge": judge_faults,
    "infrastructure": infrastructure_faults,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_faults_of_a_kind_are_all_charged_to_it(kind):
    cases = list(KINDS[kind]())
    assert len(cases) >= 100
    assert Counter(case() for case in cases) == {kind: len(cases)}
