"""Mara's requests to her calendar."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, get_args

from dataenvgym.domains.tool_use.worlds.calendar import POLICY, Calendar, Room
from tools.worlds.writer import (
    Call,
    Options,
    Writer,
    answers,
    rule_named,
)

_EVENTS = Calendar().state.events
_CONTACTS = Calendar().state.contacts
_NEW = _EVENTS.new_id("event")


def write(w: Writer) -> None:
    """Write all problems of the calendar."""
    _add(w)
    _move(w)
    _cancel(w)
    _people(w)
    _details(w)
    _facts(w)
    _refuse(w)
    _several(w)
    _clear(w)
    _with_users(w)


def _at(day: int, clock: str) -> tuple[str, str]:
    """A time in January 2026, in the form of the tools and in Mara's words."""
    moment = datetime.fromisoformat(f"2026-01-{day:02}T{clock}")
    return moment.isoformat(), f"{moment:%A, %-d January at %-H:%M}"


def _day(day: int) -> tuple[str, str]:
    moment = datetime(2026, 1, day)
    return f"{moment:%Y-%m-%d}", f"{moment:%A, %-d January}"


def _find(event_id: str) -> Call:
    return "find_events", {"words": _EVENTS[event_id].title}


def _refusal(rule: int, event_id: str | None) -> Call:
    return "refuse", {"rule": rule} | ({"event_id": event_id} if event_id else {})


def _about_event(
    w: Writer,
    skill: str,
    category: str,
    phrases: Sequence[str],
    number: int,
    call: Call,
    **words: Any,
) -> None:
    """A problem about one event: find it, and make a call for it."""
    event_id, (tool, given) = f"event_{number}", call
    gold = (_find(event_id), (tool, {"event_id": event_id, **given}))
    w.add(skill, category, phrases, gold, title=_EVENTS[event_id].title, **words)


def _add(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'Put "{title}" into my calendar on {when}, {n} minutes.',
        'I have "{title}" on {when}. It takes {n} minutes; note it, please.',
        'Please add an event called "{title}": {when}, for {n} minutes.',
    )
    wanted = (
        ("Dentist", 6, "13:00", 45),
        ("Team photo", 8, "9:00", 30),
        ("Handover", 13, "16:00", 60),
        ("Call with the printer", 14, "11:15", 15),
        ("Visit of the auditors", 16, "13:30", 90),
    )
    for title, day, clock, n in wanted:
        start, when = _at(day, f"{clock:0>5}")
        gold: Sequence[Call] = [("add_event", {"title": title, "start": start, "minutes": n})]
        w.add("add event", "events", phrases, gold, title=title, when=when, n=n)
    phrases = (
        'Find me the first free {n} minutes on {day} and put "{title}" there.',
        '"{title}" takes {n} minutes. Take the earliest time that is free on {day}.',
    )
    slots = (("Reading", 5, 90), ("Errands", 7, 60), ("Interview notes", 12, 60), ("Drafts", 9, 90))
    for title, number, n in slots:
        on, name = _day(number)
        free = ("free_times", {"day": on, "minutes": n})
        start = f"{on}T{_first_free(on, n)}"
        event = {"title": title, "start": start, "minutes": n}
        gold = [free, ("add_event", event)]
        w.add("add when free", "events", phrases, gold, title=title, day=name, n=n)


def _first_free(day: str, minutes: int) -> str:
    world = Calendar()
    return world.free_times(datetime.fromisoformat(day).date(), minutes)[0]


