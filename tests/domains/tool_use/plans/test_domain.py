"""The domain of plans, as strategies, checks and evaluation use it."""

import json

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from dataenvgym.domains.tool_use.plans.task import PlansTask
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import (
    KTODatum,
    PreferenceDatum,
    SupervisedDatum,
    TaskInstance,
    TextDatum,
)
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.domain import gives, solves
from tests.domains.tool_use.plans.conftest import TOOLS, row, write_rows

JOKE = '[{"id": 0, "name": "tell joke", "args": {}}]'
CAPTION = '[{"id": 0, "name": "image captioning", "args": {"image": "b.jpg"}}]'


@pytest.fixture(params=["json", "code"])
def task(make_task, request):
    return make_task(form=request.param)


def without_arguments(answer: str) -> str:
    """A gold answer in JSON whose calls have no arguments."""
    return json.dumps([{**step, "args": {}} for step in json.loads(answer)])


def test_the_student_reads_the_tools_the_form_and_the_request(task, make_task):
    problem = task.instances[0]
    system, user = task.domain.prompt(problem)
    assert "image_captioning(image) -> text: Says it." in system.content
    assert ("JSON list" if task.domain.form.name == "json" else "```python") in system.content
    assert user.content == problem.instruction
    own = {"system_prompt": "", "template": "Tools:\n{tools}\n\n{instruction}\nPlan:"}
    (user,) = make_task(**own).domain.prompt(problem)
    assert user.content.startswith("Tools:\nimage_captioning(image)")
    assert user.content.endswith("tell_joke()\n\nPlease make a caption for number 0\nPlan:")


def test_a_right_plan_is_a_right_list_of_tools_unless_more_is_asked_for(make_task):
    for correct_by, right in (("tools", True), ("argument_names", False)):
        task = make_task(correct_by=correct_by)
        problem = task.instances[0]
        assert solves(task.domain, problem, problem.answer)
        assert solves(task.domain, problem, without_arguments(problem.answer)) is right
        assert solves(task.domain, problem, JOKE) is False
    task = make_task(correct_by="argument_values")
    problem = task.instances[0]
    assert not solves(task.domain, problem, problem.answer.replace("image_cap", "Image_Cap"))
    assert solves(task.domain, problem, problem.answer.replace("0.jpg", "0.JPG"))
    assert not solves(task.domain, problem, problem.answer.replace("0.jpg", "1.jpg"))


@pytest.mark.parametrize(
    ("correct_by", "one", "other"),
    [
        ("tools", "image_captioning", "image_captioning"),
        ("argument_names", "image_captioning(image)", "image_captioning(image)"),
        (
            *("argument_values", "image_captioning(image='b.jpg')"),
            "image_captioning(image='c.jpg')",
        ),
    ],
)
def test_the_answer_class_is_the_plan_as_far_as_it_is_judged(make_task, correct_by, one, other):
    replies = [f"Sure: {CAPTION}", CAPTION.replace("b.jpg", "c.jpg"), "no plan"]
    task = make_task(correct_by=correct_by)
    domain, problem = task.domain, task.instances[0]
    assert [domain.answer_class(problem, reply) for reply in replies] == [one, other, None]
    assert gives(domain, problem, replies[2], one) is False
    assert gives(domain, problem, replies[0], other) is (one == other)


def test_the_best_of_the_alternatives_counts(tmp_path):
    alternative = {"alternatives": [json.loads(JOKE), json.loads(CAPTION)], "alt_plans_str": None}
    path = write_rows(tmp_path / "rows.jsonl", [{**row(1, "story"), **alternative}])
    for best_match, right, score in ((False, 0.0, 0.5 * 4 / 3), (True, 1.0, 1.0)):
        task = PlansTask({"validation": path}, TOOLS, best_match=best_match)
        completed = task.evaluate(ScriptedPredictor(lambda conversation: CAPTION))
        report = task.generate_performance_report(completed)
        assert report.accuracy == right
        # one of two gold tools: F1 1 and 0 for the two tools; pooled over names, 2 / 3
        assert report.scores["tool_macro_f1"] == (1.0 if best_match else 0.5)
        assert report.scores["argument_name_f1"] == pytest.approx(score)


