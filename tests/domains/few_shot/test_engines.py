import json
from collections import Counter

import numpy as np
import pytest

from dataenvgym.adaptation import WritesEdits
from dataenvgym.agents import Assignment
from dataenvgym.domains.few_shot.engines import GridEditEngine, GridSelfEditEngine
from dataenvgym.domains.few_shot.problem import read_grid, read_problem
from dataenvgym.domains.few_shot.task import FewShotTask
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments.checks import RecordChecks
from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.runs.config import build_agent, compose
from tests.domains.few_shot.puzzles import folder_of
from tests.domains.few_shot.test_self_edit import EDIT, changed, without
from tests.fakes import Teacher


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    train = folder_of(folder / "train", 4)
    return FewShotTask({"train": train, "validation": folder_of(folder / "new", 4, first=4)})


def generate(engine, *plan, seed=0):
    return engine.generate(plan, None, np.random.default_rng(seed))


def shown_in(record, task):
    text = task.domain.prompt_template.instruction_in(record.instruction)
    problem = read_problem(text)
    assert problem is not None
    return problem


def pairs_of(record, task):
    problem = shown_in(record, task)
    solved = (problem.input, read_grid(record.output))
    return {*((p.input, p.output) for p in problem.demonstrations), solved}


def known(instances):
    return {
        (tuple(map(tuple, p["input"])), tuple(map(tuple, p["output"])))
        for i in instances
        for p in i.data["demonstrations"]
    }


def test_without_augmentations_records_are_made_of_demonstrations_of_the_train_split(task):
    records = generate(GridEditEngine(task, augmentations=()), Assignment(30))
    assert len(records) == 30 == len({(r.instruction, r.output) for r in records})
    assert set().union(*(pairs_of(r, task) for r in records)) <= known(task.on("train").instances)
    assert all(r.instruction.startswith("Find the rule") for r in records)
    assert all(task.domain.problem_of_record(r).answer == r.output for r in records)


def test_augmented_records_keep_the_rule(task):
    records = generate(GridEditEngine(task, augmentations=["basic"]), Assignment(40))
    plain = known(task.on("train").instances)
    new = [r for r in records if not pairs_of(r, task) & plain]
    assert len(new) > 20
    sizes = {len(read_grid(r.output)) for r in records}
    assert {3, 4, 6} <= sizes


def test_records_have_the_skill_that_was_planned_and_are_of_it(task):
    skills = Counter(i.skill for i in task.on("train").instances)
    engine = GridEditEngine(task, augmentations=())
    assert engine.skills == tuple(sorted(skills))
    skill = engine.skills[0]
    records = generate(engine, Assignment(6, skill=skill))
    assert {r.provenance.skill for r in records} == {skill}
    of_skill = [i for i in task.on("train").instances if i.skill == skill]
    assert set().union(*(pairs_of(r, task) for r in records)) <= known(of_skill)
    warned = []
    with hearing_warnings(warned.append):
        assert generate(engine, Assignment(6, skill="no such skill")) == []
    assert "none of 4 problems of the train split has skill 'no such skill'" in warned[0]


def test_at_test_time_the_shown_problems_are_used_and_never_their_outputs(task):
    shown, other = task.instances[:2]
    example = CompletedTaskInstance(instance=shown, transcript=(), reward=0.0, was_correct=False)
    engine = GridEditEngine(task, augmentations=(), at_test_time=True, examples_per_problem=250)
    records = generate(engine, Assignment(8, examples=[example]))
    assert len(records) == 8
    pairs = set().union(*(pairs_of(r, task) for r in records))
    assert pairs == known([shown])
    assert not pairs & known([other])
    outputs = {read_grid(i.answer) for i in task.instances}
    assert not outputs & {read_grid(r.output) for r in records}
    everything = generate(engine, Assignment(9999))
    pairs |= set().union(*(pairs_of(r, task) for r in everything))
    assert pairs == known(task.instances)


