import inspect
import json
import re
import sys
from itertools import pairwise

import numpy as np
import pytest

from dataenvgym.agents import PocketEngine
from dataenvgym.agents.engines.gold import gold_records
from dataenvgym.domains.math.reasoning_gym import (
    EVALUATES_ANSWERS,
    ReasoningGymEnvironment,
    ReasoningGymTask,
    dataset_of,
)
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.records.plans import Assignment
from dataenvgym.tasks.domain import solves
from tests.fakes import Knowing

SIZES = {"train": 30, "validation": 20, "test": 20}
SPLITS = tuple(SIZES)


@pytest.fixture(scope="module")
def installed():
    return pytest.importorskip("reasoning_gym", reason="needs the extra [reasoning-gym]")


@pytest.fixture
def task(installed):
    return ReasoningGymTask(["chain_sum", "gcd"], sizes=SIZES)


def oracle(task, form="<answer>{}</answer>"):
    """Knows every answer, and says it as asked for."""
    return Knowing({i.instruction: i.answer for i in task.instances}, form)


@pytest.mark.parametrize(
    "form",
    [
        "I think …\n<answer> {} </answer>", "#### {}", "\\boxed{{{}}}", "</answer> #### {}",
        "<answer>0.5</answer> or <answer>{}</answer>", "<answer>{}</answer> </answer> <answer>0.5",
    ],
)  # fmt: skip
def test_right_answers_score_one(task, form):
    completed = task.evaluate(oracle(task, form))
    report = task.generate_performance_report(completed)
    assert (report.accuracy, report.score, report.n_errors) == (1.0, 1.0, 0)
    assert [(s.skill, s.category, s.n) for s in report.skills] == [
        ("chain_sum", "arithmetic", 20),
        ("gcd", "arithmetic", 20),
    ]


def test_an_answer_that_is_wrong_or_not_marked_does_not_count_as_correct(task):
    for form in ("<answer>{}7</answer>", "I found {}", "<answer></answer>"):
        assert not any(c.was_correct for c in task.evaluate(oracle(task, form)))


def test_no_question_occurs_twice_in_or_across_splits(installed):
    # few operands: the family repeats itself all the time
    options = {"min_value": 1, "max_value": 12, "min_numbers": 2, "max_numbers": 2}
    task = ReasoningGymTask({"gcd": options}, sizes=SIZES)
    questions = [i.instruction for split in SPLITS for i in task.on(split).instances]
    assert len(questions) == len(set(questions)) == 70


def test_splits_draw_from_seeds_that_lie_far_apart(task):
    for family in ("chain_sum", "gcd"):
        recipes = [json.loads(task.source.recipe(family, split)) for split in SPLITS]
        spans = sorted((r["seed"], r["seed"] + r["size"]) for r in recipes)
        assert all(a[1] + 10**6 < b[0] for a, b in pairwise(spans))


def test_a_split_does_not_depend_on_which_one_is_loaded_first(task):
    again = ReasoningGymTask(["chain_sum", "gcd"], sizes=SIZES)
    train = task.on("train").instances
    assert again.on("test").instances == task.on("test").instances
    assert again.on("train").instances == train


def test_a_family_that_is_exhausted_says_so(installed):
    options = {"min_value": 1, "max_value": 2, "min_numbers": 2, "max_numbers": 2}
    with pytest.raises(InvalidInstanceError, match="new problems"):
        ReasoningGymTask({"gcd": options}, sizes=SIZES).load("test")


def test_unknown_families_and_options_are_refused(installed):
    with pytest.raises(ConfigurationError, match="Did you mean 'chain_sum'"):
        ReasoningGymTask(["chain_sums"])
    for options in ({"terms": 3}, {"min_terms": 5, "max_terms": 2}):
        with pytest.raises(ConfigurationError, match="does not take the options"):
            ReasoningGymTask({"chain_sum": options})