def test_reports_have_the_metrics_overall_and_by_skill(task):
    gold = {i.instruction: i.answer for i in task.instances}
    right = {i.instruction for i in task.instances if i.skill != "text_translation"}

    def answer(conversation):
        question = conversation[-1].content
        return gold[question] if question in right else "I do not know."

    completed = task.evaluate(ScriptedPredictor(answer))
    assert {c.note for c in completed if not c.was_correct} in (
        {"no plan in the reply: there is no JSON list of steps"},
        {"no plan in the reply: there is no Python code"},
    )
    report = task.generate_performance_report(completed)
    assert [*report.scores] == [
        *("argument_name_f1", "argument_value_f1", "edge_f1"),
        *("plan_argument_names", "plan_argument_values", "plan_tools"),
        *("tool_macro_f1", "tool_precision", "tool_recall"),
    ]
    # 8 of 12 right; of the three tools, two have F1 1 and the third 0
    assert (report.accuracy, report.scores["plan_tools"]) == (8 / 12, 8 / 12)
    assert report.scores["tool_macro_f1"] == pytest.approx(2 / 3)
    # 4 captions + 8 calls of stories are hits, 4 calls of translations are missing
    assert report.scores["argument_value_f1"] == pytest.approx(2 * 12 / (2 * 12 + 4))
    assert report.scores["edge_f1"] == 1.0
    by_skill = {s.skill: s for s in report.skills}
    assert by_skill["text_translation"].scores["tool_macro_f1"] == 0.0
    assert by_skill["image_captioning > text_generation"].scores["tool_recall"] == 1.0
    assert "edge_f1" not in by_skill["image_captioning"].scores
    assert task.generate_performance_report(completed[::-1]) == report


def test_a_record_is_a_problem_of_its_own_if_it_has_a_plan(make_task):
    domain = make_task().domain
    frame = domain.prompt_template.frame
    record = frame(SupervisedDatum(instruction="Say what b.jpg is", output=CAPTION))
    problem = domain.problem_of_record(record)
    assert (problem.instruction, problem.answer) == ("Say what b.jpg is", CAPTION)
    assert solves(domain, problem, CAPTION.replace("b.jpg", "c.jpg"))
    assert not solves(domain, problem, JOKE)
    assert domain.problem_of_record(record.model_copy(update={"output": "No."})) is None


def test_records_are_judged_by_the_training_split_or_by_general_rules_of_plans(make_task):
    task = make_task()
    domain = task.domain
    known = task.on("train").instances[0].instruction

    def judged(question, output, kind=SupervisedDatum, **fields):
        record = kind(instruction=question, output=output, **fields)
        return domain.judge_record(domain.prompt_template.frame(record))

    assert judged(known, CAPTION) is True
    assert judged(known, JOKE) is False
    assert judged(known, JOKE, KTODatum, desirable=False) is True
    assert judged("Something else", CAPTION) is None
    for wrong in (
        "no plan",
        "[]",
        '[{"name": "fly", "args": {}}]',
        '[{"name": "text generation", "args": {"text": ["<node-0>.text"]}}]',
    ):
        assert judged("Something else", wrong) is False
    pair = PreferenceDatum(instruction=known, chosen=CAPTION, rejected=JOKE)
    assert domain.judge_record(pair) is True
    swapped = PreferenceDatum(instruction=known, chosen=JOKE, rejected=CAPTION)
    assert domain.judge_record(swapped) is False
    assert domain.judge_record(TextDatum(text="x")) is None


def test_problems_without_a_plan_are_refused(make_task):
    domain = make_task().domain
    for problem in (
        TaskInstance(id="a", task="plans", instruction="?"),
        TaskInstance(id="a", task="plans", instruction="?", answer="no plan"),
        TaskInstance(id="a", task="plans", instruction="?", data={"plans": [[3]]}),
    ):
        with pytest.raises(InvalidInstanceError, match=r"instance 'a'.*gold plan"):
            domain.prompt(problem)


def test_its_environment_passes_the_checker_of_gymnasium(make_task):
    environment = make_task().make_environment()
    assert isinstance(environment, gymnasium.Env)
    check_env(environment, skip_render_check=True)
