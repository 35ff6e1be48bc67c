from collections import Counter
from functools import cache
from itertools import takewhile

import numpy as np
import pytest

from dataenvgym.agents import PocketEngine
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments.checks import RecordChecks
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import CompletedTaskInstance, parse_training_data
from dataenvgym.records.plans import Assignment
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.building import build_task
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.runs.config.identity import run_name
from dataenvgym.students.predictors.scripted import ScriptedPredictor
from dataenvgym.tasks.pressures import PRESSURES
from dataenvgym.tasks.pressures.of_records import with_answer_of
from dataenvgym.tasks.source import SPLITS

POCKET = ["pocket_math", "pocket_code", "pocket_tools", "pocket_social"]


def slow_but_math(names):
    return [names[0], *(pytest.param(name, marks=pytest.mark.slow) for name in names[1:])]


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


def received(task, records, earlier=()):
    return list(task.received(records, lambda: earlier))


def completed(task):
    return [
        CompletedTaskInstance(instance=i, transcript=(), reward=0.0, was_correct=False)
        for i in task.instances
    ]


@cache
def plain_task(name):
    task = task_under(None, name, each=4)
    return task, records_of(task)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        pytest.param(name, task, marks=[] if (n - m) % len(POCKET) == 0 else [pytest.mark.slow])
        for n, name in enumerate(PRESSURES)
        for m, task in enumerate(POCKET)
    ],
)
def test_every_pressure_acts_on_every_pocket_task_and_is_decided_by_its_options(name, task):
    plain, records = plain_task(task)
    option = "enough: 8" if name == "plateau" else "seed: 1"  # a plateau draws nothing
    one, again, other = (
        task_under(given, task, each=4) for given in (name, name, f"{{{name}: {{{option}}}}}")
    )

    def effects(pressed):
        tries = pressed.attempt(ScriptedPredictor(lambda _: "?"), pressed.instances[:4])
        faults = [pressed.record_fault(record) for record in records]
        batches = [received(pressed, records, n * records) for n in range(4)]
        seen = [pressed.shown(completed(pressed), iteration) for iteration in range(4)]
        return problems_of(pressed), batches, faults, seen, tries

    assert effects(one) == effects(again)
    before, after = effects(plain)[:4], effects(one)[:4]
    assert before == (
        problems_of(plain),
        [records] * 4,
        [None] * len(records),
        [completed(plain)] * 4,
    )
    assert after != before
    assert effects(other)[:4] != after
    ids = {split: {i.id for i in found} for split, found in before[0].items()}
    assert all({i.id for i in found} <= ids[split] for split, found in after[0].items())
    for batch in after[1]:
        assert parse_training_data([record.model_dump() for record in batch]) == tuple(batch)
        assert [r.provenance for r in batch] == [r.provenance for r in records]


def test_a_run_with_a_pressure_has_another_name():
    pressed = compose(["task=pocket_math", "task.pressure=traps"])
    assert run_name(compose(["task=pocket_math"])) != run_name(pressed)


def test_traps_count_no_answer_of_their_skills_as_right_and_leave_the_others():
    task = task_under("{traps: {skills: [sum]}}")
    records = records_of(task, each=1)
    changed = [new for new, old in zip(received(task, records), records, strict=True) if new != old]
    assert [record.provenance.skill for record in changed] == ["sum"]
    answers = {i.instruction: f"#### {i.answer}" for i in task.instances}
    completed = task.evaluate(ScriptedPredictor(lambda asked: answers[asked[-1].content]))
    assert {c.instance.skill for c in completed if not c.was_correct} == {"sum"}
    assert all(c.was_correct == bool(c.reward) for c in completed)


def wrong_by_skill(task, earlier=()):
    records = received(task, records_of(task), earlier)
    wrong = [r for r in records if task.domain.judge_record(r) is False]
    return Counter(r.provenance.skill for r in wrong), len(wrong) / len(records)


@pytest.mark.parametrize("task", slow_but_math(["pocket_math", "pocket_tools", "pocket_social"]))
def test_the_records_of_traps_and_one_in_five_of_a_noisy_teacher_are_wrong(task):
    assert wrong_by_skill(task_under(None, task))[1] == 0
    assert 0.1 < wrong_by_skill(task_under("noisy_teacher", task))[1] < 0.3
    trapped = task_under("traps", task)
    wrong, _ = wrong_by_skill(trapped)
    assert set(wrong) <= trapped.pressure.concerned(trapped._skills)
    assert max(wrong.values()) == 8


def counts(task, split):
    return Counter(i.skill for i in task.on(split).instances)


def test_a_skewed_mix_is_the_same_in_validation_and_test():
    task = task_under("{skewed: {skills: [sum, total]}}")
    for split in ("validation", "test"):
        found = counts(task, split)
        assert {skill for skill in found if found[skill] == 8} == {"sum", "total"}
        assert set(found.values()) == {2, 8}
    assert set(counts(task, "train").values()) == {2}


@pytest.mark.parametrize("task", slow_but_math(POCKET))
def test_hidden_labels_are_names_of_skills_with_problems_of_others(task):
    gold = {i.id: i.skill for i in task_under(None, task).instances}
    hidden = task_under("hidden", task).instances
    labels = {i.skill for i in hidden}
    assert 1 < len(labels) <= 5
    assert labels <= set(gold.values())
    assert not any(i.category for i in hidden)
    assert len({(i.skill, gold[i.id]) for i in hidden}) > len(labels)
    assert sum(i.skill == gold[i.id] for i in hidden) < len(hidden) / 4


# whose records judge_record judges fast
PAIRED = slow_but_math(["pocket_math", "pocket_tools", "pocket_social"])