def test_at_test_time_a_shown_view_stands_for_its_problem(tmp_path):
    task = FewShotTask({"validation": folder_of(tmp_path, 4)}, views=3)
    shown, view = task.instances[3], task.instances[5]
    assert view.id == f"{shown.id}@rotate-180"
    example = CompletedTaskInstance(instance=view, transcript=(), reward=0.0, was_correct=False)
    engine = GridEditEngine(task, augmentations=(), at_test_time=True)
    records = generate(engine, Assignment(8, examples=[example]))
    assert set().union(*(pairs_of(r, task) for r in records)) == known([shown])


def test_a_problem_gives_few_records_in_a_call_and_none_twice(task):
    engine = GridEditEngine(task, augmentations=(), examples_per_problem=2)
    first = generate(engine, Assignment(99))
    assert len(first) == 2 * len(task.on("train").instances)
    second = generate(engine, Assignment(99), seed=1)
    assert second
    assert not {r.instruction for r in first} & {r.instruction for r in second}
    # those that were not asked for come in a later call
    engine = GridEditEngine(task, augmentations=(), examples_per_problem=250)
    given = [*generate(engine, Assignment(3)), *generate(engine, Assignment(9999), seed=1)]
    assert len({(r.instruction, r.output) for r in given}) == len(given)
    made = {(frozenset(shown_in(r, task).demonstrations), shown_in(r, task).input) for r in given}
    assert len(made) == len(task.on("train").instances) * (3 + 3 * 2)


def test_a_resumed_engine_continues_in_the_same_way(task):
    one, other = (GridEditEngine(task, examples_per_problem=3) for _ in range(2))
    generate(one, Assignment(20))
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    again = [generate(e, Assignment(20), seed=1) for e in (one, other)]
    assert again[0] == again[1] != []


def test_records_of_evaluated_problems_pass_the_checks_but_the_problems_themselves_do_not(task):
    engine = GridEditEngine(task, at_test_time=True, examples_per_problem=250)
    checks = RecordChecks(task)
    assert checks.check(generate(engine, Assignment(60))).reasons == {}
    given_away = [task.domain.gold_record(instance) for instance in task.instances]
    assert checks.check(given_away).reasons == {"evaluation_overlap": 4}


@pytest.mark.parametrize("engine", [GridEditEngine, lambda t: GridSelfEditEngine(Teacher(""), t)])
def test_a_task_without_grids_is_refused(engine):
    with pytest.raises(ConfigurationError, match="choose task=few"):
        engine(PocketMathTask())


# --- self-edits ---


def test_a_teacher_chooses_the_augmentations_of_each_problem(task):
    teacher = Teacher(lambda text, sampling: EDIT)
    engine = GridSelfEditEngine(teacher, task)
    records = generate(engine, Assignment(15))
    assert len(records) == 15
    assert len(teacher.asked) == 2 == len(engine.edits)
    assert {edit.training.num_train_epochs for edit in engine.edits.values()} == {2}
    assert all(asked.startswith("Input:") for asked in teacher.asked)
    (sampling,) = teacher.samplings
    assert (sampling.temperature, sampling.max_tokens) == (0.8, 128)
    assert any(len(read_grid(r.output)) == 6 for r in records)
    for id in engine.edits:
        instance = next(i for i in task.on("train").instances if i.id == id)
        question = instance.instruction.rsplit("\n\n", 1)[1]
        assert not any(question in asked for asked in teacher.asked)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Turn them.", "no JSON object"),
        (without("training", "strategy"), "strategy"),
        (changed("training", num_train_epochs=100), "more than 375"),
        (changed("training", num_train_epochs=0), None),  # asks for nothing: not a failure
    ],
)
def test_a_failed_edit_gives_no_records_is_counted_and_named(answer, reason, task):
    said = iter([answer, json.dumps(EDIT), *[answer] * 99])
    engine = GridSelfEditEngine(Teacher(lambda text, sampling: next(said)), task)
    warnings = []
    with hearing_warnings(warnings.append):
        records = generate(engine, Assignment(20))
    failed = [edit for edit in engine.edits.values() if edit.failure]
    n = len(task.on("train").instances)
    assert len(engine.edits) == n
    assert len(failed) == (n - 1 if reason else 0)
    assert all(edit.training.num_train_epochs == 0 for edit in failed)
    assert 0 < len(records) <= engine.examples_per_problem
    said = [w for w in warnings if f"{n - 1} of {n} self-edits failed" in w and str(reason) in w]
    assert len(said) == bool(reason)


