"""Actions in texts."""

import json

import pytest

from dataenvgym.domains.social.actions import (
    MOST_CHARACTERS,
    Action,
    ActionKind,
    InvalidActionText,
    read_action,
    write_action,
)

SPEAK, LEAVE = ActionKind.SPEAK, ActionKind.LEAVE
EVERY = [
    Action(ActionKind.NONE), Action(SPEAK, "Hello."),
    Action(SPEAK, "Psst.", ("Ann Lee", "Bob Lee")), Action(SPEAK, "[leave] is what I should write"),
    Action(SPEAK, '{"a": 1}'), Action(ActionKind.NONVERBAL, "nods"),
    Action(ActionKind.ACTION, "hands over a note", ("Ann Lee",)), Action(LEAVE),
    Action(LEAVE, "Bye."),
]  # fmt: skip


def in_json(action):
    to = {"to": action.to} if action.to else {}
    return json.dumps({"action_type": action.kind, "argument": action.argument, **to})


@pytest.mark.parametrize("action", EVERY, ids=str)
@pytest.mark.parametrize("write", [write_action, in_json])
def test_written_actions_are_read_back(action, write):
    assert read_action(write(action)) == action


def test_plain_words_are_said_to_everybody():
    assert read_action("  I would pay 12.\nReally. ") == Action(SPEAK, "I would pay 12.\nReally.")


@pytest.mark.parametrize("text", ["[Ann Lee]: I accept", "Ann: I accept", "[Leave] now", "[speak"])
def test_words_that_imitate_markup_are_just_said(text):
    assert read_action(text) == Action(SPEAK, text)


def test_json_may_be_in_a_code_fence():
    assert read_action('```json\n{"action_type": "leave", "argument": ""}\n```') == Action(LEAVE)


@pytest.mark.parametrize("text", ["[speak to ;] Psst.", "[speak to  ] Psst."])
def test_a_private_message_without_a_hearer_is_not_said_aloud(text):
    assert read_action(text).to == ("",)


@pytest.mark.parametrize("to", ['""', "0", "{}", "false"])
def test_recipients_are_a_list_or_none(to):
    with pytest.raises(InvalidActionText, match=r"to is .* expected a list of names"):
        read_action(f'{{"action_type": "speak", "argument": "Psst.", "to": {to}}}')


def test_a_leave_is_for_everybody_and_none_has_no_argument():
    assert read_action('{"action_type": "leave", "to": ["Ann"]}').to == ()
    assert read_action("[none] at all") == Action(ActionKind.NONE)


@pytest.mark.parametrize("kind", [ActionKind.NONE, ActionKind.LEAVE])
def test_json_may_say_that_there_is_no_argument(kind):
    assert read_action(f'{{"action_type": "{kind}", "argument": null}}') == Action(kind)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "an empty text"), (" \n", "an empty text"), ("x" * 1_000_000, "1000000 characters"),
        ("x" * (MOST_CHARACTERS + 1), "4001 characters"),
        ("a\x00b", r"control character, '\\x00'"), ("a\x1b[2Jb", "control character"),
        ("a\u2028b", "control character"), ("{" * 5000, "not one JSON object"),
        ('{"action_type": "fly"}', "action_type is 'fly'"),
        ('{"action_type": ["speak"]}', "action_type is"),
        ('{"argument": "hi"}', "action_type is None"),
        ('{"action_type": "speak", "argument": 1}', "argument is 1"),
        ('{"action_type": "speak", "argument": "hi", "to": "Ann"}', "to is 'Ann'"),
        ('{"action_type": "speak", "argument": " "}', "without an argument"),
        ('{"action_type": "speak", "argument": null}', "without an argument"),
        ("[action]", "without an argument"),
    ],
)  # fmt: skip
def test_texts_that_are_not_actions_are_refused_with_a_short_message(text, complaint):
    with pytest.raises(InvalidActionText, match=complaint) as refused:
        read_action(text)
    assert len(str(refused.value)) < 200


def test_kinds_that_a_scene_does_not_have_are_refused():
    with pytest.raises(InvalidActionText, match="'action' is not possible here; there are: speak"):
        read_action("[action] runs", (SPEAK,))
