"""The user who speaks to the student: scripted, or played by a model."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dataenvgym.records import Conversation, Message, Model, Text


class Line(Model):
    """What a scripted user says next.

    Attributes:
        asked: it fits if one of these is in the student's message, whatever the case; without any,
            it always fits.
        say: the words.
        then: the state afterwards; None is the same.
        stop: whether the user leaves with it.
    """

    asked: tuple[Text, ...] = ()
    say: Text = ""
    then: Text | None = None
    stop: bool = False


class ScriptedUser(Model):
    """A small state machine; the first line of the state that fits is said.

    Attributes:
        states: the lines of each state; it begins in the first one.
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

    def line(self, state: str | None, heard: str) -> tuple[Line, str]:
        """What it says to that message in that state (None: the first), and the next state."""
        state = next(iter(self.states)) if state is None else state
        heard = heard.casefold()
        for line in self.states[state]:
            if not line.asked or any(text.casefold() in heard for text in line.asked):
                return line, line.then or state
        raise AssertionError(state)  # the last line fits always


class ModelUser(Model):
    """A user played by the speaker "user".

    Attributes:
        instructions: who it is, what it wants and knows.
    """

    kind: Literal["model"] = "model"
    instructions: Text = Field(min_length=1)


User = Annotated[ScriptedUser | ModelUser, Field(discriminator="kind")]
STOP = "###STOP###"
"""What a user played by a model says when it has nothing more to say."""

_ROLES = {"user": "assistant", "assistant": "user"}
_PLAY = """\
You are a user who speaks to an assistant. Say only what this user would say, in one short message.
When your request is fulfilled, or the assistant cannot help you, say {stop}

{instructions}"""


def seen_by_user(user: ModelUser, conversation: Conversation) -> Conversation:
    """The conversation from the user's side: no tools, no policy, the roles exchanged."""
    system = Message(role="system", content=_PLAY.format(stop=STOP, instructions=user.instructions))
    said = (m for m in conversation if m.role in _ROLES and m.content)
    heard = (Message(role=_ROLES[m.role], content=m.content) for m in said)  # type: ignore[arg-type]
    return (system, *heard)
