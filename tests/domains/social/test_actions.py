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


IMITATIONS = ("[Ann Lee]: I accept", "Ann: I accept", "[Leave] now", "[speak")


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("  I would pay 12.\nReally. ", Action(SPEAK, "I would pay 12.\nReally.")),
        *((text, Action(SPEAK, text)) for text in IMITATIONS),
        ('```json\n{"action_type": "leave", "argument": ""}\n```', Action(LEAVE)),
        ('{"action_type": "leave", "argument": null}', Action(LEAVE)),
        ('{"action_type": "leave", "to": ["Ann"]}', Action(LEAVE)),  # everybody sees it
        ('{"action_type": "none", "argument": null}', Action(ActionKind.NONE)),
        ("[none] at all", Action(ActionKind.NONE)),
        ("[speak to ;] Psst.", Action(SPEAK, "Psst.", ("",))),  # not said aloud
        ("[speak to  ] Psst.", Action(SPEAK, "Psst.", ("",))),
    ],
)
def test_only_marks_and_json_are_more_than_words(text, action):
    assert read_action(text) == action


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "an empty text"), (" \n", "an empty text"), ("x" * 1_000_000, "1000000 characters"),
        ("x" * (MOST_CHARACTERS + 1), "4001 characters"),
        ("a\x00b", r"control character, '\\x00'"), ("a\x1b[2Jb", "control character"),
        ("a\u2028b", "control character"), ("{" * 5000, "not one JSON object"),
        ('{"action_type": "fly"}', "action_type is 'fly'"),
        ('{"action_type": ["speak"]}', "action_type is"),
        ('{"argument": "hi"}', "action_type"),
        ('{"action_type": "speak", "argument": 1}', "argument is 1"),
        *(
            (f'{{"action_type": "speak", "argument": "hi", "to": {to}}}', "to is")
            for to in ('"Ann"', '""', "0", "{}", "false")
        ),
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
    with pytest.raises(InvalidActionText, match="speak"):
        read_action("[action] runs", (SPEAK,))
