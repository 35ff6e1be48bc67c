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
from dataenvgym.rollouts import rollout
from dataenvgym.tasks.options import LONG_REPLIES
from dataenvgym.tasks.worlds import ToolError, tool

from ...rollouts.fakes import Predictor, Submitting
from .phone_world import SET, Phone, instance, say

N = 100
UNKNOWN = {"name": "fly", "arguments": {}}
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


def outcome(
    student=SOLVES, user=GOOD_USER, judge=None, make=Predictor, problem=None, world=Phone, **options
):
    """Whose fault it was."""
    others = {"user": make(user)} if user else {}
    if judge is not None:
        others["judge"] = make(judge)
    made = ToolUseDomain(
        world(), ToolUseOptions(max_turns=6, **options), judge_users=judge is not None
    )
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
    in_turn("No."),
    in_turn(""),
    in_turn(say(OTHER), "Done."),
    in_turn(say(SET, OTHER), "Done."),
    in_turn(say(NOBODY), "Done."),
    in_turn(say(UNKNOWN)),
    in_turn(say({"name": "set_plan", "arguments": {}})),
    in_turn(say({"name": "set_plan", "arguments": {**SET["arguments"], "months": "twelve"}})),
    in_turn(say({"name": "set_plan", "arguments": {**SET["arguments"], "color": "red"}})),
    in_turn(say({"name": "switch_data", "arguments": {"on": True}})),
    in_turn('<tool_call>\n{"name": "set_plan", "arg\n</tool_call>', "Done."),
    in_turn(*[say({"name": "read_account", "arguments": {"account": "acc_7"}})] * 9),
    in_turn(say(SET, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)),
    in_turn("[" * 2000, "{" * 2000, "x" * 100_000),
    in_turn(*(f"Are you sure, number {k}?" for k in range(9))),
    in_turn("I will do it.", "Soon.", "Now.", "Done."),
    in_turn("Assistant: done", "User: thanks"),
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


def user_faults():
    words = ["", "  ", "\n", "\t\n ", "\u00a0"]
    both = ["Assistant: Done.", "ok\nassistant: It is done.", "**Agent:** Sure!", "x\n# Assistant:"]
    theirs = [say(SET), say(UNKNOWN, SET), say(SET, words="I do it myself."), say(SET) + STOP]
    forbidden = ["It is for 12 months.", "12.0 MONTHS?", "(12 months)", f"12 months. {STOP}"]
    too_long = ["x" * 8_001, "word " * 2_000, "[" * 9_000]
    calls = [[say({"name": "look", "arguments": {}})] * 30, [say(UNKNOWN)] * 30]
    errors = [ValueError("no"), KeyError("x"), RuntimeError(""), ZeroDivisionError(), TypeError()]
    failures = ["HTTP 400: too long", "content filter", "no answer", "the template cannot render"]
    for make in (Predictor, Submitting):
        for text in words + both + theirs + forbidden + too_long:
            yield partial(outcome, user=user_in_turn(text), make=make)
        for texts in calls:
            yield partial(outcome, user=user_in_turn(*texts), make=make)
        for text in ("acc_6", "I forgot it.", "Never mind.", f"No. {STOP}", STOP):  # withheld
            for student in (FAILS, in_turn("Which account is it?", "No.")):
                yield partial(outcome, student, user=user_in_turn(text, STOP), make=make)
        for error in errors:
            yield partial(outcome, user=raising(error), make=make)
        for reason in failures:
            yield partial(outcome, user=user_in_turn(Failure(reason=reason)), make=make)
        yield partial(outcome, user=in_turn("acc_7", "And?", "Ah?", "So?", "Eh?"), make=make)
        yield partial(outcome, user=user_in_turn("\ud800"), make=make)
        yield partial(
            outcome,
            in_turn(*"abcdefgh"),
            user=user_in_turn(*["Hello?"] * 9),
            problem=instance(user=ANN),
            make=make,
        )
        first = instance("i", "", user=ANN)
        for text in ("", STOP, "12 months", say(SET)):
            yield partial(outcome, user=in_turn(text), problem=first, make=make)
    verdict = in_turn('{"at_fault": "user", "reason": "it lied"}')
    yield partial(outcome, FAILS, user=LEAVES, judge=verdict)
    lingers = {"kind": "script", "states": {"s": [{"say": "Please."}]}}
    for say_so in ("Done.", "It is done.", "Ready", "Anything else?"):
        student = in_turn(say(SET), *[say_so] * 9)
        yield partial(outcome, student, problem=instance(user=lingers))
        yield partial(outcome, student, user=user_in_turn(*"abcdefg"))


def judge_faults():
    texts = ["", " ", "user", "It was the user.", "{}", "[]", "[1, 2]", "null", "true", "3"]
    texts += ['{"at_fault": 1}', '{"at_fault": "user"}', '{"at_fault": "me", "reason": "x"}']
    texts += ['{"reason": "x"}', '{"at_fault": ["user"], "reason": "x"}', "{" * 500, "x" * 99_999]
    texts += ['{"at_fault": null, "reason": "x"}', '{"at_fault": "user", "reason": 5}', "\ud800"]
    texts += ['{"at_fault": "student", "reason": "x"}', '{"at_fault": {}, "reason": {}}', "```json"]
    errors = [ValueError("no"), KeyError("x"), RuntimeError(""), ZeroDivisionError(), TypeError()]
    answers = [in_turn(text) for text in texts]
    answers += [raising(error) for error in errors]
    answers += [in_turn(Failure(reason=reason)) for reason in ("HTTP 400", "no", "filtered")]
    for make in (Predictor, Submitting):
        for answer in answers:
            for student in (FAILS, in_turn("No.")):
                yield partial(outcome, student, user=LEAVES, judge=answer, make=make)


