import json
from collections import Counter

import pytest

from dataenvgym.domains.tool_use.calls.problem import CallsProblem, as_calls_text
from dataenvgym.domains.tool_use.calls.task import BFCLTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import ToolCall
from dataenvgym.tasks.domain import solves
from tests.calls_files import SAY, question, write


def whole(folder, **options):
    return BFCLTask(folder, **options).whole()


def changed(value, acceptable):
    """A value that is not listed, of the same type if there is one."""
    if isinstance(value, bool):
        return "qqq" if (not value) in acceptable else not value
    if isinstance(value, int | float):
        return value + 987654
    if isinstance(value, list):
        return [*value, "qqq"]
    return value | {"qqq": 1} if isinstance(value, dict) else f"{value} qqq"


# --- the data set itself ---


@pytest.fixture(scope="module")
def published(bfcl):
    return whole(bfcl)


def test_the_data_set_loads_whole(published):
    counts = Counter(instance.category for instance in published.instances)
    assert counts == {"simple": 400, "multiple": 200, "parallel": 200, "irrelevance": 240}


def test_gold_answers_solve_all_and_empty_ones_only_where_no_tool_fits(published):
    domain = published.domain
    for instance in published.instances:
        assert solves(domain, instance, instance.answer), instance.id
        assert solves(domain, instance, "") == (instance.category == "irrelevance"), instance.id


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_gold_calls_with_one_value_changed_fail_whichever_it_is(published, step):
    tried = 0
    environment = published.domain.make_environment()
    for instance in published.instances[::step]:
        gold = instance.data_as(CallsProblem).gold
        for i, wanted in enumerate(gold):
            for name, value in wanted.call.arguments.items():
                other = {name: changed(value, wanted.acceptable[name])}
                said = [one.call for one in gold]
                said[i] = ToolCall(name=wanted.name, arguments=wanted.call.arguments | other)
                environment.reset(options={"instance": instance})
                _, reward, *_ = environment.step(as_calls_text(said))
                assert reward == 0.0, (instance.id, wanted.name, other)
                tried += 1
    assert tried > 3000 / step * 0.8


def test_every_problem_can_be_taught_and_tried_again(published):
    domain = published.domain
    for instance in published.instances[::20]:
        record = domain.gold_record(instance)
        assert record.tools == instance.data_as(CallsProblem).tools
        assert domain.frame(domain.unframe(record)) == record


# --- files of our own ---


def test_the_subset_is_skill_and_category_and_can_be_chosen(bfcl_files):
    assert len(whole(bfcl_files).instances) == 20
    chosen = whole(bfcl_files, subset="parallel").instances
    assert [i.id for i in chosen] == [f"parallel_{n}" for n in range(4)]
    assert {(i.skill, i.category) for i in chosen} == {("parallel", "parallel")}


def test_types_of_its_own_become_those_of_json_inner_ones_too(bfcl_files):
    declared = {"type": "tuple", "items": {"type": "any", "enum": ["x"]}, "default": []}

    def change(row):
        row["function"][0]["parameters"]["properties"]["unit"] = declared

    edit(bfcl_files / "BFCL_v4_simple_python.json", 1, change)
    instance = whole(bfcl_files, subset="simple").instances[0]
    assert instance.data_as(CallsProblem).tools[0].parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first."},
            "b": {"type": "number"},
            "unit": {"type": "array", "items": {"type": "string", "enum": ["x"]}, "default": []},
        },
        "required": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("matching", "text", "right"),
    [
        ("lenient", "The Item, 3", True),
        ("strict", "The Item, 3", False),
        ("strict", "the item 3", True),
    ],
)
def test_matching_is_lenient_unless_it_is_to_be_strict(bfcl_files, matching, text, right):
    task = whole(bfcl_files, subset="multiple", matching=matching)
    reply = as_calls_text([ToolCall(name="say", arguments={"text": text})])
    assert solves(task.domain, task.instances[3], reply) is right


def test_names_can_be_had_without_dots(bfcl_files):
    instance = whole(bfcl_files, subset="simple", plain_names=True).instances[0]
    problem = instance.data_as(CallsProblem)
    assert (problem.tools[0].name, problem.gold[0].name) == ("math_add", "math_add")


QUESTIONS, ANSWERS = "BFCL_v4_multiple.json", "possible_answer/BFCL_v4_multiple.json"


def edit(path, number, change):
    lines = path.read_text().splitlines()
    row = json.loads(lines[number - 1])
    change(row)
    lines[number - 1] = json.dumps(row)
    path.write_text("\n".join(lines) + "\n")


def test_a_problem_with_two_answers_is_left_out(bfcl_files, caplog):
    answers = bfcl_files / "possible_answer/BFCL_v4_multiple.json"
    lines = answers.read_text().splitlines(keepends=True)
    answers.write_text("".join([*lines, lines[1]]))
    assert len(whole(bfcl_files).instances) == 19
    assert "is in" in caplog.text


