"""Plans in replies, in both forms; any other text is an empty plan."""

from __future__ import annotations

import json

import pytest

from dataenvgym.domains.tool_use.plans.domain import form_of
from dataenvgym.domains.tool_use.plans.plan import PlanError, Step, plan_of

TOOLS = ("image_captioning", "text_generation", "count")
STORY = (
    Step("image_captioning", {"image": "a.jpg"}),
    Step("text_generation", {"text": "<node-0>.text"}),
)
AS_JSON = (
    '[{"id": 0, "name": "image captioning", "args": {"image": "a.jpg"}},'
    ' {"id": 1, "name": "text generation", "args": {"text": "<node-0>.text"}}]'
)
AS_CODE = (
    "output0 = image_captioning(image=\"a.jpg\")\noutput1 = text_generation(text=output0['text'])"
)


@pytest.fixture(params=["json", "code"])
def form(request):
    return form_of(request.param, TOOLS)


def read(form, reply):
    return form_of(form, TOOLS).read(reply)


@pytest.mark.parametrize(
    "reply",
    [
        AS_JSON,
        f"Here is the plan:\n```json\n{AS_JSON}\n```\nIt has [2] steps {{sic}}.",
        f'{{"nodes": {AS_JSON}}}',
        f'# RESULT #: {{"plan": {AS_JSON}}}',
        f'<think>\n[{{"name": "count"}}] is not enough\n</think>\n{AS_JSON}',
        f'First [{{"name": "count"}}], no: {AS_JSON}',
        f"{AS_JSON}\nNothing else: []",
        AS_JSON.replace('"id": 0, ', "").replace('"id": 1, ', ""),  # the place is the id
        AS_JSON.replace('"id": 1', '"id": 7').replace('"id": 0', '"id": "3"').replace("e-0", "e-3"),
        AS_JSON.replace('"args": {"image"', '"why": "x", "args": {"image"'),
    ],
)
def test_a_json_plan_is_read_however_it_is_wrapped(reply):
    assert read("json", reply).plan == STORY
    assert read("json", reply).problem is None


@pytest.mark.parametrize(
    "reply",
    [
        AS_CODE,
        f"The plan:\n\n```python\n{AS_CODE}\n```\nDone.",
        "```python\ndef solve():\n    x = image_captioning(image='a.jpg')\n"
        "    y = text_generation(text=x.text)\n    return {'y': y}\n\nprint(solve())\n```",
        "```python\ntext_generation(text=image_captioning(image='a.jpg')['text'])\n```",
        "```python\nc = image_captioning(image='a.jpg')['text']\nd = text_generation(text=c)\n```",
        "```python\nc: dict = image_captioning(image='a.jpg')\n"
        "with open('x') as f:\n    text_generation(text=f'{c[\"text\"]}')\n```",
    ],
)
def test_a_program_is_read_as_the_calls_it_makes(reply):
    assert read("code", reply).plan == STORY
    assert read("code", reply).problem is None


def test_calls_of_builtins_and_own_functions_are_not_steps_unless_they_are_tools():
    code = (
        "def f():\n    return 1\nprint(f())\ny = len('a')\nx = made_up(a=1)\nz = count(objects=x)"
    )
    assert [step.name for step in read("code", code).plan] == ["made_up", "count"]
    assert read("code", "x = image_captioning('a.jpg', size=3, **more)").plan[0].args == {"size": 3}
    assert (read("json", "[]").plan, read("json", "[]").problem) == ((), None)
    assert [step.name for step in form_of("code", ["len"]).read(code).plan] == [
        *("len", "made_up", "count"),
    ]


def test_a_reference_to_no_earlier_step_is_none_to_any():
    steps = [{"name": "f", "args": {"x": "<node-1>.text and <node-0>"}}, {"name": "g"}]
    assert plan_of(steps)[0].args == {"x": "<node-?>.text and <node-?>"}
    assert read("code", "x = f(x=y['text'])\ny = g()").plan[0].args == {"x": "y['text']"}


