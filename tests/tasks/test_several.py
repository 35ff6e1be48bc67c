"""Several tasks as one: each is tried and judged as by itself, and the score follows from all."""

import pytest

from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.knowledge.pocket import PocketKnowledgeTask
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments.checks import RecordChecks
from dataenvgym.environments.overlap import EvaluatedProblems
from dataenvgym.errors import ConfigurationError, InvalidRecordError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Reply
from dataenvgym.records import Provenance, SupervisedDatum
from dataenvgym.runs.config import build_task, compose
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.several import SeveralTasks

SIZES = {"n_train": 30, "n_validation": 6, "n_test": 4}


@pytest.fixture
def parts():
    return {"sums": PocketMathTask(**SIZES), "facts": PocketKnowledgeTask(**SIZES)}


@pytest.fixture
def task(parts):
    return SeveralTasks(parts)


def firsts(task):
    """The first training problem of each task, by name."""
    train = task.on("train").instances
    return {name: next(i for i in train if i.task == name) for name in task.tasks}


def without_task(record):
    return record.model_copy(update={"provenance": Provenance(skill=record.provenance.skill)})


class Knowing:
    """Knows the answers to all problems of math; keeps how it was asked."""

    def __init__(self, task):
        self.answers = {i.instruction: i.answer for i in task.instances}
        self.asked = []

    def predict(self, conversations, sampling):
        self.asked.append((len(conversations), sampling))
        return [Reply(text=f"#### {self.answers.get(c[-1].content, 0)}") for c in conversations]


def test_each_task_is_tried_and_judged_as_by_itself(task, parts):
    student = Knowing(parts["sums"])
    completed = task.evaluate(student)
    assert [c.instance.task for c in completed] == ["sums"] * 6 + ["facts"] * 6
    assert {c.instance.category for c in completed} == {"sums", "facts"}
    alone = [c for part in parts.values() for c in part.evaluate(student)]
    assert [(c.reward, c.transcript) for c in completed] == [
        (c.reward, c.transcript) for c in alone
    ]
    own = [part.sampling for part in parts.values()]
    assert [sampling for _, sampling in student.asked[:2]] == own


def test_the_no_answer_rate_is_that_of_each_tasks_own_domain(task):
    silent = ScriptedPredictor(lambda conversation: "The answer is 7.")  # no word of a fact
    report = task.generate_performance_report(task.evaluate(silent))
    rates = {skill.category: skill.no_answer_rate for skill in report.skills}
    assert (rates, report.no_answer_rate) == ({"sums": 0.0, "facts": 1.0}, 0.5)


def test_the_score_is_the_mean_of_the_tasks_or_follows_another_rule(parts):
    student = Knowing(parts["sums"])
    rules = ({"reward": "mean"}, {"reward": "min"}, {"weights": {"sums": 3, "facts": 1}})
    for rule, expected in zip(rules, (0.5, 0.0, 0.75), strict=True):
        task = SeveralTasks(parts, **rule)
        report = task.generate_performance_report(task.evaluate(student))
        assert report.score == expected
        assert (report.scores["sums"], report.scores["facts"]) == (1.0, 0.0)
        assert (report.n, report.accuracy) == (12, 0.5)
    uneven = SeveralTasks({**parts, "sums": PocketMathTask(**{**SIZES, "n_validation": 60})})
    report = uneven.generate_performance_report(uneven.evaluate(Knowing(uneven.tasks["sums"])))
    assert (report.score, report.accuracy) == (0.5, 60 / 66)


def test_a_score_without_problems_of_a_task_is_warned_of(task, parts):
    heard = []
    with hearing_warnings(heard.append):
        task.generate_performance_report(completed := task.evaluate(Knowing(parts["sums"])))
        report = task.generate_performance_report(completed[:4])
    assert (report.score, heard) == (1.0, ["several: no problem of facts is in the score"])


