"""Data selection from a pool: at random, by uncertainty, by likeness to the errors."""

import numpy as np
import pytest

from dataenvgym.agents import (
    Assignment,
    InfluenceSelection,
    PoolEngine,
    RandomSelection,
    UncertaintySelection,
)
from dataenvgym.domains.math.pocket import SKILLS, PocketMathTask, recognize
from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.records import ChatDatum, CompletedTaskInstance
from dataenvgym.storage import write_jsonl
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import Student, tried

TASK = PocketMathTask(n_train=200)
SILENT = ScriptedPredictor(lambda conversation: "")


def generate(engine, *plan, predictor=SILENT, seed=0):
    return engine.generate(plan, predictor, np.random.default_rng(seed))


def example(instruction: str) -> CompletedTaskInstance:
    return tried(instruction=instruction)


def random_engine(**options) -> PoolEngine:
    return PoolEngine(RandomSelection(), TASK, **options)


def test_it_takes_records_of_the_skill_that_is_asked_for():
    assert random_engine().skills == tuple(sorted(SKILLS))
    records = generate(random_engine(), Assignment(4, skill="sum"), Assignment(3, skill="odds"))
    assert [r.provenance.skill for r in records] == ["sum"] * 4 + ["odds"] * 3
    assert {r.instruction for r in records} <= {i.instruction for i in TASK.on("train").instances}


def test_no_record_is_taken_twice_in_a_run_and_none_is_left_out_until_all_are_taken():
    engine = random_engine()
    taken = [r.instruction for s in range(5) for r in generate(engine, Assignment(60), seed=s)]
    assert len(taken) == len(set(taken)) == 200
    assert list(generate(engine, Assignment(1, skill="sum"))) == []


def test_a_run_does_not_go_on_with_another_pool():
    state = random_engine().state_dict()
    with pytest.raises(RunDirectoryError, match="pool"):
        PoolEngine(RandomSelection(), PocketMathTask(n_train=100)).load_state_dict(state)


def test_without_a_skill_that_the_pool_names_examples_bring_records_that_ask_the_same():
    examples = [example("Write 9 9 8 1 backwards.")]
    for skill in (None, "turning round"):
        wanted = Assignment(2, skill=skill, examples=examples)
        records = generate(random_engine(nearest=1), wanted)
        assert {recognize(r.instruction)[0].name for r in records} == {"reversed"}
    with pytest.raises(ConfigurationError, match="reversed"):
        generate(random_engine(), Assignment(2, skill="reverse"))


def test_assignments_that_want_the_same_records_all_get_their_number():
    alike = [Assignment(2, examples=[example(f"Write {n} {n} 8 1 backwards.")]) for n in range(10)]
    for engine in (random_engine(nearest=1), PoolEngine(InfluenceSelection(), TASK, nearest=1)):
        records = generate(engine, *alike)
        assert len(records) == len({r.instruction for r in records}) == 20
        assert sum(recognize(r.instruction)[0].name == "reversed" for r in records) == 10  # all


def test_influence_selects_the_records_most_similar_to_the_errors():
    engine = PoolEngine(InfluenceSelection(), TASK)
    wrong = [example(f"What is {n} plus {n + 1}?") for n in (11, 22)]
    records = generate(engine, Assignment(3, examples=wrong))
    assert {recognize(r.instruction)[1] for r in records} == {"What is {a} plus {b}?"}
    by_skill = generate(engine, Assignment(2, skill="sum", examples=wrong))
    assert len(by_skill) == 2
    assert engine.fit.needs == "examples"
    with pytest.raises(ConfigurationError, match="agent/policy=open_ended"):
        generate(engine, Assignment(2, skill="sum"))


def torn(skill):
    """Gives the same answer each time, except to problems of one skill."""

    def say(question, sampling):
        return f"#### {sampling.seed if recognize(question)[0].name == skill else 7}"

    return Student(say)


def test_uncertainty_tries_some_candidates_and_selects_those_with_different_answers(monkeypatch):
    def selection(breadth):
        monkeypatch.setattr(UncertaintySelection, "breadth", breadth)
        return UncertaintySelection(TASK, samples=3)

    engine = PoolEngine(selection(200), TASK)
    records = generate(engine, Assignment(10), predictor=torn("odds"))
    assert [r.provenance.skill for r in records] == ["odds"] * 10
    student = torn("odds")
    engine = PoolEngine(selection(4), TASK)
    assert len(generate(engine, Assignment(5), predictor=student)) == 5
    assert len(student.asked) == 3 * 4 * 5


def test_uncertainty_about_tools_compares_results_of_calls_and_needs_their_world(monkeypatch):
    shop = ToolUseTask("shop")
    for task, n in ((PocketToolsTask(n_train=40), 4), (shop, 1)):
        taken = generate(PoolEngine(UncertaintySelection(task), task), Assignment(n))
        assert len(taken) == n
        assert all(isinstance(record, ChatDatum) for record in taken)
    monkeypatch.setattr(ToolUseDomain, "problem_of_record", lambda self, record: None)
    with pytest.raises(ConfigurationError, match="pool"):
        generate(PoolEngine(UncertaintySelection(shop), shop), Assignment(2))


def test_a_file_of_records_is_a_pool(tmp_path):
    rows = [
        {"instruction": "a?", "output": "1", "provenance": {"skill": "x"}},
        {"instruction": "b?", "output": "2"},
        {"kind": "preference", "instruction": "c?", "chosen": "3", "rejected": "4"},
    ]
    write_jsonl(tmp_path / "pool.jsonl", rows)
    engine = random_engine(path=tmp_path / "pool.jsonl")
    assert engine.skills == ("x",)
    assert {r.instruction for r in generate(engine, Assignment(9))} == {"a?", "b?", "c?"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"instruction": "a?"}\n', "line 1 is not a training record"),
        ('{"instruction": "a?", "output": "1"}\nnonsense\n', "line 2 is not a training record"),
        ('{"kind": "text", "text": "a"}\n', "line 1 is a record of kind 'text'"),
        ("\n", "the pool is empty"),
    ],
)
def test_a_file_that_is_not_a_pool_is_refused_with_its_line(tmp_path, text, expected):
    (tmp_path / "pool.jsonl").write_text(text)
    with pytest.raises(ConfigurationError, match=expected):
        random_engine(path=tmp_path / "pool.jsonl").prepare()
    with pytest.raises(ConfigurationError, match="there is no file"):
        random_engine(path=tmp_path / "none.jsonl").prepare()


# --- likeness of texts ---