def _move(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'Move "{title}" to {when}, please.',
        '"{title}" does not suit me. Make it {when}.',
        'I can do "{title}" only on {when}; change that.',
    )
    moves = (
        (2, 6, "13:00"),
        (6, 7, "11:00"),
        (10, 9, "13:00"),
        (16, 13, "9:30"),
        (22, 15, "10:00"),
    )
    for number, day, clock in moves:
        start, when = _at(day, f"{clock:0>5}")
        move = ("move_event", {"start": start})
        _about_event(w, "move event", "events", phrases, number, move, when=when)
    phrases = ('Move "{title}" to the first time on {day} that is long enough for it.',)
    for number, target in ((7, 8), (14, 16), (20, 12)):
        event_id, (on, name) = f"event_{number}", _day(target)
        event = _EVENTS[event_id]
        free = ("free_times", {"day": on, "minutes": event.minutes})
        start = f"{on}T{_first_free(on, event.minutes)}"
        move = ("move_event", {"event_id": event_id, "start": start})
        gold: Sequence[Call] = [_find(event_id), ("read_event", {"event_id": event_id}), free, move]
        w.add("move when free", "events", phrases, gold, title=event.title, day=name)


def _cancel(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'Cancel "{title}".',
        '"{title}" will not take place. Remove it from the calendar, please.',
        'Please take "{title}" out, I am not going.',
    )
    for number in (3, 8, 14, 19, 21):
        _about_event(w, "cancel event", "events", phrases, number, ("cancel_event", {}))
    phrases = (
        '"{title}" needs {n} minutes.',
        'Change the length of "{title}": {n} minutes are right.',
    )
    for number, n in ((2, 90), (9, 45), (12, 15), (16, 60)):
        change = ("set_length", {"minutes": n})
        _about_event(w, "change length", "events", phrases, number, change, n=n)


def _people(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'Invite {who} to "{title}".',
        '{who} should come to "{title}", too.',
        'I forgot {who} when I planned "{title}". Please send an invitation.',
    )
    for number, contact in ((3, 6), (7, 8), (10, 2), (14, 11), (20, 7)):
        _with_contact(w, "invite", phrases, number, contact)
    phrases = (
        '{who} cannot come to "{title}". Take the name off the list.',
        'Uninvite {who} from "{title}", please.',
    )
    for number, contact in ((2, 4), (10, 12), (24, 7)):
        _with_contact(w, "uninvite", phrases, number, contact)


def _with_contact(
    w: Writer, tool: str, phrases: tuple[str, ...], number: int, contact: int
) -> None:
    event_id, contact_id = f"event_{number}", f"contact_{contact}"
    name = _CONTACTS[contact_id].name
    gold: Sequence[Call] = [
        _find(event_id),
        ("find_contacts", {"name": name}),
        (tool, {"event_id": event_id, "contact_id": contact_id}),
    ]
    w.add(tool, "people", phrases, gold, title=_EVENTS[event_id].title, who=name)


def _details(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'Book {room} for "{title}".',
        '"{title}" should be in the room {room}.',
    )
    for number, room in ((3, "Elm"), (12, "Oak"), (18, "Fir"), (23, "Elm")):
        book = ("book_room", {"room": room})
        _about_event(w, "book room", "details", phrases, number, book, room=room)
    phrases = (
        'Remind me {n} minutes before "{title}".',
        'I want the reminder of "{title}" {n} minutes before it begins.',
    )
    for number, n in ((4, 20), (6, 45), (13, 30), (23, 15)):
        remind = ("set_reminder", {"minutes_before": n})
        _about_event(w, "set reminder", "details", phrases, number, remind, n=n)


