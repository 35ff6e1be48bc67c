from __future__ import annotations

from pathlib import Path

from dataenvgym import Agent, SkillList, run_episode
from dataenvgym.agents import FreePolicy, GoldEngine
from dataenvgym.cli.skeletons.my_domain import MyTask
from dataenvgym.records import Conversation
from dataenvgym.students.predictors import ScriptedPredictor


def answer(conversation: Conversation) -> str:
    """A student that is right every time."""
    _, numbers = conversation[0].content.rstrip("?").split(":")
    return str(len(numbers.split()))


def answer_late(conversation: Conversation) -> str:
    """A student that is right in its second try."""
    return answer(conversation) if len(conversation) > 1 else "none"


def test_answers_are_judged_and_a_second_try_earns_less() -> None:
    task = MyTask()
    rewards = {answer: 1.0, answer_late: 0.5, lambda c: "0 or so": 0.0}
    for student, reward in rewards.items():
        completed = task.evaluate(ScriptedPredictor(student))
        assert {c.reward for c in completed} == {reward}


def test_every_training_problem_has_a_gold_record() -> None:
    task = MyTask()
    problems = task.on("train").instances
    assert all(task.gold_record(problem) is not None for problem in problems)


def test_equal_answers_are_equal_however_they_are_written() -> None:
    task = MyTask()
    (first, *_) = task.instances
    answers = {task.domain.answer_class(first, text) for text in ("It is 7.", "07")}
    assert answers == {"7"}


def test_an_episode_on_it_runs(tmp_path: Path) -> None:
    task, student = MyTask(), ScriptedPredictor(lambda conversation: "0")
    environment = SkillList(task, student, directory=tmp_path / "run")
    gold = Agent(FreePolicy(), GoldEngine(task), name="gold")
    summary = run_episode(environment, gold, iterations=1, progress=False)
    assert summary.status == "finished"
    assert summary.iterations[1].n_records == len(task.on("train").instances)