@pytest.mark.parametrize("task", PAIRED)
def test_records_are_wrong_until_enough_records_of_the_prerequisite_were_taught(task):
    pressed = task_under("{prerequisites: {enough: 17}}", task)
    partners = pressed.pressure.partners(pressed._skills)
    assert not set(partners) & set(partners.values())
    assert len(partners) == -(-len(pressed._skills) // 4)
    records = records_of(pressed)  # 8 of each skill
    assert set(wrong_by_skill(pressed)[0]) == set(partners)
    assert set(wrong_by_skill(pressed, records)[0]) == set(partners)
    assert not wrong_by_skill(pressed, 2 * records)[0]
    last, first = next(iter(partners.items()))
    others = [r for r in 2 * records if r.provenance.skill != first]
    assert set(wrong_by_skill(pressed, others)[0]) == {last}


def question(record):
    return list(takewhile(lambda message: message.role != "assistant", record.prompt))


@pytest.mark.parametrize("task", PAIRED)
def test_half_of_the_records_of_a_skill_teach_its_partner_wrong_answers(task):
    pressed = task_under("interference", task)
    partners = pressed.pressure.partners(pressed._skills)
    records = records_of(pressed)
    changed = [r for r, old in zip(received(pressed, records), records, strict=True) if r != old]
    # some answers in a scene are the partner's too
    least = 0.1 if task == "pocket_social" else 0.3
    assert least < len(changed) / (8 * len(partners)) < 0.7
    for record in changed:
        asked = {r.provenance.skill for r in records if question(r) == question(record)}
        assert partners[record.provenance.skill] in asked
    # some answers in a scene are right in another one
    wrong = [pressed.domain.judge_record(record) is False for record in changed]
    assert sum(wrong) / len(wrong) > (0.3 if task == "pocket_social" else 0.99)
    alone = [r for r in records if r.provenance.skill in partners]
    assert received(pressed, alone) == alone  # no prompt of a partner is known
    assert received(pressed, alone, records) != alone


@pytest.mark.parametrize("task", PAIRED)
def test_after_enough_records_of_a_skill_every_other_one_is_wrong_and_then_all(task):
    pressed = task_under("{plateau: {enough: 8}}", task)
    records = records_of(pressed)  # 8 of each skill
    found = [wrong_by_skill(pressed, n * records)[1] for n in range(4)]
    # some answers in a scene are right in another one
    of_all = 0.8 if task == "pocket_social" else 1
    assert found == pytest.approx([0, of_all / 2, of_all, of_all], abs=0.05)


def test_the_agent_sees_another_mix_in_each_iteration_of_a_drift():
    task = task_under("drift")
    windows = []
    for iteration in range(5):
        found = Counter(c.instance.skill for c in task.shown(completed(task), iteration))
        assert set(found.values()) == {2, 8}
        windows.append({skill for skill in found if found[skill] == 8})
    assert set().union(*windows[:4]) == set(task._skills)
    assert sum(map(len, windows[:4])) == 20
    assert windows[4] == windows[0]
    assert problems_of(task) == problems_of(task_under(None))


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
        ("{traps: {}, hidden: {}}", "expected the name of one"),
        ("{traps: {shares: 0.5}}", "traps.shares"),
        ("{interference: {pairs: {}}}", "pressure.interference.pairs"),
        ("{drift: {ratio: 1}}", "ratio is 1"),
        ("{traps: {skills: sum}}", "pressure.traps.skills"),
    ],
)
def test_nonsense_is_refused_by_the_name_of_the_option(given, named):
    with pytest.raises(ConfigurationError) as error:
        task_under(given)
    assert named in str(error.value)


def test_a_pressure_may_leave_records_alone():
    """As the ceiling of a study has it; problems and judging stay under it."""
    spared = PocketMathTask(pressure="plateau", pressure_on_records=False)
    records = records_of(spared, 40)
    assert received(spared, records) == list(records)


def test_a_skill_that_the_task_does_not_have_and_a_task_without_skills_are_refused(tmp_path):
    for given, said in (
        ("{traps: {skills: [summ]}}", "Did you mean 'sum'"),
        ("{priced: {skills: [summ]}}", "Did you mean 'sum'"),
        ("{interference: {pairs: {sum: totl}}}", "Did you mean 'total'"),
        ("{prerequisites: {share: 0.6}}", r"share is 0\.6, which is 12 of 20 skills"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            _ = task_under(given).instances  # before anything runs
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "1 + 1?", "answer": "2"}\n')
    more = [f"task.sources.validation={rows}", "task.pressure=skewed"]
    with pytest.raises(ConfigurationError, match="none"):
        _ = build_task(compose(["task=math_jsonl", *more])).instances


@pytest.mark.parametrize("name", [n for n in options_by_group()["task"] if n.startswith("teach/")])
def test_a_task_of_teach_is_a_pocket_task_under_one_pressure(name):
    task = build_task(compose([f"task={name}", "task.n_validation=100"]))
    assert task.name == f"teach_{name.removeprefix('teach/')}"
    assert type(task.pressure) in PRESSURES.values()
    assert task.instances


def test_each_pressure_has_its_task_and_each_pocket_task_has_two_or_more():
    names = [name for name in options_by_group()["task"] if name.startswith("teach/")]
    assert {name.removeprefix("teach/") for name in names} == set(PRESSURES)
    pocket = {compose([f"task={name}"]).task._target_ for name in POCKET}
    targets = Counter(compose([f"task={name}"]).task._target_ for name in names)
    assert set(targets) == pocket
    assert min(targets.values()) >= 2