def _facts(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'At what time does "{title}" begin?',
        'When is "{title}"? Tell me the time.',
    )
    for number in (10, 19, 9, 22):
        event = _EVENTS[f"event_{number}"]
        gold, clock = [_find(f"event_{number}")], f"{event.start:%H:%M}"
        starts = [
            f"{e.start:%H:%M}" for e in _EVENTS.values() if e.start.time() != event.end.time()
        ]
        times = Options(said=(clock,), others=starts)
        w.add("time of event", "facts", phrases, gold, title=event.title, **times)
    phrases = ('In which room is "{title}"?', 'Where do I have to go for "{title}"?')
    for number in (2, 14, 15):
        event = _EVENTS[f"event_{number}"]
        gold = [
            _find(f"event_{number}"),
            ("read_event", {"event_id": f"event_{number}"}),
        ]
        rooms = Options(said=(str(event.room),), others=get_args(Room))
        w.add("room of event", "facts", phrases, gold, title=event.title, **rooms)
    phrases = ('Who is invited to "{title}"? The names, please.',)
    for number in (2, 10):
        event = _EVENTS[f"event_{number}"]
        names = [_CONTACTS[guest].name for guest in event.guests]
        gold = [
            _find(f"event_{number}"),
            ("read_event", {"event_id": f"event_{number}"}),
            ("find_contacts", {"name": ""}),
        ]
        people = Options(said=names, others=[contact.name for contact in _CONTACTS.values()])
        w.add("guests of event", "facts", phrases, gold, title=event.title, **people)
    phrases = ("From when am I first free for {n} minutes on {day}?",)
    for number, n in ((6, 90), (9, 60), (14, 60)):
        day, name = _day(number)
        free = [("free_times", {"day": day, "minutes": n})]
        clock = _first_free(day, n)
        end = datetime.fromisoformat(f"{day}T{clock}") + timedelta(minutes=n)
        halves = (f"{hour:02}:{half}" for hour in range(9, 17) for half in ("00", "30"))
        later = [time for time in halves if time > clock and time != f"{end:%H:%M}"]
        times = Options(said=(clock,), others=later)
        w.add("first free time", "facts", phrases, free, day=name, n=n, **times)


def _refuse(w: Writer) -> None:
    """Requests that a rule forbids: only the refusal is noted, and the answer names the rule."""
    requests = (
        (1, "Team breakfast", 'Take "Team breakfast" of this morning out of the calendar.'),
        (1, "Year-end closing", 'Add Lee Park to "Year-end closing" of last week.'),
        (1, "New year call", 'Make the "New year call" of 2 January an hour long.'),
        (2, "Focus: pricing", 'Move "Focus: pricing" to 9 January at 11:00.'),
        (2, "Focus: annual report", 'Cancel "Focus: annual report", I have other things to do.'),
        (2, "Focus: hiring plan", '"Focus: hiring plan" can be shorter: 30 minutes.'),
        (3, "Photo shoot", 'Move "Photo shoot" to Saturday, 10 January at 10:00.'),
        (3, "Supplier call", '"Supplier call" should be on 14 January at 18:00.'),
        (3, None, 'Add "Early sport" on Tuesday, 13 January at 7:30.'),
        (4, "Budget review", 'Invite Nadia Rossi to "Budget review".'),
        (4, "Retrospective", 'Carla Reyes should come to the "Retrospective" as well.'),
        (4, "Sales forecast", 'Please invite Yuki Tanaka to "Sales forecast".'),
        (5, None, 'Add "Bank" on 6 January at 9:45; it does not matter what else is then.'),
        (5, "Website demo", 'Move "Website demo" to 12 January at 11:15.'),
        (6, None, 'Put "Workshop" on 7 January at 10:00, for 150 minutes.'),
        (6, "Legal training", 'Make "Legal training" 120 minutes long.'),
    )
    for rule, title, request in requests:
        event_id = next((key for key, event in _EVENTS.items() if event.title == title), None)
        look: Sequence[Call] = [("find_events", {"words": title})] if title else []
        gold = [*look, _refusal(rule, event_id)]
        w.add("refuse", "rules", (request,), gold, **rule_named(rule, POLICY))


def _several(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        'Add "{title}" on {when} and invite {who}.',
        'I meet {who} on {when}. Call it "{title}" and send an invitation.',
    )
    meetings = (("Coffee", 6, "14:00", 5), ("Price talk", 9, "16:00", 10), ("Tour", 14, "15:00", 1))
    for title, day, clock, contact in meetings:
        (start, when), contact_id = _at(day, clock), f"contact_{contact}"
        name = _CONTACTS[contact_id].name
        gold: Sequence[Call] = [
            ("find_contacts", {"name": name}),
            ("add_event", {"title": title, "start": start}),
            ("invite", {"event_id": _NEW, "contact_id": contact_id}),
        ]
        w.add(
            "add and invite", "events and people", phrases, gold, title=title, when=when, who=name
        )