def function_of(row):
    return row["function"][0]["parameters"]


def said_in(row):
    return row["ground_truth"][0]["say"]


@pytest.mark.parametrize(
    ("file", "change"),
    [
        (QUESTIONS, lambda row: row.update(extra=1)),
        (QUESTIONS, lambda row: row["function"].append(row["function"][0])),
        (QUESTIONS, lambda row: function_of(row)["properties"]["a"].update(type="HashMap")),
        (QUESTIONS, lambda row: function_of(row).update(required="a")),
        (QUESTIONS, lambda row: row.update(id="multiple_0")),
        (QUESTIONS, lambda row: row["function"].pop()),
        (ANSWERS, lambda row: row.update(ground_truth=[{"shout": {}}])),
        (ANSWERS, lambda row: said_in(row).update(volume=[1])),
        (
            "possible_answer/BFCL_v4_simple_python.json",
            lambda row: row["ground_truth"][0]["math.add"].pop("b"),
        ),
        (ANSWERS, lambda row: said_in(row).update(text=[])),
        (ANSWERS, lambda row: row["ground_truth"][0].update(other={})),
    ],
)
def test_a_row_that_cannot_be_judged_is_left_out_by_file_and_line(bfcl_files, caplog, file, change):
    edit(bfcl_files / file, 2, change)
    assert len(whole(bfcl_files).instances) == 19
    assert "1 of 20 rows" in caplog.text
    assert f"{file.rpartition('/')[2]}:2" in caplog.text


def test_a_system_message_of_a_row_follows_that_of_the_task(bfcl_files):
    def add(row):
        row["question"][0].insert(0, {"role": "system", "content": "Be terse."})

    edit(bfcl_files / "BFCL_v4_multiple.json", 2, add)
    task = whole(bfcl_files, subset="multiple", system_prompt="Call tools.")
    plain, own = task.instances[:2]
    assert task.domain.prompt(plain)[0].content == "Call tools."
    assert task.domain.prompt(own)[0].content == "Call tools.\n\nBe terse."
    for instance in (plain, own):
        record = task.domain.gold_record(instance)
        assert record.system == task.domain.prompt(instance)[0].content
        assert task.domain.frame(task.domain.unframe(record)) == record
        assert task.domain.judge_record(record) is not False


def test_an_argument_that_the_tool_lacks_may_be_among_those_that_can_be_left_out(bfcl_files):
    edit(
        bfcl_files / "possible_answer" / "BFCL_v4_multiple.json",
        2,
        lambda row: row["ground_truth"][0]["say"].update(volume=["", 3]),
    )
    instance = whole(bfcl_files, subset="multiple").instances[1]
    assert instance.data_as(CallsProblem).gold[0].call.arguments == {"text": "item 1"}


def test_any_call_is_right_where_some_tool_is_relevant(bfcl_files):
    write(bfcl_files / "BFCL_v4_live_relevance.json", [question("r", "Say pair 3.", SAY)])
    task = whole(bfcl_files, subset="live_relevance")
    (instance,) = task.instances
    assert solves(task.domain, instance, as_calls_text([ToolCall(name="say")]))
    assert not solves(task.domain, instance, "None of the tools can do this.")
    assert task.domain.gold_record(instance) is None


def test_files_that_are_not_there_are_named(bfcl_files, tmp_path):
    with pytest.raises(ConfigurationError, match="file or"):
        _ = whole(tmp_path / "nowhere").instances
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match="BFCL's"):
        _ = whole(tmp_path / "empty").instances
    with pytest.raises(ConfigurationError, match="give the path of a folder"):
        _ = whole({"dataset": "gorilla-llm/Berkeley-Function-Calling-Leaderboard"}).instances
    (bfcl_files / "possible_answer" / "BFCL_v4_multiple.json").unlink()
    with pytest.raises(ConfigurationError, match="possible_answer/BFCL"):
        _ = whole(bfcl_files).instances
    (bfcl_files / "BFCL_v3_irrelevance.json").touch()
    with pytest.raises(ConfigurationError, match="subset"):
        _ = whole(bfcl_files).instances


@pytest.mark.parametrize("number", [2**64, -(10**30)])
def test_a_long_integer_in_a_row_is_that_of_the_call(bfcl_files, number):
    gold = {"id": "simple_python_1", "ground_truth": [{"math.add": {"a": [number], "b": [1.5]}}]}
    path = bfcl_files / "possible_answer" / "BFCL_v4_simple_python.json"
    edit(path, 2, lambda row: row.update(gold))
    task = whole(bfcl_files, subset="simple")
    for said, is_right in ((number, True), (number + 1, False)):
        call = ToolCall(name="math.add", arguments={"a": said, "b": 1.5})
        assert solves(task.domain, task.instances[1], as_calls_text([call])) is is_right
