"""tau2's tasks: conversations and scores, splits, refusals."""

import json

import pytest

from dataenvgym.domains.tool_use.tau2.task import Tau2Task
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.records.instances import fault_of
from dataenvgym.runs.config import build_task, compose
from tests.domains.tool_use.phone_world import say
from tests.domains.tool_use.test_users import Replies

ALLOW = {"name": "allow_roaming", "arguments": {"line": "L1"}}
TOGGLE = {"name": "toggle_data", "arguments": {}}
LOOK = {"name": "look", "arguments": {}}
KIND = (
    '{"statements": [{"number": 2, "reason": "", "holds": %s},'
    ' {"number": 1, "reason": "", "holds": true}]}'
)


def task(**options):
    return Tau2Task("telecom", **{"nl_assertions": "leave_out", **options})


def begun(name, *user, judge=(), **options):
    others = {"user": Replies(*user), **({"judge": Replies(*judge)} if judge else {})}
    made = task(others=others, **options)
    instance = next(i for i in made.whole().instances if i.id == name)
    environment = made.make_environment()
    environment.others = made.others
    conversation, _ = environment.reset(seed=0, options={"instance": instance})
    return environment, conversation, others["user"]


def change_first(data, **changes):
    """Change fields of the first task, `roaming`."""
    file = data / "tau2" / "domains" / "telecom" / "tasks.json"
    first, *others = json.loads(file.read_text())
    file.write_text(json.dumps([first | changes, *others]))


# --- conversations ---


@pytest.fixture(autouse=True)
def _installed(data):
    """Everything here runs on the small package and its data."""


def test_the_user_speaks_first_by_tau2s_guidelines_and_the_scenario():
    _, conversation, user = begun("roaming", "No signal!")
    assert [m.content for m in conversation] == ["Help customers with their lines.\n", "No signal!"]
    assert [tool.name for tool in conversation[0].tools] == ["allow_roaming", "get_line"]
    system = user.seen[0][0]
    assert system.content == (
        "# How to play with tools\nBe brief. Say ###STOP### in the end.\n\n<scenario>\nPersona:\n"
        "\tImpatient\nInstructions:\n\tDomain: telecom\n\tReason for call:\n\t\tYou have no signal "
        "abroad.\n\tKnown info:\n\t\tYour line is L1.\n\tTask instructions:\n\t\tAsk for help.\n"
        "</scenario>"
    )
    assert [tool.name for tool in system.tools] == ["look", "toggle_data"]
    *_, user = begun("said", "Who owns L1?")  # a user without tools
    assert user.seen[0][0].content.startswith("# How to play\nBe brief.")
    assert "PERSONA" not in user.seen[0][0].content
    assert user.seen[0][0].tools == ()


def test_the_gold_calls_of_both_seats_earn_the_reward_and_a_failing_one_is_ignored():
    environment, *_ = begun("roaming", "No signal!", say(TOGGLE), "Done.", "Thanks ###STOP###")
    environment.step("Please turn data on.")
    environment.step(say(ALLOW))
    conversation, reward, done, _, info = environment.step("It should work.")
    assert conversation[-1].content == "Thanks"
    assert (reward, done) == (1.0, True)
    assert info["scores"] == {"state": 1.0, "assertions": 1.0}


@pytest.mark.parametrize("stop", ["###TRANSFER###", "Bye ###OUT-OF-SCOPE### so"])
def test_every_stop_token_ends_the_conversation(stop):
    environment, *_ = begun("roaming", "No signal!", stop)
    conversation, reward, done, _, info = environment.step("I cannot help.")
    assert (reward, done, info["scores"]) == (0.0, True, {"state": 0.0, "assertions": 0.0})
    assert "###" not in conversation[-1].content


@pytest.mark.parametrize(
    ("words", "reward"),
    [("It is ANN. It costs 1,000.", 1.0), ("It is Ann, for 5.", 0.0), ("Nobody.", 0.0)],
)
def test_communicated_information_is_a_substring_as_in_tau2(words, reward):
    environment, *_ = begun("said", "Who owns L1?", "###STOP###")
    _, got, *_, info = environment.step(words)
    assert (got, info["scores"]["said"], info["scores"]["state"]) == (reward, reward, 1.0)