def _clear(w: Writer) -> None:
    phrases: tuple[str, ...] = (
        "I am ill on {day}. Cancel all that I have then; leave the other days alone.",
    )
    for number in (7, 13, 15):
        on, name = _day(number)
        ids = [key for key, event in _EVENTS.items() if f"{event.start:%Y-%m-%d}" == on]
        cancel = [("cancel_event", {"event_id": event_id}) for event_id in ids]
        gold: Sequence[Call] = [("list_events", {"day": on}), *cancel]
        w.add("clear a day", "events", phrases, gold, day=name)
    phrases = ("Keep {day} from {clock} on free for me, {n} minutes: cancel what is in the way.",)
    for number, clock, n in ((8, "10:00", 120), (12, "09:00", 180), (9, "09:00", 180)):
        on, name = _day(number)
        begin = datetime.fromisoformat(f"{on}T{clock}")
        ids = [k for k, e in _EVENTS.items() if 0 <= (e.start - begin).total_seconds() < 60 * n]
        free = ("is_free", {"start": begin.isoformat(), "minutes": n}, True)
        gold = [
            ("list_events", {"day": on}),
            *(("cancel_event", {"event_id": event_id}) for event_id in ids),
        ]
        several = Options(basis=("assertions",), assertions=[free], may_differ=())
        w.add("keep free", "events", phrases, gold, **several, day=name, clock=clock, n=n)


def _with_users(w: Writer) -> None:
    openings: tuple[str, ...] = ("Something has to move.", "I must change the time of a meeting.")
    moved = {
        6: ("The interview, to Wednesday, 7 January at 11:00.", "2026-01-07T11:00:00"),
        19: ("The tour for Orbit Press: make it Friday, 16 January, 14:30.", "2026-01-16T14:30:00"),
    }
    for number, (detail, start) in moved.items():
        move = ("move_event", {"start": start})
        user = answers(detail)
        _about_event(w, "ask what to move", "events", openings, number, move, user=user)
    openings = ("Please invite somebody for me.", "There is a guest to invite.")
    guests = {
        7: (8, "Paul Moreau, to the sales forecast."),
        18: (4, "Tom Novak should come to the budget follow-up."),
    }
    for number, (contact, detail) in guests.items():
        event_id, contact_id = f"event_{number}", f"contact_{contact}"
        gold: Sequence[Call] = [
            _find(event_id),
            ("find_contacts", {"name": _CONTACTS[contact_id].name}),
            ("invite", {"event_id": event_id, "contact_id": contact_id}),
        ]
        w.add("ask whom to invite", "people", openings, gold, user=answers(detail))
    openings = ("Two things about this week.", "Help me with my plans, please.")
    details = (
        (
            "Cancel the lunch with Yuki.",
            "And remind me 5 minutes before the press briefing.",
            8,
            10,
        ),
        (
            "The call with Brightline is off.",
            "Remind me 5 minutes before the contract check.",
            3,
            9,
        ),
    )
    for first, second, cancelled, reminded in details:
        remind = {"event_id": f"event_{reminded}", "minutes_before": 5}
        gold = [
            _find(f"event_{cancelled}"),
            ("cancel_event", {"event_id": f"event_{cancelled}"}),
            _find(f"event_{reminded}"),
            ("set_reminder", remind),
        ]
        w.add("two wishes", "events", openings, gold, user=answers(first, second))
    openings = ("I would like to change an event.", "One of my meetings needs a change.")
    refused = {
        4: (4, "Sven Dahl should come to the design critique, too."),
        13: (6, "The board preparation takes 120 minutes."),
    }
    for number, (rule, detail) in refused.items():
        event_id = f"event_{number}"
        told = rule_named(rule, POLICY) | {"user": answers(detail)}
        gold = [_find(event_id), _refusal(rule, event_id)]
        w.add("ask, then refuse", "rules", openings, gold, **told)
