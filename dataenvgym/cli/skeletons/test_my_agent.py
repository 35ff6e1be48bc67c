from __future__ import annotations

from pathlib import Path

from dataenvgym import PocketMathTask, SkillList, run_episode
from dataenvgym.cli.skeletons.my_agent import MyAgent
from dataenvgym.students.predictors import ScriptedPredictor


def make_task() -> PocketMathTask:
    return PocketMathTask(n_train=200, n_validation=20, n_test=20)


def make_student() -> ScriptedPredictor:
    """A student that is always wrong, so that the test takes no time."""
    return ScriptedPredictor(lambda conversation: "#### 99")


def test_it_writes_records() -> None:
    task, student = make_task(), make_student()
    records = MyAgent(task, records=30)(task.evaluate(student), student)
    assert len(records) == 30


def test_an_episode_with_it_runs(tmp_path: Path) -> None:
    task, folder = make_task(), tmp_path / "run"
    environment = SkillList(task, make_student(), directory=folder)
    agent = MyAgent(task)
    summary = run_episode(environment, agent, iterations=1, progress=False)
    assert summary.status == "finished"
    assert summary.iterations[1].n_records > 0
