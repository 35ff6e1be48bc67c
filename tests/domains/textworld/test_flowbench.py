"""FlowBench's form: workflows in three forms; metrics of turns and sessions, computed by hand."""

import pytest

from dataenvgym.domains.textworld.domain import audit
from dataenvgym.domains.textworld.flowbench import (
    Call,
    Flow,
    call_of,
    flow_of,
    turn_scores,
)
from dataenvgym.domains.textworld.household import HouseProblem
from dataenvgym.domains.textworld.task import TextworldHouseTask, TextworldShopTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.textworld.test_house import KITCHEN

SMALL = {"n_train": 6, "n_validation": 6, "n_test": 6, "workflow": "text"}
TASKS = [TextworldHouseTask, TextworldShopTask]


@pytest.mark.parametrize(
    ("action", "call"),
    [
        ("go to desk 1", Call("go to", (("1", "desk 1"),))),
        ("take mug 1 from desk 1", Call("take", (("1", "mug 1"), ("2", "desk 1")))),
        ("move mug 1 to desk 1", Call("put", (("1", "mug 1"), ("2", "desk 1")))),
        ("Heat egg 1 with microwave 1.", Call("heat", (("1", "egg 1"), ("2", "microwave 1")))),
        ("search[red shoes]", Call("search", (("word", "red"), ("word", "shoes")))),
        ("click[Buy Now]", Call("click", (("button", "buy now"),))),
        ("dance wildly", Call("dance wildly")),
    ],
)
def test_an_action_is_a_call_with_parameters(action, call):
    assert call_of(action) == call


def scores(gold, made):
    found = turn_scores(call_of(gold), made and call_of(made))
    names = ("call_precision", "call_recall", "parameter_precision", "parameter_recall")
    return tuple(found.get(name) for name in names)


@pytest.mark.parametrize(
    ("gold", "made", "expected"),
    [
        ("take mug 1 from desk 1", "take mug 1 from desk 1", (1, 1, 1, 1)),
        ("take mug 1 from desk 1", "take mug 1 from shelf 1", (1, 1, 1 / 2, 1 / 2)),
        ("take mug 1 from desk 1", "go to desk 1", (0, 0, 0, 0)),
        ("search[red shoes]", "search[red red blue shoes]", (1, 1, 2 / 4, 2 / 2)),
        ("go to desk 1", None, (None, 0, None, 0)),
        ("look", "look", (1, 1, None, None)),
        ("look", "go to desk 1", (0, 0, 0, None)),
    ],
)
def test_precision_and_recall_of_a_turn(gold, made, expected):
    assert scores(gold, made) == expected


def test_progress_is_the_share_of_checkpoints_reached_in_order():
    points = [Call("take", (("1", "mug"),)), Call("put", (("1", "mug"), ("2", "desk")))]
    flow = Flow((), tuple(points))
    take, put = call_of("take mug 2 from shelf 1"), call_of("put mug 2 in/on desk 1")
    assert flow.progress([]) == 0
    assert flow.progress([put]) == 0
    assert flow.progress([put, take]) == 1 / 2
    assert flow.progress([take, call_of("look"), put]) == 1
    assert flow.progress([take, call_of("put mug 2 in/on shelf 1")]) == 1 / 2
    assert flow.progress([call_of("take mugs 2 from shelf 1")]) == 0


GOAL = {"type": "clean", "object": "apple", "target": "desk"}


def test_a_workflow_is_text_code_or_a_flow_chart():
    flow = flow_of(HouseProblem.model_validate({"house": KITCHEN, "goal": GOAL}))
    text, code, chart = (flow.written(form) for form in ("text", "code", "flowchart"))
    assert "2. Take the apple." in text
    assert "Repeat this until you see a apple." in text
    assert "    while not you_see_a_apple():\n        go_to(next_receptacle())" in code
    assert "    clean('apple', with_='sinkbasin')" in code
    compile(code.removeprefix("Workflow:\n"), "workflow", "exec")
    assert 'S1 --> C1{"you see a apple?"}\n    C1 -- no --> S1\n    C1 -- yes --> S2' in chart
    assert chart.endswith("--> E((end))")
    twice = {**GOAL, "type": "pick_two"}
    flow = flow_of(HouseProblem.model_validate({"house": KITCHEN, "goal": twice}))
    assert [point.name for point in flow.checkpoints] == ["take", "put", "take", "put"]


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("level", ["session", "turn"])
def test_the_reference_solves_all_problems_and_the_audit_finds_nothing(kind, level):
    task = kind(**SMALL, level=level)
    assert audit(task).violations == []
    name = "call_precision" if level == "turn" else "progress"
    for instance in task.instances:
        asked = next(m for m in task.domain.prompt(instance) if m.role == "user").content
        assert asked.startswith("Workflow:\n")
        assert asked.endswith(f"\n\n{instance.instruction}")
        done = task.domain.gold_conversation(instance)
        assert (done.reward, done.scores[name]) == (1, 1), instance.id
        assert task.domain.gold_record(instance) is not None


def test_a_session_that_stops_halfway_has_half_of_the_progress():
    task = TextworldHouseTask(n_train=6, n_validation=12, n_test=6, workflow="text")
    instance = next(i for i in task.instances if i.skill == "pick")
    gold = list(task.domain.gold_replies(instance))
    at = next(n for n, reply in enumerate(gold) if "Action: take" in reply)

    def say(conversation):
        turn = sum(message.role == "assistant" for message in conversation)
        return gold[turn] if turn <= at else "Action: look"

    (done,) = task.on("validation").attempt(
        ScriptedPredictor(say), instances=[instance], sampling=task.sampling
    )
    assert (done.was_correct, done.scores["progress"]) == (False, 1 / 2)


def test_one_turn_is_compared_after_the_earlier_turns_of_the_reference():
    task = TextworldHouseTask(**SMALL, level="turn")
    for instance in task.instances:
        begun = task.domain.prompt(instance)
        (gold,) = task.domain.gold_replies(instance)
        assert gold not in [message.content for message in begun]
        environment = task.domain.make_environment()
        environment.reset(seed=0, options={"instance": instance})
        *_, reward, done, _, info = environment.step("I do not know.")
        assert (reward, done) == (0, True)
        assert info["scores"] == {"call_recall": 0, "parameter_recall": 0}
    with pytest.raises(ConfigurationError, match="actor"):
        TextworldHouseTask(**SMALL, level="turn", role="strategist")
