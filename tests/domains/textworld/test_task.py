"""The two tasks: all 400 problems are sound; files; records of teachers; repeatable attempts."""

import json

import pytest

from dataenvgym.domains.textworld.domain import audit
from dataenvgym.domains.textworld.task import TextworldHouseTask, TextworldShopTask
from dataenvgym.errors import DataEnvGymError, InvalidInstanceError
from dataenvgym.records import ChatDatum, SupervisedDatum
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.source import SPLITS
from tests.domains.textworld.test_environment import GOAL
from tests.domains.textworld.test_house import KITCHEN

TASKS = [TextworldHouseTask, TextworldShopTask]
ROW = {"house": KITCHEN, "goal": GOAL}


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("n", [5, pytest.param(40, marks=pytest.mark.slow)])
def test_gold_conversations_solve_all_problems(kind, n):
    task = kind(n_train=3 * n, n_validation=n, n_test=n)
    solved = 0
    for split in SPLITS:
        for instance in task.on(split).instances:
            record = task.domain.gold_record(instance)
            assert isinstance(record, ChatDatum), instance.id
            assert record.messages[-1].role == "assistant"
            solved += 1
    assert solved == 5 * n


@pytest.mark.parametrize("kind", TASKS)
def test_the_audit_finds_nothing_in_small_tasks(kind):
    found = audit(kind(n_train=6, n_validation=6, n_test=5))
    assert found.violations == []
    assert found.tried["problems"] == 17


def test_the_audit_finds_what_the_reference_cannot_solve_in_time():
    found = audit(TextworldHouseTask(n_train=6, n_validation=1, n_test=1, max_turns=2))
    assert {violation.check for violation in found.violations} == {"solution"}
    assert "does not solve it in 2 turns" in str(found.violations[0])


@pytest.mark.parametrize("kind", TASKS)
def test_the_same_replies_give_the_same_results(kind):
    task = kind(n_validation=6)

    def say(conversation):
        turn = sum(message.role == "assistant" for message in conversation)
        return ["Action: search[tea]", "Action: go to drawer 1", "no"][turn % 3]

    one, same = (task.evaluate(ScriptedPredictor(say)) for _ in range(2))
    assert one == same


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"validation": str(path)}


def test_a_file_of_problems_is_a_task(tmp_path):
    task = TextworldHouseTask(sources=write(tmp_path / "mine.jsonl", {"id": "one", **ROW}))
    (instance,) = task.instances
    assert (instance.id, instance.skill) == ("one", "pick")
    assert instance.instruction.endswith("put some apple on desk.")
    assert task.domain.gold_conversation(instance).was_correct
    shop = TextworldShopTask(n_validation=1).instances[0].data
    again = TextworldShopTask(sources=write(tmp_path / "shop.jsonl", shop))
    assert again.domain.gold_conversation(again.instances[0]).reward == 1.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**ROW, "goal": {"type": "pick"}}, r"mine.jsonl.*1.*goal.object: Field required"),
        ({**ROW, "extra": 1}, r"mine.jsonl.*1.*extra"),
        ({**ROW, "goal": {**GOAL, "target": "bed"}},
         r"mine.jsonl.*cannot be solved as stated: there is no bed"),
        ({**ROW, "house": {**KITCHEN, "at": "x"}}, r"mine.jsonl.*house: at is 'x', expected one"),
    ],
)  # fmt: skip
def test_a_damaged_or_unsolvable_row_is_named_with_its_file(tmp_path, row, message):
    task = TextworldHouseTask(sources=write(tmp_path / "mine.jsonl", row))
    with pytest.raises(DataEnvGymError, match=message) as error:
        task.instances  # noqa: B018
    assert "\n" not in str(error.value)


def test_a_written_conversation_becomes_the_conversation_that_the_student_would_have_held():
    domain = (task := TextworldHouseTask(n_validation=1)).domain
    (instance,) = task.instances
    text = domain.gold_text(instance)
    record = SupervisedDatum(instruction=instance.instruction, output=text)
    framed = domain.frame(record)
    gold = domain.gold_record(instance)
    assert framed == gold.model_copy(update={"provenance": framed.provenance})
    said = "Action: look\nObservation: A desk 1.\nAction: go to desk 1"
    framed = domain.frame(SupervisedDatum(instruction="Do it.", output=said))
    assert [m.content for m in framed.messages[1:]] == [
        *("Action: look", "A desk 1.", "Action: go to desk 1")
    ]
    framed = domain.frame(SupervisedDatum(instruction="Do it.", output="Action: look"))
    assert isinstance(framed, SupervisedDatum)
    assert framed.system == domain.prompt_template.system
    one = domain.answer_class(instance, "Thought: a.\nAction: put mug 1 on desk 1")
    assert one == domain.answer_class(instance, "Action: move mug 1 to desk 1")
    assert domain.answer_class(instance, "mug") is None


def test_an_unsolvable_problem_has_no_gold_record(tmp_path):
    task = TextworldHouseTask(n_validation=1)
    (instance,) = task.instances
    goal = {**instance.data["goal"], "object": "watch", "target": "drawer"}
    broken = instance.model_copy(update={"data": {**instance.data, "goal": goal}})
    assert list(task.domain.gold_replies(broken)) == []
    assert task.domain.gold_record(broken) is None
    with pytest.raises(InvalidInstanceError, match="stated"):
        task.domain.prompt(broken)
