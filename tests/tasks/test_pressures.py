from collections import Counter
from functools import cache

import numpy as np
import pytest

from dataenvgym.agents import PocketEngine
from dataenvgym.config import compose
from dataenvgym.config.building import build_task
from dataenvgym.config.composition import options_by_group
from dataenvgym.config.identity import run_name
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments.checks import RecordChecks
from dataenvgym.errors import ConfigurationError
from dataenvgym.plans import Assignment
from dataenvgym.predictors.scripted import ScriptedPredictor
from dataenvgym.records import parse_training_data
from dataenvgym.tasks.pressures import PRESSURES, Pressure, with_answer_of
from dataenvgym.tasks.source import SPLITS

POCKET = ["pocket_math", "pocket_code", "pocket_tools", "pocket_social"]


def task_under(pressure, task="pocket_math", *, each=8):
    """The task with so many problems of each of 20 skills in validation and test."""
    given = [] if pressure is None else [f"task.pressure={pressure}"]
    sizes = ["task.n_train=40", f"task.n_validation={20 * each}", f"task.n_test={20 * each}"]
    return build_task(compose([f"task={task}", *sizes, *given]))


def problems_of(task):
    return {split: task.on(split).instances for split in SPLITS}


def records_of(task, each=8):
    engine = PocketEngine(task)
    plan = tuple(Assignment(each, skill=skill) for skill in engine.skills)
    return engine.generate(plan, None, np.random.default_rng(0))


@cache
def plain_task(name):
    task = task_under(None, name, each=4)
    return task, records_of(task)


@pytest.mark.parametrize("task", POCKET)
@pytest.mark.parametrize("name", PRESSURES)
def test_every_pressure_acts_on_every_pocket_task_and_is_decided_by_its_seed(name, task):
    plain, records = plain_task(task)
    one, again, other = (
        task_under(given, task, each=4) for given in (name, name, f"{{{name}: {{seed: 1}}}}")
    )

    def effects(pressed):
        tries = pressed.attempt(ScriptedPredictor(lambda _: "?"), pressed.instances[:4])
        faults = [pressed.record_fault(record) for record in records]
        return problems_of(pressed), pressed.received(records), faults, tries

    assert effects(one) == effects(again)
    before, after = effects(plain)[:3], effects(one)[:3]
    assert before[:2] == (problems_of(plain), records)
    assert after != before
    assert effects(other)[:3] != after
    ids = {split: {i.id for i in found} for split, found in before[0].items()}
    assert all({i.id for i in found} <= ids[split] for split, found in after[0].items())
    received = parse_training_data([record.model_dump() for record in after[1]])
    assert [r.prompt[0] for r in received] == [r.prompt[0] for r in records]


@pytest.mark.parametrize("task", POCKET)
def test_without_a_pressure_a_run_has_the_name_that_it_had(task):
    config = compose([f"task={task}"])
    assert config.task.pressure is None
    del config.task.pressure
    assert run_name(config) == run_name(compose([f"task={task}"]))
    assert run_name(config) != run_name(compose([f"task={task}", "task.pressure=traps"]))


def test_traps_count_no_answer_of_their_skills_as_right_and_leave_the_others():
    task = task_under("{traps: {skills: [sum]}}")
    answers = {i.instruction: f"#### {i.answer}" for i in task.instances}
    completed = task.evaluate(ScriptedPredictor(lambda asked: answers[asked[-1].content]))
    assert {c.instance.skill for c in completed if not c.was_correct} == {"sum"}
    assert all(c.was_correct == bool(c.reward) for c in completed)


def wrong_by_skill(task):
    records = task.received(records_of(task))
    wrong = [r for r in records if task.domain.judge_record(r) is False]
    return Counter(r.provenance.skill for r in wrong), len(wrong) / len(records)


@pytest.mark.parametrize("task", ["pocket_math", "pocket_tools", "pocket_social"])
def test_the_records_of_traps_and_one_in_five_of_a_noisy_teacher_are_wrong(task):
    assert wrong_by_skill(task_under(None, task))[1] == 0
    assert 0.1 < wrong_by_skill(task_under("noisy_teacher", task))[1] < 0.3
    trapped = task_under("traps", task)
    wrong, _ = wrong_by_skill(trapped)
    assert set(wrong) <= trapped.pressure.concerned(trapped._skills)
    assert max(wrong.values()) == 8


def test_a_trap_with_one_record_has_the_answer_of_another_skill():
    task = task_under("{traps: {skills: [sum]}}")
    records = records_of(task, each=1)
    changed = [new for new, old in zip(task.received(records), records, strict=True) if new != old]
    assert [record.provenance.skill for record in changed] == ["sum"]


def counts(task, split):
    return Counter(i.skill for i in task.on(split).instances)


def test_a_skewed_mix_is_the_same_in_validation_and_test_and_a_shifted_one_is_not():
    few, many = 2, 8  # of 8 problems of each skill
    skewed = task_under("{skewed: {skills: [sum, total]}}")
    for split in ("validation", "test"):
        found = counts(skewed, split)
        assert {s for s in found if found[s] == many} == {"sum", "total"}
        assert set(found.values()) == {few, many}
    shifted = task_under("{shifted: {skills: [sum, total]}}")
    assert counts(shifted, "validation") == counts(skewed, "validation")
    found = counts(shifted, "test")
    assert {s for s in found if found[s] == few} == {"sum", "total"}
    for task in (skewed, shifted):
        assert set(counts(task, "train").values()) == {2}