@pytest.mark.parametrize(("calls", "reward"), [(True, 1.0), (False, 0.0)])
def test_gold_calls_are_compared_over_compare_args_and_both_seats(calls, reward):
    environment, *_ = begun("calls", "Hello", say(LOOK) if calls else "No.", "I see.", "###STOP###")
    environment.step(say({"name": "get_line", "arguments": {"line": "L3"}}))
    environment.step("Please look.")
    assert environment.step("Fine.")[1] == reward


@pytest.mark.parametrize(("line", "scores"), [("L1", {"assertions": 0.0}), ("L9", None)])
def test_an_assertion_that_raises_does_not_hold_unless_it_always_raises(data, line, scores):
    noted = {"env_type": "assistant", "func_name": "assert_noted", "arguments": {"line": line}}
    criteria = {"actions": [ALLOW], "reward_basis": ["ENV_ASSERTION"]}
    criteria["env_assertions"] = [{**noted, "assert_value": True}]
    change_first(data, evaluation_criteria=criteria)
    made = task(others={"user": Replies("Hello", "###STOP###")}).whole()
    (completed,) = made.attempt(Replies("Bye"), made.instances[:1])
    if scores is None:
        assert fault_of(completed) == "environment"
        assert "assert_noted" in completed.error
    else:
        assert (completed.error, completed.scores) == (None, scores)


@pytest.mark.parametrize(("holds", "reward"), [("true", 1.0), ("false", 0.0)])
def test_assertions_in_natural_language_are_judged(holds, reward):
    fault = '{"at_fault": "assistant", "reason": "it was rude"}'
    environment, *_ = begun("judged", "Hello", "###STOP###", judge=[KIND % holds, fault])
    _, got, *_, info = environment.step("You look well.")
    assert (got, info["scores"]) == (reward, {"judged": reward})


def test_a_conversation_continues_its_past():
    environment, conversation, user = begun("past", "Go.", say(TOGGLE), "Off.", "###STOP###")
    assert [(m.role, m.content) for m in conversation[1:]] == [
        ("user", "Roaming for L1, please."),
        ("assistant", ""),
        ("tool", "Roaming is allowed"),
        ("assistant", "It costs 1,000 a day."),
        ("user", "Go."),
    ]
    assert [(m.role, m.content) for m in user.seen[0][1:]][-2:] == [
        ("assistant", "Roaming for L1, please."),
        ("user", "It costs 1,000 a day."),
    ]
    environment.step("Please turn data off.")
    assert environment.step("Good.")[1] == 1.0


def test_steps_are_counted_as_tau2_does_those_of_the_users_calls_included():
    environment, *_ = begun("said", "Who owns L1?", "a", "b", "c", max_steps=6)
    outcomes = [environment.step("Ann, 10")[2:4] for _ in range(3)]
    assert outcomes == [(False, False), (False, False), (False, True)]
    environment, *_ = begun("roaming", "Hi", say(LOOK), say(LOOK), "None.", max_steps=6)
    _, reward, done, _, info = environment.step("Please look.")
    assert (reward, done, info["note"]) == (0.0, True, "ended after 6 steps")


# --- loading ---


def test_splits_are_tau2s_with_validation_from_train(data, caplog):
    made = task(fractions={"train": 1.0, "validation": 2.0, "test": 0.0})
    ids = {split: [i.id for i in made.on(split).instances] for split in ("validation", "test")}
    assert ids["test"] == ["calls", "data"]
    assert set(ids["validation"]) < {"roaming", "said", "past"}
    assert len(ids["validation"]) == 2
    train = [i.id for i in made.on("train").instances]
    assert {*train, *ids["validation"]} == {"roaming", "said", "past"}
    assert [i.id for i in task(task_set="small").whole().instances] == ["roaming"]
    file = data / "tau2" / "domains" / "telecom" / "split_tasks.json"
    file.write_text('{"base": ["roaming", "lost"]}')
    assert [i.id for i in task().whole().instances] == ["roaming"]
    assert "1 tasks of tau2 are in its split 'base' and not in" in caplog.text
    assert "'lost'" in caplog.text
    file.unlink()  # without it, fractions divide all tasks
    made = task()
    ids = [i.id for split in made.splits for i in made.on(split).instances]
    assert sorted(ids) == ["calls", "data", "past", "roaming", "said"]


