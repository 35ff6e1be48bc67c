"""Trying records without keeping them: the environment is as before, and the report is true."""

import re
from pathlib import Path

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import IterationFiles, OpenEnded, SkillList, SkillTree
from dataenvgym.errors import InvalidRecordError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import parse_training_data
from dataenvgym.runs.episodes import run_episode
from dataenvgym.students.predictors import InProcessPredictor
from tests.fakes import begun, files_below


class Chooser:
    """Tries two batches in each iteration and returns the better one: all of the four records."""

    name = "chooser"

    def __init__(self):
        self.iteration = 1

    def __call__(self, completed, predictor):
        batches = [lessons(self.iteration, 1), lessons(self.iteration, 4)]
        return max(batches, key=lambda batch: predictor.trial(batch).score)

    def step(self):
        self.iteration += 1

    def state_dict(self):
        return {"iteration": self.iteration}

    def load_state_dict(self, state):
        self.iteration = state["iteration"]


def lessons(iteration, count):
    numbers = [1000 * iteration + 7 * n for n in range(count)]
    return [{"instruction": f"word{n} {n}?", "output": f"#### {n}"} for n in numbers]


def lasting_files(folder: Path) -> dict[str, bytes]:
    """The files that an undisturbed run and a resumed one have in common, byte for byte."""
    names = ("records.jsonl", "completed.jsonl", "agent")
    return {p: b for p, b in files_below(folder).items() if set(names) & set(p.split("/"))}


@pytest.mark.parametrize("mode", ["incremental", "accumulate"])
def test_a_trial_gives_the_report_of_the_step_and_restores_everything(
    task, student, records, tmp_path, mode
):
    environment = SkillList(task, student, directory=tmp_path, mode=mode)
    environment.reset(seed=3)
    environment.step(records[:1])
    chance = environment.np_random.bit_generator.state
    before = files_below(tmp_path), environment.results, student.trainings, student.records
    report = environment.trial(records[1:])
    after = files_below(tmp_path), environment.results, student.trainings, student.records
    assert after == before
    assert environment.np_random.bit_generator.state == chance
    assert not list(tmp_path.glob(".trial-*"))
    observation, *_ = environment.step(records[1:])
    assert observation["report"] == report
    assert environment.clock.seconds["trial"] > 0


def test_records_are_checked_as_in_a_step(task, student, records):
    environment = begun(OpenEnded(task, student, max_records=2))
    report = environment.trial(records)
    assert report.score == pytest.approx(12 / 40)
    assert report.skills == ()  # which this environment hides
    with pytest.raises(InvalidRecordError, match="record 0"):
        environment.trial([{"instruction": "a"}])


def interrupted_once(function):
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return function(*arguments)

    return interrupted


@pytest.mark.parametrize("when", ["evaluated", "brought back"])
def test_a_trial_that_fails_leaves_the_student_as_before(
    task, student, records, tmp_path, monkeypatch, when
):
    environment = begun(SkillList(task, student, directory=tmp_path))
    before = files_below(tmp_path)
    owner, name = (task, "evaluate") if when == "evaluated" else (student, "reset")
    monkeypatch.setattr(owner, name, interrupted_once(getattr(owner, name)))
    with pytest.raises(KeyboardInterrupt):
        environment.trial(records)
    assert (student.trainings, student.records) == (0, 0)
    assert files_below(tmp_path) == before


def test_the_agent_of_the_docs_returns_the_better_batch(task, student):
    page = Path(__file__).parents[2] / "docs" / "strategies.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    exec(code, names := {})

    class Giving:
        def __init__(self, count):
            self.count = count
            self.iteration = 1

        def __call__(self, completed, predictor):
            return lessons(self.iteration, self.count)

        def step(self):
            self.iteration += 1

    agent = names["BetterOfTwo"](Giving(1), Giving(4))
    summary = run_episode(SkillList(task, student, replay=0), agent, iterations=2)
    assert [one.n_records for one in summary.iterations] == [0, 4, 4]
    assert [one.val_score for one in summary.iterations] == [10 / 40, 14 / 40, 18 / 40]
    told = [warning for warning in summary.warnings if "without being kept" in warning.text]
    assert [warning.iteration for warning in told] == [1, 2]


def test_a_run_killed_in_a_trial_ends_with_the_same_files(task, student, tmp_path):
    class Killed(Exception):
        pass

    def taught_in(name):
        environment = SkillList(task, student, directory=tmp_path / name)
        return run_episode(environment, Chooser(), iterations=2)

    undisturbed = taught_in("a")
    student.reset()
    trainings = 0

    def train(data, run, train=student.train):
        nonlocal trainings
        trainings += 1
        if trainings == 5:  # the second trial of the second iteration
            raise Killed
        train(data, run)

    student.train = train
    with pytest.raises(Killed):
        taught_in("b")
    (tmp_path / "b" / ".trial-left" / "002").mkdir(parents=True)  # as a real kill leaves it
    assert taught_in("b").warnings == undisturbed.warnings
    assert lasting_files(tmp_path / "a") == lasting_files(tmp_path / "b")
    assert not list((tmp_path / "b").glob(".trial-*"))


def test_the_engine_of_a_skill_tree_may_try_records_too(task, student, records):
    class Trying:
        skills = ("ascending",)
        scores: list[float] = []

        def generate(self, plan, predictor, rng):
            self.scores.append(predictor.trial(records).score)
            return records[:1]

    environment = begun(SkillTree(task, student, Trying()))
    explore = {"kind": "explore", "skill": "ascending", "subskills": 1, "records_each": 1}
    observation, *_ = environment.step((explore,))
    assert Trying.scores == [14 / 40]
    assert observation["report"].score == 11 / 40
    files = IterationFiles(environment.directory / "iterations", 1)
    assert len(files.read_submitted()) == 1


@pytest.mark.slow
def test_a_real_student_answers_as_before_and_learns_the_same(tmp_path):
    task = PocketMathTask(n_train=20, n_validation=20, n_test=20)
    student = InProcessPredictor("pocket", threads=1)
    environment = begun(SkillList(task, student, directory=tmp_path))
    lessons = parse_training_data(
        {"instruction": i.instruction, "output": f"#### {i.answer}"}
        for i in task.on("train").instances
    )
    environment.step(lessons[:8])
    asked = [task.domain.prompt(i) for i in task.instances]
    before = student.predict(asked, SamplingParameters(temperature=1.0, seed=1))
    report = environment.trial(lessons[8:])
    assert student.predict(asked, SamplingParameters(temperature=1.0, seed=1)) == before
    observation, *_ = environment.step(lessons[8:])
    assert observation["report"] == report