class Breaking(Phone):
    """A world whose tool fails in the way that `error` says."""

    def __init__(self, error):
        self.error = error
        super().__init__()

    def _account(self, account):
        if isinstance(self.error, BaseException):
            raise self.error
        return self.error


def environment_faults():
    errors = [ValueError("x"), KeyError(1), RuntimeError(), ZeroDivisionError(), TypeError("é")]
    errors += [RecursionError(), MemoryError(), AttributeError("a"), OSError("disk"), IndexError()]
    errors += [TimeoutError(), ConnectionError("db"), LookupError(), UnicodeError(), SystemError()]
    errors += [
        EvaluationError("x"),
        AssertionError(),
        NotImplementedError(),
        StopIteration(),
        EOFError(),
    ]
    errors += ["not an account", 7, None, object()]
    users = [{"problem": instance()}, {"problem": instance(user=SCRIPT)}, {}]
    for error in errors:
        for end in users:
            # the world works while it is prepared, and breaks in the conversation
            yield partial(_in_broken_world, error, **end)
    broken = [
        instance(gold=[NOBODY]),
        instance(gold=[UNKNOWN]),
        instance(world="moon"),
        instance(state={"moon": 1}),
        instance(state={"accounts": {"acc_9": {}}}),
        instance(basis=["said"]),
        instance(basis=["assertions"], assertions=[{"check": "breaks"}]),
        instance(basis=["assertions"], assertions=[{"check": "is_vague"}]),
        instance(basis=["assertions"], assertions=[{"check": "has_plan", "arguments": {"x": 1}}]),
        instance(basis=["assertions"], assertions=[{"check": "has_moon"}]),
        instance(user={"kind": "robot"}),
        instance(user={"kind": "script", "states": {}}),
        instance(user_gold=[{"name": "switch_data", "arguments": {"on": "yes"}}]),
        instance(color="red"),
    ]
    for problem in broken:
        for make in (Predictor, Submitting):
            yield partial(outcome, in_turn(say(SET), "Done."), problem=problem, make=make)


def _in_broken_world(error, **end):
    made = Breaking(ToolError("later"))
    student = in_turn(say(SET), "Done.")

    class Late(ToolUseDomain):
        def make_environment(self, instances=()):
            environment = super().make_environment(instances)
            begin = environment.begin

            def begun(instance):
                made.error = ToolError("later")
                shown = begin(instance)
                environment._progress.world.error = error
                return shown

            environment.begin = begun
            return environment

    problem = end.get("problem", instance(user=ANN))
    (completed,) = rollout(
        Predictor(student),
        [problem],
        Late(made).make_environment,
        sampling=LONG_REPLIES,
        others={"user": Predictor(GOOD_USER)},
    )
    return fault_of(completed)


class Dropped(Phone):
    """A world in which the user's own tool is broken."""

    @tool(by="user")
    def look(self) -> bool:
        """Whether data is on."""
        raise ValueError("it fell into the water")


@pytest.mark.parametrize("kind", ["script", "model"])
def test_a_tool_of_the_user_that_breaks_is_the_environments_fault(kind):
    call = {"name": "look", "arguments": {}}
    script = {"kind": "script", "states": {"s": [{"calls": [call], "say": "Hm."}]}}
    problem = instance(user=script if kind == "script" else ANN)
    user = user_in_turn(say(call), "Hm.")
    assert outcome(problem=problem, user=user, world=Dropped) == "environment"


def infrastructure_faults():
    outages = [
        TimeoutError(),
        ConnectionError("x"),
        OSError("x"),
        ConnectionResetError(),
        BrokenPipeError(),
    ]
    outages += [
        ReadTimeout("slow"),
        ConnectionRefusedError(),
        InterruptedError(),
        ConnectionAbortedError(),
    ]
    others = [ValueError("x"), RuntimeError("CUDA"), KeyError(1), TypeError(), MemoryError()]
    down = [Failure(reason=r, outage=True) for r in ("gave up", "not asked: the budget", "closed")]
    failed = [
        Failure(reason=r) for r in ("HTTP 500", "user: x", "the prompt is too long", "judge: y")
    ]
    for make in (Predictor, Submitting):
        for error in outages + others:  # the student's
            yield partial(outcome, raising(error), make=make)
        for failure in down + failed:
            yield partial(outcome, in_turn(failure), make=make)
            yield partial(outcome, in_turn("Which account?", failure), make=make)
        yield partial(outcome, in_turn("\ud800"), make=make)
        for error in outages:
            yield partial(outcome, user=raising(error), make=make)
            yield partial(outcome, FAILS, user=LEAVES, judge=raising(error), make=make)
        for failure in down:
            yield partial(outcome, user=user_in_turn(failure), make=make)
            yield partial(outcome, FAILS, user=LEAVES, judge=in_turn(failure), make=make)
        yield partial(outcome, user=None, make=make)  # there is no such speaker


KINDS = {
    "student": student_faults,
    "user": user_faults,
    "environment": environment_faults,
    "judge": judge_faults,
    "infrastructure": infrastructure_faults,
}


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_hundred_faults_of_a_kind_95_at_least_are_charged_to_it(kind):
    cases = list(KINDS[kind]())
    assert len(cases) >= N, len(cases)
    step = len(cases) / N
    charged = Counter(cases[int(k * step)]() for k in range(N))
    assert charged[kind] >= 95, charged
    if kind != "student":
        assert not charged["student"], charged