VALUES = [
    *("plain", "it's", 'say "x"', "both ' and \""),
    *("back\\slash", "line\nbreak\t", "{brace} é 漢", ""),
    *("<node-0>.text", "<node-0>", "of <node-0>.text.", "'<node-0>.a' \"<node-0>.b\" {} \\ \n"),
    *(5, -2, 2.5, True, None, [1, "<node-0>.x", ["a"]], {"k": "<node-0>.x", "l": {"m": None}}),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_form_reads_back_its_own_plans(form, value):
    plan = (Step("f", {}), Step("text_generation", {"text": value, "n": 1}))
    written = form.write(plan)
    assert form.read(written).plan == plan
    assert form.read(f"So:\n```\n{written}\n```\n").plan == plan


@pytest.mark.parametrize(
    ("form", "one", "other"),
    [
        ("code", 'x = f()\ny = g(t=f"see {x[\'text\']}")', 'a = f()\ng(t=f"see {a.text}")'),
        ("code", "x = f()\ny = g(t=x['text'])", "g(t=f()['text'])"),
        ("json", '[{"id": 7, "name": "f"}, {"name": "g", "args": {"t": "<node-7>.x"}}]',
         '[{"name": "f", "args": {}}, {"name": "g", "args": {"t": "<node-0>.x"}}]'),
    ],
)  # fmt: skip
def test_plans_that_ms_script_tells_apart_are_the_same_here(form, one, other):
    assert read(form, one).plan == read(form, other).plan
    assert len(read(form, one).plan) == 2


def test_gold_programs_look_as_ms_do():
    assert form_of("code", TOOLS).write(STORY) == AS_CODE
    assert json.loads(form_of("json", TOOLS).write(STORY))[1] == {
        "id": 1,
        "name": "text_generation",
        "args": {"text": "<node-0>.text"},
    }


@pytest.mark.parametrize("name", ["no name", "class", "a-b", ""])
def test_a_name_that_python_cannot_have_cannot_be_written_as_code(name):
    for plan in ((Step(name, {}),), (Step("f", {name: 1}),)):
        with pytest.raises(PlanError, match="name"):
            form_of("code", TOOLS).write(plan)


DEEP = 100_000
BAD_JSON = [
    ("", "no JSON list"),
    ("[1, 2]", "step 0 is 1, expected an object"),
    ('{"name": "f"}', "expected a list of steps"),
    ('[{"args": {}}]', "field 'name': found nothing"),
    ('[{"name": "f", "args": [1]}]', "field 'args': found a list of 1"),
    ('[{"name": "f", "arguments": {"x": 1}}]', "field 'args'"),
    ('[{"name": "f", "id": 1.5}]', "field 'id': found 1.5"),
    ('[{"name": "f"}', "no JSON list"),
    ("[" * DEEP + "]" * DEEP, "no JSON list"),
    (f'[{{"name": "f", "args": {{"x": {"[" * 60}{"]" * 60}}}}}]', "more than 50 levels"),
]
BAD_CODE = [
    ("", "no Python code"),
    ("```python\nx = f(\n```", "not Python"),
    ("x = 1", "calls no tool"),
    (f"x = {'(' * DEEP}{')' * DEEP}", "not Python|no Python code"),
    (f"x = f(a={'[' * 60}{']' * 60})", "more than 50 levels"),
    (f"x = f(a={'-' * 900}1)", "nested too deeply|not Python|no Python code"),
]


@pytest.mark.parametrize(
    ("form", "reply", "problem"),
    [*(("json", *case) for case in BAD_JSON), *(("code", *case) for case in BAD_CODE)],
    ids=lambda value: repr(value)[:30],
)
def test_an_unparsable_plan_is_an_empty_one_with_a_short_reason(form, reply, problem):
    reading = read(form, reply)
    assert reading.plan == ()
    assert any(part in reading.problem for part in problem.split("|"))
    assert len(reading.problem) < 200


@pytest.mark.parametrize(
    "value",
    [10**30, float("inf"), "\ud800", "\x00"],
    ids=repr,
)
def test_odd_values_are_read_and_can_be_written_again(form, value):
    said = (
        f'[{{"name": "f", "args": {{"x": {json.dumps(value).replace("Infinity", "1e999")}}}}}]'
        if form.name == "json"
        else f"y = f(x={'1e999' if value == float('inf') else ascii(value)})"
    )
    (step,) = form.read(said).plan
    assert str(step.args["x"]).encode()
    assert form.read(form.write((step,))).plan == (step,)
