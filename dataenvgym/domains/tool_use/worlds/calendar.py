"""A calendar of one person. The tools check what is possible, the policy what is allowed."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Literal

from dataenvgym.domains.tool_use.worlds import first_state, note_refusal, require, row_of
from dataenvgym.tasks.worlds.state import Row, State, Table
from dataenvgym.tasks.worlds.world import World, check, tool

Kind = Literal["internal", "open", "focus"]
Room = Literal["Oak", "Elm", "Fir"]

POLICY = """\
You keep the calendar of Mara. It is Monday, 5 January 2026, 9:00. The rules:
Rule 1: What has begun or is over stays as it is.
Rule 2: Focus blocks are not moved, shortened or cancelled.
Rule 3: Everything is on weekdays, from 9:00 to 17:00.
Rule 4: People from outside the company are not invited to internal events.
Rule 5: Two events never overlap.
Rule 6: A new event has at most 90 minutes, and none is made longer than that.
If a rule forbids a request, change nothing: call refuse once, and say which rule it is and name no
other, such as "rule 2". To a question, tell what was asked for and no other answers. A new event
has 30 minutes unless Mara says otherwise. When you know what is meant, do not ask again."""

_OPENS, _CLOSES = time(9), time(17)


class Contact(Row):
    """A person who can be invited."""

    name: str
    team: str
    is_outside: bool = False


class Event(Row):
    """An entry of the calendar.

    Attributes:
        guests: ids of contacts.
        reminder: minutes before the event at which Mara is reminded.
    """

    title: str
    start: datetime
    minutes: int = 30
    kind: Kind = "open"
    guests: tuple[str, ...] = ()
    room: Room | None = None
    reminder: int | None = None

    @property
    def end(self) -> datetime:
        return self.start + timedelta(minutes=self.minutes)


class CalendarState(State):
    """Events and contacts, and the requests that were refused."""

    events: Table[Event] = Table()
    contacts: Table[Contact] = Table()
    refused: tuple[str, ...] = ()


class Calendar(World[CalendarState]):
    """A calendar of one person."""

    name = "calendar"
    policy = POLICY

    def initial(self) -> CalendarState:
        return first_state(CalendarState, self.name)

    @tool
    def list_events(self, day: date) -> dict[str, str]:
        """List the events of a day: id, time, minutes and title.

        Args:
            day: such as "2026-01-07".
        """
        events = self.state.events.items()
        found = sorted((e.start, key, e) for key, e in events if e.start.date() == day)
        return {key: f"{e.start:%H:%M}, {e.minutes} min: {e.title}" for _, key, e in found}

    @tool
    def find_events(self, words: str) -> dict[str, str]:
        """Find events by words of their title: id, day and title.

        Args:
            words: such as "budget".
        """
        events = self.state.events.items()
        found = ((key, e) for key, e in events if words.casefold() in e.title.casefold())
        return {key: f"{e.start:%Y-%m-%d %H:%M}: {e.title}" for key, e in found}

    @tool
    def read_event(self, event_id: str) -> Event:
        """Read an event with its guests, room and reminder.

        Args:
            event_id: such as "event_1".
        """
        return self._event(event_id)

    @tool
    def free_times(self, day: date, minutes: int = 30) -> list[str]:
        """List the half hours of a day at which an event could begin.

        Args:
            day: such as "2026-01-07".
            minutes: how long the event is.
        """
        _check_minutes(minutes)
        first = datetime.combine(day, _OPENS)
        starts = (first + timedelta(minutes=30 * number) for number in range(16))
        latest = datetime.combine(day, _CLOSES) - timedelta(minutes=minutes)
        return [f"{s:%H:%M}" for s in starts if s <= latest and not self._taken(s, minutes)]

    @tool
    def find_contacts(self, name: str) -> dict[str, Contact]:
        """Find people by a part of their name or team.

        Args:
            name: such as "Lee" or "design".
        """
        wanted = name.casefold()
        contacts = self.state.contacts.items()
        return {k: c for k, c in contacts if wanted in f"{c.name}\n{c.team}".casefold()}

    @tool(writes=True)
    def add_event(self, title: str, start: datetime, minutes: int = 30, kind: Kind = "open") -> str:
        """Add an event; invite people and book a room afterwards.

        Args:
            title: as Mara says it.
            start: such as "2026-01-07T14:00".
            minutes: how long it is.
            kind: internal: only people of the company; focus: nobody else.
        """
        self._check_free(start, minutes)
        event_id = self.state.events.new_id("event")
        self.state.events[event_id] = Event(title=title, start=start, minutes=minutes, kind=kind)
        return f"{event_id} is added"

    @tool(writes=True)
    def move_event(self, event_id: str, start: datetime) -> str:
        """Move an event to another time.

        Args:
            event_id: such as "event_1".
            start: such as "2026-01-07T14:00".
        """
        event = self._event(event_id)
        self._check_free(start, event.minutes, event_id)
        self.state.events[event_id] = event.changed(start=start)
        return f"{event_id} is at {start:%Y-%m-%d %H:%M}"

    @tool(writes=True)
    def set_length(self, event_id: str, minutes: int) -> str:
        """Make an event longer or shorter.

        Args:
            event_id: such as "event_1".
            minutes: how long it is afterwards.
        """
        event = self._event(event_id)
        self._check_free(event.start, minutes, event_id)
        self.state.events[event_id] = event.changed(minutes=minutes)
        return f"{event_id} has {minutes} minutes"

    @tool(writes=True)
    def cancel_event(self, event_id: str) -> str:
        """Remove an event from the calendar.

        Args:
            event_id: such as "event_1".
        """
        self._event(event_id)
        del self.state.events[event_id]
        return f"{event_id} is cancelled"

    @tool(writes=True)
    def invite(self, event_id: str, contact_id: str) -> str:
        """Invite somebody to an event.

        Args:
            event_id: such as "event_1".
            contact_id: such as "contact_1".
        """
        event = self._event(event_id)
        row_of(self.state.contacts, contact_id, "contact")
        require(contact_id not in event.guests, f"{contact_id} is invited already")
        guests = tuple(sorted((*event.guests, contact_id)))
        self.state.events[event_id] = event.changed(guests=guests)
        return f"{contact_id} is invited"

    @tool(writes=True)
    def uninvite(self, event_id: str, contact_id: str) -> str:
        """Take somebody off the guests of an event.

        Args:
            event_id: such as "event_1".
            contact_id: such as "contact_1".
        """
        event = self._event(event_id)
        require(contact_id in event.guests, f"{contact_id} is not invited")
        guests = tuple(guest for guest in event.guests if guest != contact_id)
        self.state.events[event_id] = event.changed(guests=guests)
        return f"{contact_id} is no longer invited"

    @tool(writes=True)
    def book_room(self, event_id: str, room: Room) -> str:
        """Book a room for an event, in place of the one that it has.

        Args:
            event_id: such as "event_1".
            room: Oak has 4 seats, Elm 8, Fir 20.
        """
        self.state.events[event_id] = self._event(event_id).changed(room=room)
        return f"{room} is booked for {event_id}"

    @tool(writes=True)
    def set_reminder(self, event_id: str, minutes_before: int) -> str:
        """Remind Mara of an event, in place of the reminder that it has.

        Args:
            event_id: such as "event_1".
            minutes_before: how long before it begins.
        """
        require(minutes_before >= 0, "a reminder comes before the event")
        self.state.events[event_id] = self._event(event_id).changed(reminder=minutes_before)
        return f"the reminder of {event_id} comes {minutes_before} minutes before"

    @tool(writes=True)
    def refuse(self, rule: int, event_id: str | None = None) -> str:
        """Note that a rule forbids a request; then say so to Mara.

        Args:
            rule: the number of the rule.
            event_id: the event that it is about; leave it out for a new event.
        """
        if event_id is not None:
            self._event(event_id)
        return note_refusal(self.state, rule, 6, event_id)

    @check
    def is_free(self, start: str, minutes: int) -> bool:
        """Whether nothing is in the calendar then."""
        return not self._taken(datetime.fromisoformat(start), minutes)

    def _event(self, event_id: str) -> Event:
        return row_of(self.state.events, event_id, "event")

    def _taken(self, start: datetime, minutes: int, but: str | None = None) -> str | None:
        end = start + timedelta(minutes=minutes)
        events = self.state.events.items()
        return next((k for k, e in events if k != but and start < e.end and e.start < end), None)

    def _check_free(self, start: datetime, minutes: int, but: str | None = None) -> None:
        _check_minutes(minutes)
        fits = not start.tzinfo and datetime.max - start >= timedelta(minutes=minutes)
        require(fits, "a start has no time zone, and lies before the end of the year 9999")
        taken = self._taken(start, minutes, but)
        require(taken is None, f"{taken} is in the calendar then")


def _check_minutes(minutes: int) -> None:
    require(5 <= minutes <= 480, "an event has 5 to 480 minutes")