def test_every_family_that_runs_answers_as_code_is_refused(installed):
    from reasoning_gym.factory import DATASETS

    evaluating = {
        name
        for name, (family, _) in DATASETS.items()
        for call in re.findall(
            r"\b(?:eval|exec|parse_expr|sympify)\((.*)", inspect.getsource(family.score_answer)
        )
        if not call.startswith(("entry[", "metadata["))
    }
    assert evaluating == EVALUATES_ANSWERS
    for family in EVALUATES_ANSWERS:
        with pytest.raises(ConfigurationError, match="running it as Python code"):
            ReasoningGymTask([family])


def test_another_problem_under_the_same_name_is_an_error_not_a_wrong_answer(task):
    changed = task.instances[0].model_copy(update={"instruction": "another one"})
    environment = ReasoningGymEnvironment()
    environment.reset(options={"instance": changed})
    with pytest.raises(InvalidInstanceError, match="problem in the"):
        environment.step("<answer>1</answer>")


def trips(answer, entry):
    raise KeyError("oops")


TOO_LARGE = "scoring: the answer is too long, or a number too large"


@pytest.mark.parametrize(
    ("answer", "scorer", "note"),
    [
        ("1", trips, "scoring: KeyError: 'oops'"),
        ("nan", lambda *_: float("nan"), "scoring: the answer's score is nan"),
        *((huge, None, TOO_LARGE) for huge in ("1e99999999", "-2.E+1_000_000", "1" * 20_000)),
    ],
)
def test_an_answer_that_no_scorer_can_take_is_wrong_with_a_note(
    answer, scorer, note, task, monkeypatch
):
    dataset = dataset_of(str(task.instances[0].data["recipe"]))
    monkeypatch.setattr(dataset, "score_answer", scorer, raising=False)
    environment = ReasoningGymEnvironment(task.instances)
    environment.reset(options={"instance": task.instances[0]})
    _, reward, terminated, _, info = environment.step(f"<answer>{answer}</answer>")
    assert (reward, terminated, info["was_correct"]) == (0.0, True, 0.0)
    assert info["note"] == note


def test_the_teacher_writes_right_records_and_none_of_an_evaluated_question(installed):
    # few operands: most questions of the train range are also in another split
    options = {"min_value": 1, "max_value": 9, "min_numbers": 2, "max_numbers": 2}
    task = ReasoningGymTask(
        {"gcd": options, "chain_sum": {}}, sizes=SIZES, reply="The answer is {answer}."
    )
    teacher = PocketEngine(task)
    plan = [Assignment(30, skill="gcd"), Assignment(10, skill="chain_sum")]
    records = teacher.generate(plan, Knowing({}), np.random.default_rng(0))
    assert [r.provenance.skill for r in records].count("gcd") == 30
    evaluated = [i.instruction for s in ("validation", "test") for i in task.on(s).instances]
    assert not {r.instruction for r in records} & set(evaluated)
    for record in records:
        problem = task.domain.problem_of_record(record)
        assert problem is None or solves(task.domain, problem, record.output)
    assert teacher.generate(plan, Knowing({}), np.random.default_rng(0)) == records


def test_gold_records_have_the_form_of_the_option(installed):
    task = ReasoningGymTask(["gcd"], sizes=SIZES, reply="The answer is {answer}.")
    instances = task.on("train").instances
    golds = [f"The answer is {instance.answer}." for instance in instances]
    assert [record.output for record in gold_records(task, instances)] == golds


def test_without_a_test_split_no_test_question_is_excluded(installed):
    task = ReasoningGymTask(["gcd"], sizes={"train": 5, "validation": 2})
    assert PocketEngine(task).generate(
        [Assignment(3, skill="gcd")], Knowing({}), np.random.default_rng(0)
    )


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    dataset_of.cache_clear()
    monkeypatch.setitem(sys.modules, "reasoning_gym.factory", None)
    with pytest.raises(ConfigurationError, match=r"dataenvgym\[reasoning-gym"):
        ReasoningGymTask(["chain_sum"])
