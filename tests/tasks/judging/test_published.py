"""The questions of EPO's and SDPO's code."""

import ast
import json
import re

import pytest

from dataenvgym.records import Message
from dataenvgym.tasks.judging import Unscored
from dataenvgym.tasks.judging.published import end_segment, name_indexes, shown_turns
from dataenvgym.teachers.prompts import default_prompt
from tests.domains.social.test_evaluators import answered

SAID = tuple(
    Message(role="assistant" if i % 2 else "user", content=text)
    for i, text in enumerate(("You are Ann.", "Offer 80.", 'Bob\'s "no"', "Offer 90."))
)


def history_in(text: str) -> dict:
    """The Python value on a line of its own."""
    (line,) = [line for line in text.splitlines() if line.startswith("{'")]
    return ast.literal_eval(line)


def test_epo_shows_the_final_score_in_the_history_and_the_names_of_the_characters():
    asking = name_indexes(
        default_prompt("epo_turns"), SAID, [1, 3], score=8.0, who="Ann", partner="Bob"
    )
    found, (ask,) = answered(asking, json.dumps({"indexes": [3, 1, 3], "reasoning": "so"}))
    assert found == (1, 3)
    (message,) = ask.conversation
    assert "critically important for achieving Ann's goal" in message.content
    assert not re.search("agent[12]", message.content)
    history = history_in(message.content)
    assert "'score': 8}" in message.content
    assert history["conversations"][0] == {
        "from": "human",
        "value": "Here is the context of this interaction:\nYou are Ann.",
        "index": 0,
    }
    assert history["conversations"][1:] == shown_turns(SAID)[1:]


def test_sdpo_asks_for_one_turn_and_shows_no_score():
    asking = name_indexes(default_prompt("sdpo_turn"), SAID, [1, 3], several=False)
    found, (ask,) = answered(asking, json.dumps({"index": 3, "reason": "so"}))
    assert found == (3,)
    assert history_in(ask.conversation[0].content) == {"conversations": shown_turns(SAID)}
    assert "room for improvement to warm up the relationship" in ask.conversation[0].content


@pytest.mark.parametrize(
    ("several", "reply"),
    [
        (True, {"indexes": [1, 2], "reasoning": "turn 2 is the partner's"}),
        (False, {"index": 5, "reason": "there is no turn 5"}),
    ],
)
def test_an_index_that_is_no_turn_of_the_student_is_asked_for_again(several, reply):
    prompt = default_prompt("epo_turns" if several else "sdpo_turn")
    asking = name_indexes(prompt, SAID, [1, 3], several=several, retries=1)
    found, asks = answered(asking, json.dumps(reply), json.dumps(reply))
    assert isinstance(found, Unscored)
    assert len(asks) == 2


def test_no_turn_may_be_named_and_none_is_asked_about():
    prompt = default_prompt("epo_turns")
    found, _ = answered(
        name_indexes(prompt, SAID, [1, 3]), json.dumps({"indexes": [], "reasoning": "none"})
    )
    assert found == ()
    assert answered(name_indexes(prompt, (), []))[0] == ()
    two = json.dumps({"indexes": [1, 3], "reasoning": "both"})
    found, _ = answered(name_indexes(prompt, SAID, [1, 3], most=1, retries=0), two)
    assert isinstance(found, Unscored)


def test_a_segment_ends_with_a_turn_of_the_student_from_the_named_one_on():
    prompt, original = default_prompt("sdpo_segment"), SAID[:2]
    asking = end_segment(prompt, original, SAID, [1, 3])
    found, (ask,) = answered(asking, json.dumps({"start_index": 1, "end_index": 3, "reason": "so"}))
    assert found == 3
    assert f"Original conversation:\n{shown_turns(original)}\n" in ask.conversation[0].content
    for start, end in ((1, 2), (3, 3), (1, 5)):
        wrong = json.dumps({"start_index": start, "end_index": end, "reason": "so"})
        found, _ = answered(end_segment(prompt, original, SAID, [1, 3], retries=0), wrong)
        assert isinstance(found, Unscored)
