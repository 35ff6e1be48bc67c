"""The strategies of math and code on plans, with a student by rule: none of them knows plans."""

import itertools
import json
from zlib import crc32

import pytest

from dataenvgym.agents.compatibility import check_fit
from dataenvgym.domains.tool_use.plans.task import PlansTask
from dataenvgym.environments.overlap import EvaluatedProblems
from dataenvgym.records import PreferenceDatum, SupervisedDatum
from dataenvgym.runs.config import build_agent, build_task, compose
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.tool_use.plans.conftest import TOOLS, row, write_rows
from tests.fakes import Teacher

WRONG = {"json": '[{"id": 0, "name": "tell_joke", "args": {}}]', "code": "output0 = tell_joke()"}
COMBINATIONS = [
    ("agent=skill_list agent/engine=llm agent.policy.choose=highest_error", "json"),
    ("agent=random agent/engine=llm prompt=plan_records", "code"),
    ("agent=skill_list agent/engine=self_consistency agent.policy.choose=most_common", "json"),
    ("agent=preference agent/engine@agent.engine.engine=llm", "code"),
]


def teacher_in(form):
    """A teacher that writes requests of its own, each with a right plan for a caption."""
    numbers = itertools.count()

    def record(name):
        steps = json.dumps([{"name": "image_captioning", "args": {"image": name}}])
        plans = {"json": steps, "code": f'output0 = image_captioning(image="{name}")'}
        return {"instruction": f"Say what {name} shows", "output": plans[form]}

    def answer(text, sampling):
        if "subskills" in str(sampling.json_schema):
            return {"subskills": [f"part {next(numbers)}"]}
        return {"records": [record(f"photo{next(numbers)}.png") for _ in range(10)]}

    return Teacher(answer)


def setting(files, overrides, form="json"):
    """A configuration, its task, a student that knows about half of the plans, and a teacher."""
    config = compose(
        [
            *("task=plans", f"task.tools={files['tools']}", f"task.form={form}"),
            f"task.sources={{train: {files['train']}, validation: {files['test_human_verified']}, "
            f"test: {files['test_human_verified_filtered']}}}",
            *("agent.records_per_iteration=8", "episode.iterations=2", *overrides.split()),
        ]
    )
    task = build_task(config)
    gold = {
        task.domain.prompt_template.text(instance.instruction): instance.answer
        for split in task.splits
        for instance in task.on(split).instances
    }

    def answer(conversation):
        question = conversation[-1].content
        return gold.get(question, WRONG[form]) if crc32(question.encode()) % 2 else WRONG[form]

    return config, task, ScriptedPredictor(answer), teacher_in(form)


@pytest.mark.parametrize(("overrides", "form"), COMBINATIONS)
def test_a_strategy_writes_records_that_hold(files, overrides, form):
    config, task, student, teacher = setting(files, overrides, form)
    agent = build_agent(config, task=task, teacher=teacher)
    check_fit(task, agent, shows_skills=True)
    records = agent(task.evaluate(student), student)
    assert records
    for record in records:
        assert record.system == task.domain.prompt_template.system
        if "self_consistency" not in overrides:  # which learns what is said most, right or wrong
            assert task.domain.judge_record(record) is not False
        if isinstance(record, SupervisedDatum):
            assert task.domain.form.read(record.output).plan
    if "prompt=plan_records" in overrides:
        assert "text_translation(text, language) -> text" in teacher.asked[0]
    if "preference" in overrides:
        assert {type(record) for record in records} == {PreferenceDatum}
        assert {record.rejected for record in records} == {WRONG[form]}


def test_records_with_the_tools_of_an_evaluated_plan_do_not_overlap_with_it(tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", [row(1, "story"), row(2, "caption")])
    task = PlansTask({"validation": path}, TOOLS)
    overlap = EvaluatedProblems(task).overlap()
    frame = task.domain.prompt_template.frame
    plan = task.instances[0].answer.replace("1.jpg", "boat.jpg")
    record = frame(SupervisedDatum(instruction="Invent a tale about boat.jpg", output=plan))
    assert record not in overlap
    same = frame(SupervisedDatum(instruction=task.instances[0].instruction, output=plan))
    assert same in overlap