def test_tasks_that_need_a_judge_are_refused_without_one_or_left_out_and_named(caplog):
    with pytest.raises(ConfigurationError, match="NL_ASSERTION"):
        _ = task(nl_assertions="judge").whole().instances
    config = compose(["task=tau2", "task.domain=telecom", "task.nl_assertions=leave_out"])
    built = build_task(config)
    assert built.name == "tau2_telecom"
    skills = {i.id: i.skill for i in built.whole().instances}
    assert [*skills] == ["roaming", "said", "past", "calls", "data"]
    assert skills["roaming"] == "toggle_data, allow_roaming"  # the gold tools that write
    assert skills["calls"] == "changes nothing"
    assert "2 of 7 rows" in caplog.text
    assert "(task 'nothing'): it has nothing to evaluate" in caplog.text
    assert "(task 'judged'): it needs a judge" in caplog.text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"evaluation_criteria": {"reward_basis": ["DB", "VIBES"]}}, r"reward_basis.1.*'VIBES'"),
        ({"evaluation_criteria": {"vibes": []}}, r"evaluation_criteria.vibes.*[Ee]xtra"),
        ({"user_scenario": None}, r"user_scenario"),
        ({"initial_state": {"weather": "rain"}}, r"initial_state.weather"),
        ({"evaluation_criteria": {"actions": [{"name": "nosuch"}]}}, "gold.*'nosuch'"),
        (
            {"evaluation_criteria": {
                "env_assertions": [{"env_type": "user", "func_name": "assert_dat"}],
                "reward_basis": ["ENV_ASSERTION"],
            }},
            "assertions.*'user.assert_dat'.*[Dd]id you mean",
        ),
    ],
)  # fmt: skip
def test_a_task_with_an_unknown_value_is_refused_with_file_task_and_field(data, change, complaint):
    change_first(data, **change)
    with pytest.raises(InvalidInstanceError, match=rf"tasks.json \(task 'roaming'\).*{complaint}"):
        task().whole().instances  # noqa: B018


# --- tasks of other files ---

TOLD = {"domain": "telecom", "reason_for_call": "You need roaming.", "unknown_info": None}
NULLS = {"requestor": None, "compare_args": None}
ACTION = {**ALLOW, **NULLS, "arguments": {"line": "L1", "club_id": None, "expression": None}}
TOOL_SCALE = {
    "id": "10315",
    "description": {"purpose": "", "notes": None},
    "user_scenario": {
        "persona": None,
        "instructions": {**TOLD, "task_instructions": "Ask for help."},
    },
    "initial_state": None,
    "evaluation_criteria": {
        "actions": [ACTION],
        "communicate_info": [],
        "nl_assertions": None,
        "reward_basis": ["DB", "ACTION"],
    },
}


def with_domain(row, domain):
    told = row["user_scenario"]["instructions"] | {"domain": domain}
    return {**row, "user_scenario": {"persona": None, "instructions": told}}


def test_tasks_of_tool_scale_are_read_without_the_nulls_of_their_table(tmp_path, caplog):
    rows = [TOOL_SCALE, with_domain(TOOL_SCALE, "weather") | {"id": "2"}]
    path = tmp_path / "scale.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (instance,) = task(tasks=str(path)).whole().instances
    assert "scale.jsonl are left out; they are of other domains: weather" in caplog.text
    (action,) = instance.data["actions"]
    assert (instance.id, action["arguments"]) == ("10315", {"line": "L1"})
    environment, *_ = begun("10315", "Hello", "###STOP###", tasks=str(path))
    environment.step(say(ALLOW))
    assert environment.step("Done.")[1] == 1.0
    path.write_text(json.dumps(rows[1]) + "\n")
    with pytest.raises(InvalidInstanceError, match="no tasks"):
        _ = task(tasks=path).whole().instances
    with pytest.raises(ConfigurationError, match="task_set"):
        task(tasks=path, task_set="small")


def test_a_domain_may_have_a_file_for_each_task(data):
    folder = data / "tau2" / "domains" / "telecom"
    before = [i.id for i in task().whole().instances]
    (folder / "tasks").mkdir()
    for number, each in enumerate(json.loads((folder / "tasks.json").read_text())):
        (folder / "tasks" / f"task_{number:03}.json").write_text(json.dumps(each))
    (folder / "tasks.json").unlink()
    assert [i.id for i in task().whole().instances] == before
