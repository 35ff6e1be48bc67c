"""Answers in replies, and equality of answers."""

from types import SimpleNamespace

from dataenvgym.errors import SandboxError
from dataenvgym.records import ToolCall
from dataenvgym.tasks import Domain
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.metrics.answers import answers_of, classes_of, sameness_of


class Reader(Domain):
    """Reads the last word."""

    def make_environment(self, instances=()):
        raise AssertionError

    def answer_class(self, instance, reply):
        if reply == "crash":
            raise SandboxError("no room")
        return reply.split()[-1] if reply else None


def task(domain):
    return task_of(SimpleNamespace(domain=domain, threads=2))


def test_a_task_reads_its_own_answers_else_the_stripped_message_is_the_answer(completed):
    found = answers_of(
        task_of(object()), [completed(" yes\n"), completed("  "), completed("x", error="e")]
    )
    assert found == [("yes", None), (None, None), (None, None)]
    replies = [completed("it is 7"), completed(""), completed("it is 8", error="the line is dead")]
    assert answers_of(task(Reader()), replies) == [("7", None), (None, None), (None, None)]


def test_a_reader_that_fails_takes_nobodys_vote(completed):
    ((answer, note),) = answers_of(task(Reader()), [completed("crash")])
    assert answer == "crash"
    assert "SandboxError: no room" in note


def test_the_most_frequent_answer_founds_its_class():
    def close(one: float, other: float) -> bool:
        return abs(one - other) <= 1

    # 2 is close to 1 and to 3, which are not close; 3 comes most often and takes 2
    assert classes_of([1, 2, 3, 3], close) == ([3, 1], [1, 0, 0, 0])


def test_the_task_compares_answers_that_differ_as_text(completed):
    class Caseless(Reader):
        def same_answer(self, instance, one, other):
            assert instance.id == "i"
            return one.casefold() == other.casefold()

    same = sameness_of(task(Caseless()), completed("").instance)
    assert classes_of(["Yes", None, "no", "yes"], same) == (["Yes", "no"], [0, None, 1, 0])


def test_replies_with_other_calls_are_other_answers(completed):
    asked, said = (one := completed("")).transcript
    calls = [said.model_copy(update={"tool_calls": (ToolCall(name=n),)}) for n in ("add", "sub")]
    tries = [one.model_copy(update={"transcript": (asked, call)}) for call in calls]
    first, other = (answer for answer, _ in answers_of(task_of(object()), tries))
    assert first != other
