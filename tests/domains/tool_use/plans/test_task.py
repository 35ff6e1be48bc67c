"""Plans from files: fields of a row, problems of each split, and refused rows."""

from __future__ import annotations

import json

import pytest

from dataenvgym.domains.tool_use.plans.task import PlansTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from tests.domains.tool_use.plans.conftest import TOOLS, row, write_rows


def one(tmp_path, changes, tools=TOOLS, **options):
    """The problem of a file with one row: a request for a story, changed."""
    values = {**row(7, "story"), **changes}
    values = {name: value for name, value in values.items() if value is not ...}
    path = write_rows(tmp_path / "rows.jsonl", [values])
    return PlansTask({"validation": path}, tools, **options).instances[0]


STEPS = [
    {"id": 3, "name": "image captioning", "args": {"image": "7.jpg"}},
    {"id": 4, "name": "text_generation", "args": {"text": "A story of <node-3>.text"}},
]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"plan_str": json.dumps(STEPS)},
        {"plan_str": ..., "plan": STEPS},
        {"plan_str": None, "plan": str(STEPS)},
        {"alt_plans_str": None, "anything": {"else": 1}},
    ],
)
def test_a_row_is_a_problem_with_its_list_of_tools_as_the_skill(tmp_path, changes):
    problem = one(tmp_path, changes)
    assert (problem.id, problem.task) == ("7", "plans")
    assert problem.instruction == "Please make a story for number 7"
    assert (problem.skill, problem.category) == ("image_captioning > text_generation", "2 steps")
    assert json.loads(problem.answer)[1]["args"] == {"text": "A story of <node-0>.text"}
    other = one(tmp_path, {**changes, "id": ...}, form="code")
    assert (other.id, other.answer) == (
        "rows-1",
        'output0 = image_captioning(image="7.jpg")\n'
        "output1 = text_generation(text=f\"A story of {output0['text']}\")",
    )


REFUSED = [
    ({"user_request": ...}, "field 'user_request': found nothing, expected a text"),
    ({"plan_str": ...}, "field 'plan_str': found nothing, expected a list"),
    ({"plan_str": "__import__('os')"}, "field 'plan_str': found str"),
    ({"plan_str": "(" * 5000}, "field 'plan_str': found str"),
    ({"plan_str": "[]"}, "field 'plan_str': the plan has no step"),
    ({"plan_str": "[{'name': 'tell joke', 'arguments': {}}]"}, "step 0, field 'args'"),
    (
        {"plan_str": "[{'name': 'image captionin', 'args': {}}]"},
        "step 0 calls 'image_captionin', which is not in the tool list.*'image_captioning'",
    ),
    (
        {"plan_str": "[{'id': 0, 'name': 'tell joke'}, {'id': 0, 'name': 'tell joke'}]"},
        "step 1, field 'id'",
    ),
    (
        {"plan_str": str([*STEPS[:1], {**STEPS[1], "args": {"text": "<node-4>.text"}}])},
        "step 1, argument 'text' refers to <node-4>.text, expected a step before it: <node-3>",
    ),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_row_that_cannot_be_scored_is_refused_naming_file_row_and_field(tmp_path, changes, said):
    with pytest.raises(InvalidInstanceError, match=rf"rows\.jsonl:1, .*{said}"):
        one(tmp_path, changes)


def test_a_name_that_python_cannot_have_is_refused_for_code_alone(tmp_path):
    tools = [{"name": "ask-me"}]
    changes = {"plan_str": "[{'name': 'ask-me'}]"}
    assert one(tmp_path, changes, tools).skill == "ask-me"
    with pytest.raises(InvalidInstanceError, match=r"ask-me.*form=json"):
        one(tmp_path, changes, tools, form="code")


def test_alternatives_are_read_for_the_best_match_only(tmp_path):
    joke = [{"id": 0, "name": "tell joke", "args": {}}]
    for field in ("alt_plans_str", "alternatives"):
        problem = one(tmp_path, {"alt_plans_str": "", field: str([joke])}, best_match=True)
        assert [len(plan) for plan in problem.data["plans"]] == [2, 1]
    assert len(one(tmp_path, {"alt_plans_str": "no list"}).data["plans"]) == 1
    for text, said in (("no list", "expected a list"), ("[[{'name': 'x'}]]", "calls 'x'")):
        with pytest.raises(InvalidInstanceError, match=f"alt_plans_str.*{said}"):
            one(tmp_path, {"alt_plans_str": text}, best_match=True)


def test_validation_is_the_verified_problems_without_the_filtered_ones(make_task):
    task = make_task()
    ids = {split: [int(i.id) for i in task.on(split).instances] for split in task.splits}
    assert ids["validation"] == [*range(12)]
    assert ids["test"] == [*range(12, 24)]
    assert len(ids["train"]) == 60
    assert task.on("validation").share() is None


@pytest.mark.parametrize(
    "content",
    [
        TOOLS,
        {
            tool["name"]: {
                "input": {"arg_name": tool["args"], "modality": ["text"]},
                "output": {"arg_name": tool.get("returns", [])},
                "description": tool.get("description", ""),
            }
            for tool in TOOLS
        },
    ],
)
def test_the_tool_list_is_a_list_or_the_metadata_of_ms(tmp_path, content):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(content))
    task = PlansTask(str(tmp_path / "rows.jsonl"), path)
    shown = task.domain.prompt_template.system
    assert "image_captioning(image) -> text: Says it.\n" in shown
    assert "text_translation(text, language) -> text\ntell_joke()\n" in shown


@pytest.mark.parametrize(
    "content",
    [
        "[",
        "[]",
        '[{"args": []}]',
        '[{"name": "a b"}, {"name": "a_b"}]',
        '{"a": {"input": {"arg_name": 2}}}',
        '{"a": 2}',
    ],
)
def test_a_tool_list_that_is_none_is_refused(tmp_path, content):
    path = tmp_path / "tools.json"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=r"tools\.json"):
        PlansTask(str(tmp_path / "rows.jsonl"), path)