@pytest.mark.parametrize("task", POCKET)
def test_hidden_groups_have_several_skills_and_the_names_of_none(task):
    gold = {i.id: i.skill for i in task_under(None, task).instances}
    hidden = task_under("hidden", task).instances
    groups = {i.skill for i in hidden}
    assert groups == {f"group {n}" for n in range(1, 6)} or task == "pocket_code"
    assert not any(i.category for i in hidden)
    assert len({(i.skill, gold[i.id]) for i in hidden}) > len(groups)


@pytest.mark.parametrize("name", ["priced", "scarce"])
def test_one_in_five_records_that_are_priced_is_accepted_and_the_others_are_counted(name):
    task = task_under(name)
    records = records_of(task, each=15)
    checked = RecordChecks(task).check(records)
    priced = task.pressure.concerned(task._skills)
    assert len(priced) == (5 if name == "priced" else 20)
    accepted = [r for r in checked.accepted if r.provenance.skill in priced]
    asked = [r for r in records if r.provenance.skill in priced]
    assert checked.reasons == {"price": len(asked) - len(accepted)}
    assert 0.1 < len(accepted) / len(asked) < 0.3
    assert len(checked.accepted) - len(accepted) == len(records) - len(asked)


def test_answers_are_exchanged_in_records_of_each_kind_that_has_one():
    kto = {"kind": "kto", "instruction": "a", "output": "1", "desirable": True}
    pair = {"kind": "preference", "instruction": "a", "chosen": "1", "rejected": "2"}
    text = {"kind": "text", "text": "a"}
    one, two, pair, text = parse_training_data([kto, {**kto, "output": "2"}, pair, text])
    assert with_answer_of(one, two).output == "2"
    assert (with_answer_of(pair, pair).chosen, with_answer_of(pair, pair).rejected) == ("2", "1")
    assert with_answer_of(text, text) == text
    assert with_answer_of(one, pair) == one


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("trap", "Did you mean 'traps'"),
        ("3", "pressure is 3"),
        ("{traps: {}, hidden: {}}", "expected the name of one"),
        ("{traps: {shares: 0.5}}", "Did you mean 'share'"),
        ("{hidden: {share: 0.5}}", "no option 'share'"),
        ("{traps: {share: 0}}", "share is 0"),
        ("{traps: {share: 1.5}}", "share is 1.5"),
        ("{traps: {share: x}}", "share is 'x'"),
        ("{traps: {skills: sum}}", "skills is 'sum'"),
        ("{traps: {seed: x}}", "seed is 'x'"),
        ("{hidden: {groups: 1}}", "groups is 1"),
        ("{noisy_teacher: {share: -1}}", "share is -1"),
        ("{skewed: {ratio: 1}}", "ratio is 1"),
        ("{priced: {price: 1}}", "price is 1"),
    ],
)
def test_nonsense_is_refused_by_the_name_of_the_option(given, named):
    with pytest.raises(ConfigurationError) as error:
        task_under(given)
    assert named in str(error.value)


def test_a_skill_that_the_task_does_not_have_and_a_task_without_skills_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="Did you mean 'sum'"):
        task_under("{traps: {skills: [summ]}}").evaluate(ScriptedPredictor(lambda _: ""))
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "1 + 1?", "answer": "2"}\n')
    more = [f"task.sources.validation={rows}", "task.pressure=skewed"]
    with pytest.raises(ConfigurationError, match="none"):
        _ = build_task(compose(["task=math_jsonl", *more])).instances


def test_a_class_of_ones_own_is_a_pressure():
    class OnlyEasy(Pressure):
        def problems(self, split, instances, skills):
            return [instance for instance in instances if len(instance.instruction) < 30]

    task = PocketMathTask(n_validation=40, pressure=OnlyEasy())
    assert 0 < len(task.instances) < 40


@pytest.mark.parametrize("name", [n for n in options_by_group()["task"] if n.startswith("teach/")])
def test_a_task_of_teach_is_a_pocket_task_under_one_pressure(name):
    config = compose([f"task={name}"])
    assert config.task.name == f"teach_{name.removeprefix('teach/')}"
    assert config.task.pressure._target_.startswith("dataenvgym.tasks.pressures.")
    task = build_task(compose([f"task={name}", "task.n_validation=100"]))
    assert task.instances
    assert task.pressure.share == config.task.pressure.get("share", task.pressure.share)


def test_there_are_ten_tasks_of_teach_over_all_pocket_tasks():
    names = [name for name in options_by_group()["task"] if name.startswith("teach/")]
    assert len(names) == 10
    targets = {compose([f"task={name}"]).task._target_ for name in names}
    assert targets == {compose([f"task={name}"]).task._target_ for name in POCKET}


def test_a_pressure_goes_with_smollm2_and_its_tasks():
    config = compose(["student=smollm2", "task=smol_code", "task.pressure=traps"])
    task = build_task(config)
    assert config.student.path == "smollm2"
    assert len(task.pressure.concerned(task._skills)) == 5
