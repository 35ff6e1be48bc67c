import numpy as np
import pytest

from dataenvgym.agents import LLMEngine
from dataenvgym.agents.engines.llm.record_requests import ask_for_subskills
from dataenvgym.environments.skill_tree import ProposesSubskills
from dataenvgym.errors import BudgetSpentError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import CompletedTaskInstance, Message, TaskInstance

from ....fakes import Teacher


def names(*texts: str) -> dict[str, list[str]]:
    return {"subskills": list(texts)}


def ask(teacher: Teacher, known=(), count: int = 2, examples=()) -> tuple[str, ...]:
    return ask_for_subskills(teacher, "sums", known, count, examples, SamplingParameters())


def wrong() -> CompletedTaskInstance:
    return CompletedTaskInstance(
        instance=TaskInstance(id="i", task="t", instruction="What is 99 + 1?", answer="100"),
        transcript=(Message(role="assistant", content="#### 98"),),
        reward=0.0,
        was_correct=False,
    )


def test_it_names_as_many_as_it_is_asked_for():
    teacher = Teacher(names("carrying", "large numbers", "too many"))
    assert ask(teacher, examples=[wrong()]) == ("carrying", "large numbers")
    assert "What is 99 + 1?" in teacher.asked[0]


def test_known_and_repeated_names_do_not_count_and_missing_ones_are_requested_again():
    teacher = Teacher(names("Carrying", "big  sums", "BIG sums", " "), "garbage", names("zeros"))
    assert ask(teacher, known=["carrying"]) == ("big sums", "zeros")
    assert len(teacher.asked) == 3
    assert "carrying, big sums" in teacher.asked[1]


def test_a_teacher_without_ideas_names_fewer():
    assert ask(Teacher("?", "?", "?")) == ()


def test_the_llm_engine_asks_its_teacher_for_subskills_and_reports_a_spent_budget():
    engine = LLMEngine(teacher := Teacher(names("carrying"), BudgetSpentError("spent")))
    assert isinstance(engine, ProposesSubskills)
    assert engine.propose_subskills("sums", (), 1, (), np.random.default_rng(0)) == ("carrying",)
    with pytest.raises(BudgetSpentError):
        engine.propose_subskills("sums", (), 1, (), np.random.default_rng(0))
    assert teacher.purposes == {"subskills"}


def test_names_with_control_characters_are_passed_over():
    teacher = Teacher(names("a\0b", "c\x1b[31m", "fine"), names("too"))
    assert ask(teacher) == ("fine", "too")
