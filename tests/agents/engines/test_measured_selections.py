"""Selections by losses, gradients and distances: what they take, aim at, and say."""

import shutil

import numpy as np
import pytest

from dataenvgym.agents import (
    Agent,
    Assignment,
    DiverseSelection,
    FreePolicy,
    GradientSelection,
    LossDifferenceSelection,
    LossSelection,
    PoolEngine,
    RandomSelection,
)
from dataenvgym.agents.compatibility import check_fit
from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.few_shot.pocket import PocketFewShotTask
from dataenvgym.domains.knowledge.pocket import PocketKnowledgeTask
from dataenvgym.domains.math.pocket import PocketMathTask, recognize
from dataenvgym.domains.orchestrate.pocket import PocketOrchestrateTask
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.textworld.pocket import PocketTextworldTask
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.storage import write_jsonl
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor

SMALL = {"n_train": 60, "n_validation": 20, "n_test": 20}
TASK = PocketMathTask(**SMALL)
SILENT = ScriptedPredictor(lambda conversation: "")
ASKING = (LossSelection, LossDifferenceSelection, GradientSelection)
TASKS = (
    *(PocketMathTask, PocketToolsTask, PocketSocialTask, PocketKnowledgeTask, PocketFewShotTask),
    *(PocketOrchestrateTask, PocketTextworldTask),
    pytest.param(
        PocketCodeTask,
        marks=pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap"),
    ),
)


def made(selection, task=TASK, **options):
    needs_task = selection in (LossDifferenceSelection, GradientSelection)
    return PoolEngine(selection(task) if needs_task else selection(), task, **options)


def generate(engine, *plan, predictor=SILENT, seed=0):
    return engine.generate(plan, predictor, np.random.default_rng(seed))


def skill_of(record):
    return recognize(record.instruction)[0].name


class Measured:
    """Knows all skills but two; the validation split's answers teach it one of these."""

    def __init__(self):
        self.learned = []
        self.asked = []

    def predict(self, conversations, sampling):
        raise AssertionError("it is measured, not asked")

    def losses(self, records, *, learned=(), seed=0):
        if learned:
            self.learned.append((list(learned), seed))
        hard = {"odds": 2.0, "sum": 3.0} if not learned else {"sum": 2.9}
        return [hard.get(skill_of(record), 0.1) for record in records]

    def influences(self, records, targets, *, warmup, epochs, seed=0):
        self.asked.append((targets, list(warmup), epochs))
        return [float(skill_of(record) == "reversed") for record in records]


def test_a_loss_selects_what_the_student_knows_least():
    records = generate(made(LossSelection), Assignment(6), predictor=Measured())
    assert {skill_of(r) for r in records} == {"sum", "odds"}
    assert [skill_of(r) for r in records][:3] == ["sum"] * 3


def test_a_loss_difference_leaves_out_what_the_reference_cannot_learn_either():
    student, engine = Measured(), made(LossDifferenceSelection)
    for _ in range(2):
        records = generate(engine, Assignment(1), predictor=student)
        assert [skill_of(r) for r in records] == ["odds"]
    ((learned, seed),) = student.learned  # one reference for all iterations
    assert {r.instruction for r in learned} == {i.instruction for i in TASK.instances}
    assert seed == 0


def test_a_gradient_aims_at_each_skill_of_the_validation_split_after_a_warmup():
    student = Measured()
    records = generate(made(GradientSelection), Assignment(3), predictor=student)
    assert {skill_of(r) for r in records} == {"reversed"}
    ((targets, warmup, epochs),) = student.asked
    assert sorted(r.instruction for group in targets for r in group) == sorted(
        i.instruction for i in TASK.instances
    )
    assert all(len({skill_of(r) for r in group}) == 1 for group in targets)
    assert (len(warmup), epochs) == (3, 4)


def test_diverse_records_are_far_from_each_other_and_from_what_was_taken():
    engine = made(DiverseSelection)
    found = [r for _ in range(2) for r in generate(engine, Assignment(10))]
    phrasings = {recognize(r.instruction)[1] for r in found}
    at_random = {
        recognize(r.instruction)[1] for r in generate(made(RandomSelection), Assignment(20))
    }
    assert len(phrasings) == 20 > len(at_random)


@pytest.mark.parametrize("selection", [*ASKING, DiverseSelection])
def test_provenance_says_why_a_record_was_taken_and_restarts_take_the_same(selection):
    engine, again = made(selection), made(selection)
    first = generate(engine, Assignment(4), predictor=Measured())
    again.load_state_dict(engine.state_dict())
    second = [generate(e, Assignment(4), predictor=Measured()) for e in (engine, again)]
    assert second[0] == second[1]
    assert not {r.instruction for r in first} & {r.instruction for r in second[0]}
    measure = engine.selection.measure
    for place, record in enumerate(first, start=1):
        selected = record.provenance.selected
        assert selected.startswith(f"{measure} ")
        assert f"place {place} of 60; record " in selected
        number = int(selected.split("record ")[1].split()[0])
        assert engine.pool.records[number - 1].instruction == record.instruction


def test_records_of_an_earlier_run_do_not_keep_its_reasons(tmp_path):
    row = {"instruction": "a?", "output": "1", "provenance": {"selected": "loss 2, place 1 of 9"}}
    write_jsonl(tmp_path / "pool.jsonl", [row])
    for selection, says in ((RandomSelection, ""), (DiverseSelection, "distance 1, place 1 of 1")):
        (record,) = generate(made(selection, path=tmp_path / "pool.jsonl"), Assignment(1))
        assert record.provenance.selected.startswith(says)
        assert "loss" not in record.provenance.selected


@pytest.mark.parametrize("selection", ASKING)
def test_a_student_without_losses_is_refused_before_the_run_and_in_it(selection):
    agent = Agent(FreePolicy(), made(selection), name="a")
    with pytest.raises(ConfigurationError, match="ScriptedPredictor"):
        check_fit(TASK, agent, shows_skills=False, student=SILENT)
    check_fit(TASK, agent, shows_skills=False, student=InProcessPredictor())
    with pytest.raises(ConfigurationError, match="use predictor=in_process"):
        generate(made(selection), Assignment(2))


def test_only_records_with_an_answer_to_learn_are_measured(tmp_path):
    row = {"kind": "preference", "instruction": "c?", "chosen": "3", "rejected": "4"}
    write_jsonl(tmp_path / "pool.jsonl", [row])
    engine = made(LossSelection, path=tmp_path / "pool.jsonl")
    with pytest.raises(ConfigurationError, match="one of kind 'preference'"):
        generate(engine, Assignment(1), predictor=InProcessPredictor(threads=1))


@pytest.mark.slow
@pytest.mark.parametrize("make", TASKS)
def test_every_selection_measures_the_student_of_every_pocket_task(make):
    task = make(n_train=24, n_validation=20, n_test=20)
    student = InProcessPredictor(task.student, threads=1)
    try:
        for selection in ASKING:
            (first, second) = (
                generate(made(selection, task), Assignment(4), predictor=student) for _ in range(2)
            )
            assert len(first) == 4
            assert first == second
            values = [float(r.provenance.selected.split(",")[0].split()[-1]) for r in first]
            assert values == sorted(values, reverse=True)
            assert values[0] != 0
    finally:
        task.close()
