"""An action of a character: one of five kinds, read from text and written back.

Text is read in two forms. Plain words are said to everybody. A mark in front of them gives another
kind of action, or the recipients:

    I would take it for 120 euros.
    [speak to Ann Lee; Bob Lee] Let us leave.
    [action] opens the window
    [leave]

The other form is Sotopia's: `{"action_type": "speak", "argument": "...", "to": ["Ann Lee"]}`.
Only this form and the marks are parsed: words such as "[Ann Lee]: I accept" are simply said.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ValidationError

from dataenvgym import exact_json
from dataenvgym.errors import DataEnvGymError, first_fault

MOST_CHARACTERS = 4000
"""Largest length of an utterance."""
MOST_TEXT = 2 * MOST_CHARACTERS
"""Largest length of the text that an action is read from."""


class ActionKind(StrEnum):
    """Sotopia's five kinds of action."""

    NONE = "none"
    SPEAK = "speak"
    NONVERBAL = "non-verbal communication"
    ACTION = "action"
    LEAVE = "leave"


ALL_KINDS = tuple(ActionKind)


@dataclass(frozen=True)
class Action:
    """An action, in the words of its character.

    Attributes:
        argument: the words or the deed; may be empty for `none` and `leave`.
        to: names of the recipients, as the character knows them; empty for everybody. Other
            characters do not notice the action.
    """

    kind: ActionKind
    argument: str = ""
    to: tuple[str, ...] = ()


NOTHING = Action(ActionKind.NONE)


class InvalidActionText(DataEnvGymError):
    """A text that is not an action; the message is short and meant for its author."""


_MARK = re.compile(
    rf"\[({'|'.join(map(re.escape, ALL_KINDS))})(?: to ([^\[\]\n]+))?\](?:[^\S\n]*)(.*)", re.DOTALL
)
_FENCE = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NEEDS_ARGUMENT = (ActionKind.SPEAK, ActionKind.NONVERBAL, ActionKind.ACTION)


def read_action(text: str, kinds: Collection[ActionKind] = ALL_KINDS) -> Action:
    """Parse the action in a text.

    Args:
        kinds: those allowed in the scene.

    Raises:
        InvalidActionText: for a text that is empty, too long or has control characters, for JSON
            that is not an action, and for a kind that is not allowed.
    """
    if len(text) > MOST_TEXT:
        raise InvalidActionText(f"{len(text)} characters, expected {MOST_CHARACTERS} at most")
    text = text.replace("\r\n", "\n").strip(" \n\t")
    if not text:
        raise InvalidActionText(f"an empty text; to do nothing, write [{ActionKind.NONE}]")
    fenced = _FENCE.fullmatch(text)
    text = fenced[1] if fenced else text
    action = _from_json(text) if text.startswith("{") else _from_plain(text)
    if action.kind not in kinds:
        raise InvalidActionText(
            f"{action.kind.value!r} is not possible here; there are: {', '.join(kinds)}"
        )
    if len(action.argument) > MOST_CHARACTERS:
        raise InvalidActionText(
            f"{len(action.argument)} characters, expected {MOST_CHARACTERS} at most"
        )
    if found := _CONTROL.search(action.argument):
        raise InvalidActionText(f"a control character, {found[0]!a}; write plain text")
    if action.kind in _NEEDS_ARGUMENT and not action.argument:
        raise InvalidActionText(f"{action.kind.value!r} without an argument: say what")
    if action.kind is ActionKind.NONE:
        return NOTHING
    if action.kind is ActionKind.LEAVE:  # everybody sees who leaves
        return Action(action.kind, action.argument)
    return action


def write_action(action: Action) -> str:
    """The plain form, which `read_action` reads back."""
    said = action.argument
    looks_marked = said.startswith("{") or _MARK.fullmatch(said) is not None or "```" in said
    if action.kind is ActionKind.SPEAK and not action.to and not looks_marked:
        return said
    to = f" to {'; '.join(action.to)}" if action.to else ""
    return f"[{action.kind}{to}] {said}".rstrip()


def _from_plain(text: str) -> Action:
    found = _MARK.fullmatch(text)
    if found is None:
        return Action(ActionKind.SPEAK, text)
    names = [name for part in (found[2] or "").split(";") if (name := part.strip())]
    if found[2] is not None:
        names = names or [""]  # no recipient, which is not the same as everybody
    return Action(ActionKind(found[1]), found[3].strip(), tuple(names))


class _Json(BaseModel):
    """Sotopia's form."""

    action_type: ActionKind
    argument: str | None = None
    to: tuple[str, ...] | None = None


def _from_json(text: str) -> Action:
    try:
        found = _Json.model_validate(exact_json.loads(text))
    except exact_json.JSONDecodeError:
        raise InvalidActionText("it begins with '{' and is not one JSON object") from None
    except ValidationError as error:
        raise InvalidActionText(first_fault(error)) from None
    return Action(found.action_type, (found.argument or "").strip(), found.to or ())
