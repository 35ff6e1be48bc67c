from __future__ import annotations

from pathlib import Path

from dataenvgym import Agent, SkillList, run_episode
from dataenvgym.agents import FreePolicy, GoldEngine
from dataenvgym.cli.skeletons.my_task import MyTask
from dataenvgym.records import Conversation
from dataenvgym.students.predictors import ScriptedPredictor


def answer(conversation: Conversation) -> str:
    """A student that is right every time."""
    number = int(conversation[-1].content.split()[1])
    return "odd" if number % 2 else "even"


def test_right_and_wrong_answers_are_told_apart() -> None:
    task = MyTask()
    assert all(c.was_correct for c in task.evaluate(ScriptedPredictor(answer)))
    completed = task.evaluate(ScriptedPredictor(lambda conversation: "maybe"))
    assert not any(c.was_correct for c in completed)


def test_no_two_splits_share_a_problem() -> None:
    tasks = [MyTask(split=split) for split in MyTask().splits]
    ids = [problem.id for task in tasks for problem in task.instances]
    assert len(ids) == len(set(ids)) == 300


def test_an_episode_on_it_runs(tmp_path: Path) -> None:
    task, student = MyTask(), ScriptedPredictor(lambda conversation: "even")
    environment = SkillList(task, student, directory=tmp_path / "run")
    gold = Agent(FreePolicy(), GoldEngine(task), name="gold")
    summary = run_episode(environment, gold, iterations=1, progress=False)
    assert summary.status == "finished"
    assert summary.iterations[1].n_records == len(task.on("train").instances)
