"""The text that a seat reads: its character, the others as it knows them, its goal, the events.

Each event is one line that begins with the actor's name in square brackets. Further lines of an
utterance are indented, and square brackets in it become round ones, so that it cannot be mistaken
for an event, for the scene's description, or for another's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dataenvgym.domains.social.actions import ActionKind, write_action
from dataenvgym.domains.social.bargaining import Acts
from dataenvgym.domains.social.profiles import Scene, as_seen_by, as_seen_by_self
from dataenvgym.domains.social.scene import Cast, Event, SceneState
from dataenvgym.records import Conversation, Message

Lines = list[tuple[Literal["assistant", "user"], str]]
"""The lines that one side wrote ("assistant") and read ("user")."""

_WAITING = "(Nothing else happens.)"
_DOES = {
    ActionKind.SPEAK: "says",
    ActionKind.NONVERBAL: "shows without words",
    ActionKind.ACTION: "does",
    ActionKind.LEAVE: "leaves",
}
EVENT = re.compile(
    rf"\[[^\[\]\n]+\] (?:{'|'.join(_DOES.values())})(?: \(to [^\n]+? alone\))?(?:: .*|\.)"
)
"""The first line of an event (see `event_line`)."""
_HOW = {
    ActionKind.NONE: "[none] to do nothing",
    ActionKind.SPEAK: "plain words to speak",
    ActionKind.NONVERBAL: "[non-verbal communication] and what you show without words",
    ActionKind.ACTION: "[action] and what you do",
    ActionKind.LEAVE: "[leave] to leave for good",
}


def task_text(scene: Scene, seat: int) -> str:
    """The situation and a seat's goal, without any information on the characters."""
    goal = scene.goals[seat]
    lines = [f"Your goal: {goal.text}", *(f"- {hint.text}" for hint in goal.hints)]
    return "\n".join([scene.scenario.strip(), "", *lines])


def terse_text(scene: Scene, seat: int) -> str:
    """The situation and a seat's goal, in one line."""
    return f"{scene.scenario} {scene.goals[seat].text}"


def introduction(cast: Cast, seat: int, kinds: Sequence[ActionKind]) -> str:
    """The text that a seat reads before the scene begins: its character, and how to act."""
    if cast.scene.terse:
        return terse_text(cast.scene, seat)
    how = how_to_act(kinds, len(cast.seats))
    parts = character_text(cast, seat), how, Acts.of(cast.scene, kinds).instructions(seat)
    return "\n\n".join(filter(None, parts))


def how_to_act(kinds: Sequence[ActionKind], seats: int = 2) -> str:
    """The end of an introduction: what a seat can write in its turn."""
    how = f"In your turn, write {'; '.join(_HOW[kind] for kind in kinds)}."
    if seats > 2:
        how += " Begin with [speak to NAME; NAME] for those alone who are to hear it."
    return how


def character_text(cast: Cast, seat: int) -> str:
    """A seat's character, the others as it knows them, and its own goal."""
    parts = [
        f"You are {cast.label(seat, seat)}.\n{_listed(as_seen_by_self(cast.characters[seat]))}"
    ]
    relationship = cast.scene.relationship
    for other in cast.seats:
        if other == seat:
            continue
        label = cast.label(other, seat)
        if seen := as_seen_by(relationship, cast.characters[other]):
            closeness = relationship.value.replace("_", " ")
            parts.append(f"With you is {label} ({closeness}).\n{_listed(seen)}")
        else:
            parts.append(f"With you is {label}, whom you do not know.")
    return "\n\n".join(part.strip() for part in (*parts, task_text(cast.scene, seat)))


def event_line(cast: Cast, event: Event, viewer: int) -> str:
    """The line that a seat reads if it notices an event."""
    if event.note:
        return f"({event.note})"
    action = event.action
    who = cast.label(event.seat, viewer)
    to = ", ".join(cast.label(seat, viewer) for seat in event.to)
    does = _DOES[action.kind] + (f" (to {to} alone)" if to else "")
    if not action.argument:
        return f"[{who}] {does}."
    plain = action.argument.replace("[", "(").replace("]", ")").splitlines()  # without markup
    return f"[{who}] {does}: " + "\n    ".join(plain)


def speaker_lines(cast: Cast, seat: int, events: Sequence[Event]) -> Lines:
    """The lines that a seat wrote ("assistant") and noticed ("user"), in order."""
    return [
        ("assistant", write_action(event.action))
        if event.seat == seat and not event.note
        else ("user", event_line(cast, event, seat))
        for event in events
        if event.reaches(seat)
    ]


def news(lines: Lines) -> str:
    """The noticed lines, as one text."""
    return "\n".join(text for role, text in lines if role == "user") or _WAITING


def seat_conversation(state: SceneState, seat: int) -> Conversation:
    """The scene from a seat's point of view, as a prompt for its next action."""
    opening = introduction(state.cast, seat, state.rules.kinds)
    return conversation_of(opening, speaker_lines(state.cast, seat, state.events))


def conversation_of(opening: str, lines: Lines) -> Conversation:
    """The lines after an opening, as a conversation: roles alternate, and the last is "user"."""
    messages: list[Message] = []
    heard: Lines = []
    for role, text in [*lines, ("assistant", "")]:
        if role == "user":
            heard.append((role, text))
            continue
        begun = "" if messages else opening
        parts = (begun, news(heard) if heard or not begun else "")
        messages.append(Message(role="user", content="\n\n".join(filter(None, parts))))
        messages.append(Message(role="assistant", content=text))
        heard = []
    return tuple(messages[:-1])


def profile_text(cast: Cast, seat: int) -> str:
    """All true facts about a seat's character, with its goal and hints, for a judge."""
    facts = _listed(as_seen_by_self(cast.characters[seat]))
    goal = cast.scene.goals[seat]
    lines = [cast.names[seat], facts, f"- goal: {goal.text}"]
    return "\n".join([*lines, *(f"- hint about the goal: {hint.text}" for hint in goal.hints)])


def situation_text(scene: Scene) -> str:
    """The situation, and how the characters know each other, for a judge."""
    relationship = scene.relationship.value.replace("_", " ")
    return f"{scene.scenario.strip()}\n\nRelationship of the characters: {relationship}"


def dialogue(state: SceneState) -> list[tuple[str, str]]:
    """All actions with the actors' real names, private ones included, for a judge."""
    cast, turns = state.cast, []
    for event in state.events:
        if event.note:
            continue
        to = ", ".join(cast.names[seat] for seat in event.to)
        does = _DOES[event.action.kind] + (f" to {to} alone" if to else "")
        turns.append((cast.names[event.seat], f"({does}) {event.action.argument}"))
    return turns


def _listed(seen: Mapping[str, Any]) -> str:
    """Fields as lines, without the name, which comes before them."""
    return "\n".join(
        f"- {name.replace('_', ' ')}: {', '.join(v) if isinstance(v, tuple) else v}"
        for name, v in seen.items()
        if name != "name"
    )
