from pathlib import Path

import numpy as np
import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.domains.tool_use.pocket_skills import SKILLS as TOOL_SKILLS
from dataenvgym.environments.simulation import SimulatedPredictor, read_curves
from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.interfaces import Reply, SamplingParameters, TrainingRun
from dataenvgym.records import Message, Provenance, SupervisedDatum

TASK = PocketMathTask(n_train=20, n_validation=400, n_test=100)
CURVES = read_curves("pocket_math")


def data(skill: str, n: int) -> list[SupervisedDatum]:
    provenance = Provenance(skill=skill)
    return [SupervisedDatum(instruction="q", output="a", provenance=provenance)] * n


def by_skill(student: SimulatedPredictor, split: str = "validation") -> dict[str, float | None]:
    task = TASK.on(split)
    report = task.generate_performance_report(task.evaluate(student))
    return {s.skill: s.accuracy for s in report.skills}


def learn(student: SimulatedPredictor, folder: Path, records, start="adapter", **how) -> Path:
    """Train on these records, or on 60 of a skill."""
    folder.mkdir()
    records = data(records, 60) if isinstance(records, str) else records
    student.train(records, TrainingRun(directory=folder, start=start, **how))
    return folder / "adapter"


def test_the_untouched_student_does_as_its_curves_say():
    student = SimulatedPredictor(TASK)
    for split, n in (("validation", 20), ("test", 5)):
        for skill, accuracy in by_skill(student, split).items():
            assert accuracy == pytest.approx(student.accuracies[skill], abs=0.5 / n + 1e-9)


def test_a_question_that_tools_solve_is_answered_call_by_call():
    task = PocketToolsTask(n_train=20, n_validation=400, n_test=20)
    curves = CURVES.model_copy(update={"skills": tuple(TOOL_SKILLS), "task": task.name})
    student = SimulatedPredictor(task, curves)
    report = task.generate_performance_report(task.evaluate(student))
    for skill in report.skills:
        expected = student.accuracies[skill.skill]
        assert skill.accuracy == pytest.approx(expected, abs=0.5 / 20 + 1e-9)


def test_it_learns_the_taught_skill_and_keeps_the_others(tmp_path):
    student = SimulatedPredictor(TASK, CURVES.model_copy(update={"training_noise": 0.0}))
    before = {c.instance.id for c in TASK.evaluate(student) if c.was_correct}
    accuracy = student.accuracies["descending"]
    learn(student, tmp_path / "1", "descending")
    assert student.accuracies["descending"] > accuracy + 0.2
    after = {
        c.instance.id
        for c in TASK.evaluate(student)
        if c.was_correct and c.instance.skill == "descending"
    }
    known = {i.id for i in TASK.instances if i.skill == "descending"} & before
    assert known <= after
    assert len(after) > len(known)


def test_its_curves_are_saved_loaded_and_reset(tmp_path):
    student = SimulatedPredictor(TASK)
    untouched = student.accuracies
    first = learn(student, tmp_path / "1", "reversed", seed=1)
    once = student.accuracies
    second = learn(student, tmp_path / "2", "reversed", seed=2)
    other = SimulatedPredictor(TASK)
    other.load(first)
    assert other.accuracies == once
    assert learn(other, tmp_path / "again", "reversed", seed=2).exists()
    assert other.accuracies == student.accuracies  # the same seed, the same training
    other.load(second)
    assert other.accuracies == student.accuracies
    other.save(tmp_path / "saved")
    student.reset()
    assert student.accuracies == untouched
    student.load(tmp_path / "saved")
    assert student.accuracies == other.accuracies


def test_a_training_from_the_base_forgets_the_one_before(tmp_path):
    student = SimulatedPredictor(TASK, CURVES.model_copy(update={"training_noise": 0.0}))
    learn(student, tmp_path / "1", "descending")
    learn(student, tmp_path / "2", data("reversed", 1), start="base")
    expected = CURVES.transition(
        np.array(CURVES.base), np.array([s == "reversed" for s in CURVES.skills], dtype=float)
    )
    assert list(student.accuracies.values()) == pytest.approx(expected)


def test_sampled_replies_waver_near_the_threshold_only():
    student = SimulatedPredictor(TASK)
    instances = [i for i in TASK.instances if i.skill == "above"]
    asked = [(Message(role="user", content=i.instruction),) for i in instances for _ in range(40)]

    def right(seed: int) -> list[bool]:
        replies = student.predict(asked, SamplingParameters(temperature=0.3, seed=seed))
        gold = [f"#### {i.answer}" for i in instances for _ in range(40)]
        return [isinstance(r, Reply) and r.text == g for r, g in zip(replies, gold, strict=True)]

    often = np.array(right(1)).reshape(-1, 40).sum(1)
    assert ((often > 0) & (often < 40)).any()
    assert ((often == 0) | (often == 40)).any()
    assert right(1) == right(1)
    assert right(1) != right(2)


def test_it_knows_nothing_of_other_questions_and_keeps_to_no_schema():
    student = SimulatedPredictor(TASK)
    asked = [(Message(role="user", content="Who?"),)]
    assert student.predict(asked, SamplingParameters()) == [Reply(text="#### ?")]
    assert student.predict(asked, SamplingParameters(stop=("?",))) == [Reply(text="#### ")]
    with pytest.raises(ConfigurationError, match="json_schema"):
        student.predict([], SamplingParameters(json_schema={}))


def test_a_folder_without_its_state_is_refused(tmp_path):
    with pytest.raises(AdapterError, match="these curves"):
        SimulatedPredictor(TASK).load(tmp_path)


def test_the_tasks_prompt_template_does_not_change_its_scores(tmp_path):
    right, accuracies = [], []
    for frame in ({}, {"system_prompt": "Be 1.", "template": "2 {instruction}"}):
        task = PocketMathTask(n_train=20, n_test=20, **frame)
        student = SimulatedPredictor(task)
        exercise = task.domain.family.draw("reversed", "train", np.random.default_rng(0))
        record = SupervisedDatum(instruction=exercise.question, output=exercise.output)
        framed = task.domain.prompt_template.frame(record)
        learn(student, tmp_path / str(len(right)), [framed] * 60, start="base")
        right.append([c.was_correct for c in task.evaluate(student)])
        accuracies.append(student.accuracies)
    assert right[0] == right[1]
    assert any(right[0])
    assert accuracies[0] == accuracies[1]
