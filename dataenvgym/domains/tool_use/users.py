"""The data of a user who speaks to the student: a script or a model; see `user_seat`.

    {"kind": "script", "states": {"start": [{"asked": ["which"], "say": "The lamp."},
                                            {"asked": ["done"], "say": "Thanks.", "stop": true},
                                            {"say": "Please cancel my order."}]}}

    {"kind": "model", "instructions": "You are Ann. You want to cancel your lamp order.",
     "facts": [{"asked": ["order number", "which order"], "tell": "order_7"}]}

An instance's instruction is the user's first message; without one, the user speaks first.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dataenvgym.records import Model, Text, ToolCall

Words = Annotated[str, Field(min_length=1)]
STOP = "###STOP###"
"""The last words of a user that a model plays."""


class Line(Model):
    """One answer of a scripted user.

    Attributes:
        asked: it fits if the student's message contains one of these, in any case; if empty, it
            always fits.
        calls: calls of the user's own tools, made before it speaks. If the world refuses one, the
            user says the reason in place of `say`, stays in its state, and does not leave.
        say: the words.
        then: the state afterwards; None keeps the state.
        stop: whether the user leaves with it.
    """

    asked: tuple[Text, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    say: Text = ""
    then: Text | None = None
    stop: bool = False


class ScriptedUser(Model):
    """A small state machine: the user says the first line of its state that fits.

    Attributes:
        states: the lines of each state; the first state is the initial one.
    """

    kind: Literal["script"] = "script"
    states: dict[str, tuple[Line, ...]] = Field(min_length=1)

    @model_validator(mode="after")
    def _always_has_a_line(self) -> Self:
        for name, lines in self.states.items():
            if not lines or lines[-1].asked:
                raise ValueError(
                    f"state {name!r}: its last line fits only some messages; let it "
                    "fit always, without `asked`"
                )
            for line in lines:
                if line.then is not None and line.then not in self.states:
                    raise ValueError(f"state {name!r}: there is no state {line.then!r}")
        return self

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls that the script may make."""
        return tuple(c for lines in self.states.values() for line in lines for c in line.calls)

    def line(self, state: str | None, heard: str) -> tuple[Line, str]:
        """Its answer to that message in that state (None: the first), and the next state."""
        state = next(iter(self.states)) if state is None else state
        heard = heard.casefold()
        for line in self.states[state]:
            if not line.asked or any(text.casefold() in heard for text in line.asked):
                return line, line.then or state
        raise AssertionError(state)  # the last line fits always


class Fact(Model):
    """A fact that the user knows and tells when it is asked.

    Attributes:
        asked: the student asks for it if its message contains one of these, in any case.
        tell: the user's words must then contain these facts (see `fact_matching`), now or later.
    """

    asked: tuple[Words, ...] = Field(min_length=1)
    tell: Text = Field(min_length=1)


class ModelUser(Model):
    """A user played by the speaker "user" (see `user_seat` for its rules).

    Attributes:
        instructions: its identity, wishes and knowledge.
        facts: the facts that it must tell when asked; its instructions need not repeat them.
        must_not_say: words that only the assistant may say, such as the result that it should find.
        guidelines: how to play a user, before the instructions; they replace the default text.
        stops: it leaves by saying one of these; your own guidelines must name them.
    """

    kind: Literal["model"] = "model"
    instructions: Text = Field(min_length=1)
    facts: tuple[Fact, ...] = ()
    must_not_say: tuple[Words, ...] = ()
    guidelines: Text = ""
    stops: tuple[Words, ...] = Field(default=(STOP,), min_length=1)


User = Annotated[ScriptedUser | ModelUser, Field(discriminator="kind")]