def test_a_failed_call_is_not_a_failed_edit(task):
    said = iter([Failure(reason="busy"), *[EDIT] * 9])
    engine = GridSelfEditEngine(Teacher(lambda text, sampling: next(said)), task)
    warned = []
    with hearing_warnings(warned.append):
        assert len(generate(engine, Assignment(10))) == 10
    assert not any(edit.failure for edit in engine.edits.values())
    assert "did not answer 1 of 2 requests" in warned[0]
    assert "busy" in warned[0]
    down = GridSelfEditEngine(Teacher(lambda text, sampling: Failure(reason="down")), task)
    with pytest.raises(PredictionError, match="down"):
        generate(down, Assignment(10))


def test_a_spent_budget_ends_the_call_with_the_records_so_far(task):
    engine = GridSelfEditEngine(Teacher(lambda t, s: EDIT, budget=1), task)
    records = generate(engine, Assignment(1), Assignment(1))
    assert len(records) == 1
    with pytest.raises(BudgetSpentError):
        generate(engine, Assignment(1))


def test_both_engines_are_configured(small):
    sources = f"task.sources={small}"
    agent = build_agent(compose(["task=few_shot", sources, "agent/engine=grid_edit"]))
    assert isinstance(agent.engine, GridEditEngine)
    options = ["agent/engine=grid_self_edit", "teacher=student", "agent.engine.at_test_time=true"]
    config = compose(["task=few_shot", sources, *options])
    assert config.agent.engine.temperature == 0.8
    with pytest.raises(ConfigurationError, match="asks a teacher"):
        build_agent(compose(["task=few_shot", sources, "agent/engine=grid_self_edit"]))


# --- adaptation ---


def test_a_context_is_a_puzzle_with_all_its_tests_and_without_views(tmp_path):
    task = FewShotTask({"validation": folder_of(tmp_path, 3, tests=2)}, views=2)
    engine = GridSelfEditEngine(Teacher("{}"), task)
    assert isinstance(engine, WritesEdits)
    contexts = engine.contexts(task.instances)
    assert [[q.id.split("/")[-1] for q in context.questions] for context in contexts] == [
        [f"task{n:02}-0", f"task{n:02}-1"] for n in range(3)
    ]
    (_, user) = engine.edit_prompt(contexts[1])
    shown = read_problem(contexts[1].questions[0].instruction).demonstrations
    assert all(pair.text in user.content for pair in shown)


def test_an_edit_is_trained_as_it_says(task):
    engine = GridSelfEditEngine(Teacher("{}"), task, examples_per_problem=20)
    context = engine.contexts(task.instances)[0]

    def read(text):
        return engine.read_edit(context, text, np.random.default_rng(0))

    edit = read(json.dumps(EDIT))
    assert len(edit.records) == 20
    assert edit.options == {"learning_rate": 1e-4, "num_train_epochs": 2}
    other = changed("training", strategy="train_using_all_tokens")
    assert read(other).options == {**edit.options, "train_on_prompt": True}
    alone = read(None)
    assert alone.options == {}
    assert set().union(*(pairs_of(r, task) for r in alone.records)) <= known([context.questions[0]])


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        ({"num_train_epochs": 0}, ""),
        ({"learning_rate": 0.0}, ""),
        ({"num_train_epochs": 38}, "it takes 380 steps, more than 375"),
        ({"strategy": "none"}, "strategy"),
    ],
)
def test_an_edit_that_failed_or_asks_for_nothing_trains_nothing(change, failure, task):
    engine = GridSelfEditEngine(Teacher("{}"), task, examples_per_problem=20)
    context = engine.contexts(task.instances)[0]
    edit = engine.read_edit(context, changed("training", **change), np.random.default_rng(0))
    assert edit.records == ()
    assert failure in edit.failure
    assert bool(edit.failure) == bool(failure)
