import json

import pytest
from gymnasium.utils.env_checker import check_env

from dataenvgym.domains.tool_use.calls.domain import CallsDomain
from dataenvgym.domains.tool_use.calls.environment import CallOptions, CallsEnvironment, rouge_l
from dataenvgym.domains.tool_use.calls.problem import as_calls_text
from dataenvgym.domains.tool_use.calls.task import APIBankTask, BFCLTask
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.options import taken_from
from dataenvgym.records import TaskInstance, ToolCall
from dataenvgym.students.predictors import ScriptedPredictor


def say(*texts):
    return as_calls_text([ToolCall(name="say", arguments={"text": text}) for text in texts])


def tried(instance, reply, **options):
    environment = CallsEnvironment((), taken_from(options, CallOptions), **options)
    environment.reset(options={"instance": instance})
    return environment.step(reply)


@pytest.fixture
def instances(bfcl_files):
    return {i.id: i for i in BFCLTask(bfcl_files).whole().instances}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_it_is_a_gymnasium_environment(instances):
    check_env(CallsEnvironment(list(instances.values())), skip_render_check=True)


def test_the_prompt_declares_the_tools_of_the_problem(instances):
    environment = CallsEnvironment(
        (), CallOptions(system_prompt="Be brief.", template="Q: {instruction}")
    )
    (first, last), _ = environment.reset(options={"instance": instances["multiple_0"]})
    assert (first.role, first.content) == ("system", "Be brief.")
    assert [tool.name for tool in first.tools] == ["math.add", "say"]
    assert (last.content, last.tools) == ("Q: Say item 0, please.", ())


def test_the_reward_is_1_for_the_gold_calls_alone(instances):
    parallel = instances["parallel_1"]
    for reply, reward, names, arguments in (
        (say("pair 1", "1 riap"), 1.0, 1.0, 1.0),
        (say("1 riap", "pair 1"), 1.0, 1.0, 1.0),
        (say("pair 1", "pair 1"), 0.0, 1.0, 0.5),
        (say("pair 1"), 0.0, 0.5, 0.5),
        (say("pair 1", "1 riap", "x"), 0.0, 2 / 3, 2 / 3),
        ("I would say it.", 0.0, 0.0, 0.0),
    ):
        _, found, done, truncated, info = tried(parallel, reply)
        assert (found, done, truncated) == (reward, True, False)
        assert info["was_correct"] == reward
        assert info["scores"] == {"names_matched": names, "arguments_matched": arguments}
    for reply, reward in (("", 1.0), ("<tool_call>{oops</tool_call>", 1.0), (say("x"), 0.0)):
        assert tried(instances["irrelevance_0"], reply)[1] == reward


def test_a_note_has_the_expected_and_the_actual_calls(instances):
    *_, info = tried(instances["multiple_1"], say("nothing"))
    assert info["note"] == 'expected say({"text": "item 1"}), found say({"text": "nothing"})'
    *_, info = tried(instances["irrelevance_1"], say("x" * 1000))
    assert info["note"].startswith("expected no call, found say")
    assert len(info["note"]) == 300
    *_, info = tried(instances["multiple_1"], say("item 1"))
    assert "note" not in info


def asked(*roles, **data):
    messages = [{"role": role, "content": "?"} for role in roles]
    return {"tools": [{"name": "a"}], "messages": messages, **data}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (asked("user", gold=[{"name": "b"}]), r"gold calls \['b'\]"),
        (asked("system"), "messages have roles .'system'."),
        (asked("user", "assistant"), "messages have roles"),
    ],
)
def test_an_instance_of_another_kind_is_refused(data, complaint):
    instance = TaskInstance(id="i7", task="t", instruction="?", data=data)
    with pytest.raises(InvalidInstanceError, match=f"'i7': {complaint}"):
        CallsEnvironment().reset(options={"instance": instance})


# --- searching for tools ---


def search(keywords):
    return as_calls_text([ToolCall(name="ToolSearcher", arguments={"keywords": keywords})])


@pytest.fixture
def searching(dialogues):
    task = APIBankTask(dialogues, search="tool", turns="calls", max_turns=3).whole()
    return task, {i.skill: i for i in task.instances}


def test_a_student_that_searches_gets_the_tools_and_continues(searching):
    task, problems = searching
    environment = task.domain.make_environment()
    (first, *_), _ = environment.reset(options={"instance": problems["GetToday"]})
    assert [tool.name for tool in first.tools] == ["ToolSearcher"]
    conversation, reward, done, truncated, _ = environment.step(search("today's date"))
    assert (reward, done, truncated) == (0.0, False, False)
    found = json.loads(conversation[-1].content)
    assert [tool["name"] for tool in found] == ["GetToday"]
    assert found[0]["parameters"]["type"] == "object"
    assert environment.step(problems["GetToday"].answer)[1] == 1.0
    record = task.domain.gold_record(problems["GetToday"])  # it shows the search
    assert [m.role for m in record.messages] == ["user", "assistant", "tool", "assistant"]
    assert [tool.name for tool in record.tools] == ["ToolSearcher"]
    assert record.messages[1].tool_calls[0].arguments == {"keywords": "Get Today"}


def test_the_search_finds_names_before_descriptions_and_says_if_nothing_fits(searching):
    task, problems = searching
    environment = task.domain.make_environment()
    environment.reset(options={"instance": problems["AddAlarm"]})
    conversation, *_ = environment.step(search("get") + search("") + search("weather"))
    results = [message.content for message in conversation[-3:]]
    assert [tool["name"] for tool in json.loads(results[0])] == ["GetToday", "GetUserToken"]
    assert results[1].startswith('Error: give "keywords"')
    assert results[2] == "No tool fits these keywords. Try other ones."


def test_a_student_that_only_searches_runs_out_of_turns(searching):
    task, _ = searching
    student = ScriptedPredictor(lambda conversation: search("alarm"))
    completed = task.evaluate(student)
    assert [c.reward for c in completed] == [0.0] * 3
    assert all(c.error is None and not c.was_correct for c in completed)
    assert {sum(m.role == "tool" for m in c.transcript[-2:]) for c in completed} == {1}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{"text": ' + "[" * 20_000 + "]" * 20_000 + "}", id="very deep"),
        pytest.param('{"text": "' + "x" * 1_000_000 + '"}', id="1 MB"),
        pytest.param('{"text": NaN}', id="NaN"),
        pytest.param('{"text": "\\ud800"}', id="lone surrogate"),
    ],
)
def test_odd_arguments_are_wrong_and_no_error(instances, arguments):
    reply = f'<tool_call>\n{{"name": "say", "arguments": {arguments}}}\n</tool_call>'
    domain = CallsDomain()
    for name in ("multiple_0", "parallel_0"):
        environment = domain.make_environment()
        environment.reset(options={"instance": instances[name]})
        assert environment.step(reply)[1] == 0.0
        assert domain.answer_class(instances[name], reply) is not None


@pytest.mark.parametrize(
    ("text", "gold", "score"),
    [
        ("police killed the gunman", "police kill the gunman", 0.75),
        ("the gunman kill police", "police kill the gunman", 0.5),
        ("the cat", "the cat sat on the mat", 0.5),
        ("a b c d", "e f", 0.0),
        ("", "a", 0.0),
    ],
)
def test_it_is_the_f1_of_the_longest_common_subsequence_of_words(text, gold, score):
    assert rouge_l(text, gold) == pytest.approx(score)
    assert rouge_l(gold, text) == pytest.approx(score)
