"""Conversations that teachers write become problems of a world, and are judged there."""

import pytest

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.worlds import find_world
from dataenvgym.records import ChatDatum, Message, SupervisedDatum, ToolCall
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.tasks.domain import solves


def called(name: str, **arguments: str) -> str:
    call = ToolCall(name=name, arguments=arguments)
    return as_reply(Message(role="assistant", content="", tool_calls=(call,)))


@pytest.fixture(scope="module")
def domain():
    return ToolUseDomain(find_world("shop"))


READS = called("read_order", order_id="order_1")
CANCELS = f"{READS}\n{called('cancel_order', order_id='order_1')}\nIt is canceled."


@pytest.mark.parametrize(("output", "basis"), [(CANCELS, ["state"]), (READS, ["calls"])])
def test_a_written_record_is_a_problem_that_it_solves_and_silence_does_not(domain, output, basis):
    chat = domain.frame(SupervisedDatum(instruction="Please do it.", output=output))
    assert isinstance(chat, ChatDatum)
    problem = domain.problem_of_record(chat)
    assert problem is not None
    assert problem.data["basis"] == basis
    assert domain.gold_conversation(problem).was_correct
    assert not solves(domain, problem, "Done.")


@pytest.mark.parametrize("output", ["Nothing to call.", called("cancel_order", order_id="none")])
def test_an_output_that_cannot_be_carried_out_stays_text(domain, output):
    record = SupervisedDatum(instruction="Please do it.", output=output)
    framed = domain.frame(record)
    assert isinstance(framed, SupervisedDatum)
    assert framed.output == output


def test_a_conversation_from_another_state_or_with_a_user_who_speaks_again_is_no_problem(domain):
    chat = domain.frame(SupervisedDatum(instruction="Please do it.", output=CANCELS))
    other = [
        m.model_copy(update={"content": "something else"}) if m.role == "tool" else m
        for m in chat.messages
    ]
    more = (Message(role="user", content="Thanks."), Message(role="assistant", content="Bye."))
    for messages in (tuple(other), (*chat.messages, *more)):
        assert domain.problem_of_record(chat.model_copy(update={"messages": messages})) is None
