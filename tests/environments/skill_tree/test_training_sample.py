import shutil
from collections import Counter

import numpy as np
import pytest

from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.math.task import MathTask
from dataenvgym.environments.skill_tree.training_sample import (
    answer_again,
    renewed_sample,
    subskill_taught,
)
from dataenvgym.records import Provenance, SupervisedDatum, TextDatum
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.adapted_task import task_of

MATH = MathTask("none.jsonl")


def record(number: int, subskill: str | None = "x", **fields: object) -> SupervisedDatum:
    return SupervisedDatum(
        instruction=f"Say {number} short please",
        output=f"#### {number}",
        provenance=Provenance(id=f"r{number}", skill="a", subskill=subskill),
    ).model_copy(update=fields)


def test_every_record_is_in_the_sample_as_often_whenever_it_was_trained_on():
    counts: Counter[str] = Counter()
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        first = renewed_sample((), [record(n) for n in range(4)], {}, 2, rng, MATH)
        second = renewed_sample(
            first, [record(n) for n in range(4, 8)], {("a", "x"): 4}, 2, rng, MATH
        )
        assert len(second) == 2
        counts.update(instance.id for instance in second)
    assert len(counts) == 8
    assert all(abs(n - 750) < 100 for n in counts.values())  # four standard deviations


def test_each_subskill_has_a_sample_of_its_own():
    records = [record(n, s) for n, s in enumerate("xxxxy")]
    sample = renewed_sample((), records, {}, 3, np.random.default_rng(0), MATH)
    assert Counter(i.data["subskill"] for i in sample) == {"x": 3, "y": 1}


def test_records_without_a_question_and_final_answer_are_left_out():
    strange = [
        record(1, None), record(2, output="no marker"), record(3, system="Be brief."),
        TextDatum(text="#### 4", provenance=Provenance(id="t", skill="a", subskill="x")),
    ]  # fmt: skip
    assert renewed_sample((), strange, {}, 5, np.random.default_rng(0), MATH) == []


def test_the_answers_are_graded_by_the_tasks_own_scorer_if_it_has_one(numbers, student):
    sample = renewed_sample((), [record(5), record(6)], {}, 5, np.random.default_rng(0), MATH)
    sample[1] = sample[1].model_copy(update={"answer": "7"})
    assert [c.was_correct for c in answer_again(numbers, student, sample)] == [True, False]
    assert answer_again(task_of(object()), student, sample) == []


def test_a_record_in_the_tasks_prompt_is_asked_again_in_that_prompt():
    task = PocketMathTask(n_validation=2, system_prompt="Be brief.", template="Do: {instruction}")
    asked = []

    def answer(conversation):
        asked.append(conversation)
        return "#### 5"

    framed = task.domain.prompt_template.frame(record(5))
    sample = renewed_sample((), [framed], {}, 5, np.random.default_rng(0), task)
    (again,) = answer_again(task, ScriptedPredictor(answer), sample)
    assert asked == [framed.prompt]
    assert (again.was_correct, again.instance.data["subskill"]) == (True, "x")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (Debian: bubblewrap)")
def test_records_of_code_are_judged_by_their_tests():
    task = PocketCodeTask(n_train=2, n_validation=2, template="Write this: {instruction}")
    (first, second) = (
        task.domain.family.draw(skill, "train", np.random.default_rng(9))
        for skill in ("maximum", "tail")
    )
    asserted = "Write inc(x).\n\nassert inc(1) == 2"
    source = Provenance(id="r", skill="a", subskill="x")
    records = [
        SupervisedDatum(instruction=question, output=output, provenance=source)
        for question, output in (
            (first.question, first.output),
            (second.question, second.output),
            (asserted, "def inc(x):\n    return x + 1"),
            ("Write something.", "def something():\n    pass"),
        )
    ]
    records = [task.domain.prompt_template.frame(r) for r in records]
    replies = {
        records[0].prompt: first.output,
        records[1].prompt: first.output,
        records[2].prompt: "def inc(y):\n    return 1 + y",
    }
    sample = renewed_sample((), records, {}, 9, np.random.default_rng(0), task)
    try:
        completed = answer_again(task, ScriptedPredictor(replies.__getitem__), sample)
    finally:
        task.close()
    assert [c.error for c in completed] == [None] * 3
    assert [c.was_correct for c in completed] == [True, False, True]
    assert {subskill_taught(c) for c in completed} == {"x"}