def test_what_is_changed_in_the_sampling_is_changed_for_each(parts):
    task = SeveralTasks(parts, sampling={"temperature": 0.5, "max_tokens": 1024})
    student = Knowing(parts["sums"])
    task.attempt(student, samples=2)
    assert {sampling.temperature for _, sampling in student.asked} == {0.5}
    assert len({sampling.seed for _, sampling in student.asked}) == 2
    student.asked.clear()
    sampling = task.sampling.model_copy(update={"seed": 7})
    some = [task.instances[0], task.instances[-1], task.instances[1]]
    completed = task.attempt(student, some, samples=2, sampling=sampling)
    assert [c.instance.id for c in completed] == [i.id for i in some] * 2
    assert [n for n, _ in student.asked] == [2, 2, 1, 1]
    own = [part.sampling.max_tokens for part in parts.values()]
    assert [s.max_tokens for _, s in student.asked] == [own[0], own[0], own[1], own[1]]


def test_a_record_is_judged_and_tried_by_the_task_that_its_provenance_names(task, parts):
    for name, problem in firsts(task).items():
        record = task.domain_of(problem).gold_record(problem)
        assert record.provenance.task == name
        domain, own = task.domain_of(record.provenance), parts[name].on("train").instances[0]
        assert domain is parts[name].domain
        assert without_task(record) == without_task(domain.gold_record(own))
        made = task.problem_of(record)
        assert made.task == name
        (tried,) = task.attempt(ScriptedPredictor(lambda c, r=record: r.output), [made])
        assert tried.was_correct


def test_a_record_that_names_no_task_is_refused(task):
    record = SupervisedDatum(instruction="1 + 1?", output="#### 2")
    with pytest.raises(InvalidRecordError, match="sums, facts"):
        task.domain_of(record.provenance)
    with pytest.raises(InvalidRecordError, match="sums, facts"):
        RecordChecks(task).check([record])


def test_records_of_a_task_whose_examples_are_always_shown_have_them_too(parts):
    shots = {"examples": [{"instruction": "1 + 1", "answer": "2"}]}
    sums = PocketMathTask(**SIZES, examples=shots, examples_for="always")
    task = SeveralTasks({**parts, "sums": sums})
    records = [task.domain_of(one).gold_record(one) for one in firsts(task).values()]
    of_sums, of_facts = task.as_trained(records)
    assert of_sums.instruction == f"1 + 1\n2\n\n{records[0].instruction}"
    assert of_facts == records[1]


def test_a_record_for_one_task_must_not_give_away_a_problem_of_another(task, parts):
    guard = EvaluatedProblems(task).overlap()
    fact = parts["facts"].instances[0].instruction
    made = Provenance(agent="a", iteration=1, task="sums")
    leak = SupervisedDatum(instruction=fact, output="#### 1", provenance=made)
    fine = SupervisedDatum(instruction="Who sings in the park?", output="Ann", provenance=made)
    assert leak in guard
    assert fine not in guard


def test_it_is_composed_of_tasks_by_name():
    weights = "task.weights={pocket_math: 3, pocket_code: 1}"
    more = ["task.tasks.pocket_code.n_test=3", weights]
    task = build_task(compose(["task.tasks=[pocket_math,pocket_code]", *more]))
    assert isinstance(task.tasks["pocket_code"], PocketCodeTask)
    assert len(task.on("test").instances) == 400 + 3
    assert task.weights == {"pocket_math": 3.0, "pocket_code": 1.0}


def test_what_cannot_be_joined_is_refused(parts):
    with pytest.raises(ConfigurationError, match=r"task\.tasks is"):
        compose(["task.tasks=[pocket_math]"])
    with pytest.raises(ConfigurationError, match="pocket_meth"):
        compose(["task.tasks=[pocket_meth,pocket_code]"])
    for options in (
        {"weights": {"sums": 1}},
        {"weights": {"sums": 1, "facts": 0}},
        {"weights": {"sums": 1, "facts": 1}, "reward": "min"},
        {"examples": {"examples": [{"instruction": "1 + 1", "answer": "2"}]}},
        {"tasks": {**parts, "sums": PocketMathTask(pressure="traps")}},
    ):
        with pytest.raises(ConfigurationError, match="sums"):
            SeveralTasks(**{"tasks": parts, **options})
    with pytest.raises(ConfigurationError, match="sums, facts"):
        _ = SeveralTasks(parts).domain
