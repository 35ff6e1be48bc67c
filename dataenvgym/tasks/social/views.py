"""What a seat is shown: its character, the others as it knows them, its goal, what it notices.

Each event is one line that begins with the name of who acts in square brackets. Further lines of an
utterance are indented, and its own square brackets become round ones, so that it cannot pass for
an event, for the scene, or for another's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataenvgym.records import Conversation, Message
from dataenvgym.tasks.social.actions import Action, ActionKind, write_action
from dataenvgym.tasks.social.profiles import Scene, as_seen_by, as_seen_by_self
from dataenvgym.tasks.social.scene import Cast, Event, SceneState

_WAITING = "(Nothing else happens.)"
_DOES = {
    ActionKind.SPEAK: "says",
    ActionKind.NONVERBAL: "shows without words",
    ActionKind.ACTION: "does",
    ActionKind.LEAVE: "leaves",
}
_HOW = {
    ActionKind.NONE: "[none] to do nothing",
    ActionKind.SPEAK: "plain words to speak",
    ActionKind.NONVERBAL: "[non-verbal communication] and what you show without words",
    ActionKind.ACTION: "[action] and what you do",
    ActionKind.LEAVE: "[leave] to leave for good",
}


def task_text(scene: Scene, seat: int) -> str:
    """The situation, and what a seat wants in it; nothing of who the characters are."""
    goal = scene.goals[seat]
    lines = [f"Your goal: {goal.text}", *(f"- {hint.text}" for hint in goal.hints)]
    return "\n".join([scene.scenario.strip(), "", *lines])


def terse_text(scene: Scene, seat: int) -> str:
    """The situation and what a seat wants in it, in one line."""
    return f"{scene.scenario} {scene.goals[seat].text}"


def introduction(cast: Cast, seat: int, kinds: Sequence[ActionKind]) -> str:
    """What a seat reads before the scene begins; never others' goals or secrets."""
    if cast.scene.terse:
        return terse_text(cast.scene, seat)
    others = [other for other in cast.seats if other != seat]
    how = f"In your turn, write {'; '.join(_HOW[kind] for kind in kinds)}."
    if len(others) > 1:
        how += " Begin with [speak to NAME; NAME] for those alone who are to hear it."
    parts = [
        f"You are {cast.label(seat, seat)}.\n{_listed(as_seen_by_self(cast.characters[seat]))}",
        *(_other(cast, other, seat) for other in others),
        task_text(cast.scene, seat),
        how,
    ]
    return "\n\n".join(part.strip() for part in parts)


def event_line(cast: Cast, event: Event, viewer: int) -> str:
    """An event as a seat that notices it reads it."""
    if event.note:
        return f"({event.note})"
    action = event.action
    who = cast.label(event.seat, viewer)
    to = ", ".join(cast.label(seat, viewer) for seat in event.to)
    does = _DOES[action.kind] + (f" (to {to} alone)" if to else "")
    return f"[{who}] {does}: {plain_words(action)}" if action.argument else f"[{who}] {does}."


def plain_words(action: Action) -> str:
    """The argument without anything that looks like markup of the scene."""
    lines = action.argument.replace("[", "(").replace("]", ")").splitlines()
    return "\n    ".join(lines)


def news(state: SceneState, seat: int, events: Sequence[Event]) -> str:
    """What others did, and notes for the seat, as one text."""
    lines = [event_line(state.cast, e, seat) for e in events if e.note or e.seat != seat]
    return "\n".join(lines) or _WAITING


def seat_conversation(state: SceneState, seat: int) -> Conversation:
    """The scene from a seat's point of view, to be asked for its next action.

    What the seat did is "assistant"; all else is "user", and the roles alternate.
    """
    opening = introduction(state.cast, seat, state.rules.kinds)
    messages: list[Message] = []
    heard: list[Event] = []
    for event in state.seen_by(seat):
        if event.note or event.seat != seat:
            heard.append(event)
            continue
        messages.append(_user(state, seat, heard, "" if messages else opening))
        messages.append(Message(role="assistant", content=write_action(event.action)))
        heard = []
    messages.append(_user(state, seat, heard, "" if messages else opening))
    return tuple(messages)


def profile_text(cast: Cast, seat: int) -> str:
    """All that is true of a seat's character, its goal included, for a judge."""
    facts = _listed(as_seen_by_self(cast.characters[seat]))
    return f"{cast.characters[seat].name}\n{facts}\n- goal: {cast.scene.goals[seat].text}"


def dialogue(state: SceneState) -> list[tuple[str, str]]:
    """Who did what, for a judge: real names, all actions, private ones included."""
    cast, turns = state.cast, []
    for event in state.events:
        if event.note:
            continue
        to = ", ".join(cast.characters[seat].name for seat in event.to)
        does = _DOES[event.action.kind] + (f" to {to} alone" if to else "")
        turns.append((cast.characters[event.seat].name, f"({does}) {event.action.argument}"))
    return turns


def _user(state: SceneState, seat: int, heard: Sequence[Event], opening: str) -> Message:
    if not opening:
        return Message(role="user", content=news(state, seat, heard))
    text = f"{opening}\n\n{news(state, seat, heard)}" if heard else opening
    return Message(role="user", content=text)


def _other(cast: Cast, other: int, viewer: int) -> str:
    label = cast.label(other, viewer)
    seen = as_seen_by(cast.scene.relationship, cast.characters[other])
    if not seen:
        return f"With you is {label}, whom you do not know."
    relationship = cast.scene.relationship.value.replace("_", " ")
    return f"With you is {label} ({relationship}).\n{_listed(seen)}"


def _listed(seen: Mapping[str, Any]) -> str:
    """Fields as lines, the name apart, which is said before."""
    return "\n".join(
        f"- {name.replace('_', ' ')}: {', '.join(v) if isinstance(v, tuple) else v}"
        for name, v in seen.items()
        if name != "name"
    )
