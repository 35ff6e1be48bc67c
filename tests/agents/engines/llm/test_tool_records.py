"""A teacher of tools reads the world, and its calls are carried out there."""

import numpy as np
import pytest

from dataenvgym.agents import Assignment, LLMEngine
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.records import ChatDatum, Message, ToolCall
from dataenvgym.records.tool_formats import as_reply
from tests import fakes

CUSTOMERS = ("Ann", "Bob", "Cleo", "Dan", "Eva", "Finn")


def find(customer: str) -> str:
    """Calls that list a customer's orders, as text."""
    call = ToolCall(name="find_orders", arguments={"customer": customer})
    return as_reply(Message(role="assistant", content="", tool_calls=(call,)))


FAILS = ToolCall(name="cancel_order", arguments={"order_id": "order_999"})
UNKNOWN = ToolCall(name="fly", arguments={})
USELESS = (
    "Your orders are order_1 and order_2.",
    *(as_reply(Message(role="assistant", content="", tool_calls=(c,))) for c in (FAILS, UNKNOWN)),
)


class Teacher(fakes.Teacher):
    """Writes records that do nothing, or cannot, and then good ones."""

    def __init__(self):
        outputs = [*USELESS, *(f"{find(name)}\nThose are all." for name in CUSTOMERS)]
        records = [
            {"instruction": f"Question {i}: orders?", "output": o} for i, o in enumerate(outputs)
        ]
        super().__init__(lambda request, sampling: {"records": records})


@pytest.fixture(scope="module")
def shop():
    return ToolUseTask("shop")


def generate(engine, *plan: Assignment):
    return engine.generate(plan, None, np.random.default_rng(0))


def test_the_teacher_reads_policy_tools_and_state_and_gold_calls_of_samples(shop):
    teacher = Teacher()
    generate(LLMEngine(teacher, shop, "tool_records"), Assignment(2))
    (request,) = teacher.asked
    assert shop.domain.world.policy in request
    for tool in shop.domain.world.tools():
        assert f'"name": "{tool.name}"' in request
    assert '"orders": {"order_1":' in request
    assert "The right answer: <tool_call>" in request


def test_records_are_conversations_with_the_true_results_of_the_calls(shop):
    engine = LLMEngine(Teacher(), shop, "tool_records")
    records = generate(engine, Assignment(4, skill="find"))
    assert engine.dropped == {"malformed": 0, "calls": len(USELESS)}
    world = shop.domain.world
    for record, customer in zip(records, CUSTOMERS, strict=False):
        call = ToolCall(name="find_orders", arguments={"customer": customer})
        result = world.at(world.state.fork()).call(call)
        assert isinstance(record, ChatDatum)
        assert record.tools == world.tools()
        assert record.system == world.policy
        assert record.provenance.skill == "find"
        assert [m.content for m in record.messages[1:]] == ["", result.content, "Those are all."]
        assert record.messages[1].tool_calls == (call,)


def test_the_students_mistakes_are_shown_turn_by_turn(shop):
    problem = shop.on("train").instances[0]
    turns = (
        *shop.domain.prompt(problem),
        Message(role="assistant", content="I look.", tool_calls=(FAILS,)),
        Message(role="tool", content="there is none"),
        Message(role="assistant", content="Sorry."),
    )
    wrong = fakes.tried(problem).model_copy(update={"transcript": turns})
    teacher = Teacher()
    generate(LLMEngine(teacher, shop, "tool_records"), Assignment(1, examples=[wrong]))
    said = teacher.asked[0].partition("The student's answer: ")[2]
    assert said.startswith('I look.\n<tool_call>\n{"name": "cancel_order"')
    assert "</tool_call>\nResult: there is none\nSorry.\nThe right answer:" in said
