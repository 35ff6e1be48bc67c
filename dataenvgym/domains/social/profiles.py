"""Characters, scenes and relationships.

A `Character` is a person; `as_seen_by` gives the view of another character, which depends on their
relationship. A `Scene` is a situation with a goal for each seat; `loaders` chooses characters for
the seats. A `RelationshipProfile` says how two characters know each other; characters without one
are strangers. `sotopia_dump` reads and writes all three in Sotopia's JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from dataenvgym.records.model import Finite, Model, Text

Filled = Annotated[Text, Field(min_length=1, pattern=r"\S")]
"""Text that is not blank."""
Phrase = Annotated[Text, Field(pattern=r"[\p{L}\p{N}]")]
"""Text with a letter or digit."""


class Relationship(StrEnum):
    """How well two characters know each other, from least to most (Sotopia's numbers 0 to 5)."""

    STRANGER = "stranger"
    KNOW_BY_NAME = "know_by_name"
    ACQUAINTANCE = "acquaintance"
    FRIEND = "friend"
    ROMANTIC = "romantic"
    FAMILY = "family"

    @property
    def number(self) -> int:
        """Sotopia's number."""
        return list(Relationship).index(self)


class Character(Model):
    """A person, with Sotopia's fields under plain names.

    Attributes:
        personality: in prose; `big_five` and `decision_style` in the words of those scales.
        moral_values, personal_values: of moral foundations, and of Schwartz's basic values.
        secret: never shown to another character.
        model: the model that plays the character, if the profile was made for one.
    """

    id: Filled
    first_name: Filled
    last_name: Text = ""
    age: int = Field(ge=0, le=150)
    gender: Text = ""
    pronouns: Text = ""
    occupation: Text = ""
    public_information: Text = ""
    personality: Text = ""
    big_five: Text = ""
    decision_style: Text = ""
    moral_values: tuple[Text, ...] = ()
    personal_values: tuple[Text, ...] = ()
    secret: Text = ""
    model: Text = ""

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first_name} {self.last_name}".strip()


_PUBLIC = ("name", "age", "gender", "pronouns", "occupation", "public_information")
_INNER = ("personality", "big_five", "decision_style", "moral_values", "personal_values")
_SEEN = ((), ("name",), _PUBLIC, *3 * ((*_PUBLIC, *_INNER),))  # by the relationship's number


def as_seen_by(relationship: Relationship, character: Character) -> dict[str, Any]:
    """The fields of a character that somebody in this relationship sees; empty ones left out.

    Acquaintances see the public fields, friends and closer see all but the secret.
    """
    return {name: v for name in _SEEN[relationship.number] if (v := getattr(character, name))}


def as_seen_by_self(character: Character) -> dict[str, Any]:
    """The fields that a character knows of itself, its secret included; empty ones left out."""
    return {name: v for name in (*_PUBLIC, *_INNER, "secret") if (v := getattr(character, name))}


class Hint(Model):
    """Information for the owner of a goal only; `kind` is its tag in Sotopia's texts."""

    kind: str = Field(pattern=r"^[a-z][a-z_]*$")
    text: Filled


class Goal(Model):
    """The goal of a seat, hidden from all other seats."""

    text: Filled
    hints: tuple[Hint, ...] = ()


class AgeRange(Model):
    """Ages from `least` to `most`, both included."""

    least: int = Field(default=0, ge=0)
    most: int = Field(default=150, ge=0)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"from {self} is not a range of ages")
        return self

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


class Deal(Model):
    """A sale within limits: a price outside a limit is a bad deal for one side.

    Attributes:
        seller: the seat that sells; `buyer` buys.
        seller_least, buyer_most: the worst prices for seller and buyer. If the buyer's limit is
            below the seller's, no deal serves both.
        currency: the word that follows a price, in plural.
    """

    item: Filled
    seller: int = Field(default=0, ge=0)
    buyer: int = Field(default=1, ge=0)
    seller_least: Finite = Field(ge=0)
    buyer_most: Finite = Field(ge=0)
    currency: Filled = "euros"

    @property
    def parties(self) -> tuple[int, int]:
        """The seats that trade."""
        return self.seller, self.buyer

    def other(self, seat: int) -> int:
        """The seat that trades with this one."""
        return sum(self.parties) - seat

    def limit(self, seat: int) -> float:
        """The worst price for a seat."""
        return self.seller_least if seat == self.seller else self.buyer_most

    @property
    def is_possible(self) -> bool:
        """True if some price serves both."""
        return self.seller_least <= self.buyer_most


class KeptSecret(Model):
    """A secret that a seat must keep in the scene.

    Attributes:
        phrases: saying any of them gives the secret away (see `scores.mentions`).
        question: a scripted partner's question about the secret.
    """

    seat: int = Field(ge=0)
    text: Filled
    phrases: tuple[Phrase, ...] = Field(min_length=1)
    question: Text = ""


class RequiredUtterance(Model):
    """A message that a seat must say, and the seats that must hear it.

    Attributes:
        to: the seats that must hear it; no other seat may.
        phrases: each is a whole message (see `scores.is_whole`), and any of them is enough. The
            goal of the seat, or a hint, should name the form of the message.
        question: a scripted partner's question about it.
    """

    seat: int = Field(ge=0)
    to: tuple[int, ...] = Field(min_length=1)
    phrases: tuple[Phrase, ...] = Field(min_length=1)
    question: Text = ""

    @model_validator(mode="after")
    def _has_other_hearers(self) -> Self:
        if self.seat in self.to:
            raise ValueError(f"to has {self.seat}, the seat that speaks: name those that hear it")
        return self


class Thing(Model):
    """A thing that can be traded, and its value for each seat."""

    name: Filled
    owner: int = Field(ge=0)
    values: tuple[Finite, ...]


class Swap(Model):
    """Things that their owners may trade one for one.

    The same thing may have different values for two seats: some trades serve both.
    """

    things: tuple[Thing, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [thing.name.casefold() for thing in self.things]
        if len(set(names)) < len(names):
            raise ValueError("things has two of the same name")
        return self


class Scene(Model):
    """A situation, and a goal for each seat.

    Attributes:
        goals: one for each seat; there are at least two seats.
        relationship: required between all characters in the scene.
        ages, occupations: the requirements of each seat; None, or an empty tuple of occupations,
            accepts all. Both fields are empty if no seat has requirements.
        casts: ids of the characters that may take the seats; empty for all that fit.
        motive: how the goals relate to each other; None if unknown.
        subsets: the named parts of a collection that the scene belongs to, such as "hard".
        deal, swap, required, secrets: outcomes that a rule can check. Deals and swaps are made by
            explicit acts (see `bargaining`).
        terse: whether the seats read only the situation and their goal, not who they are or how to
            act; for models with a short context.
    """

    id: Filled
    codename: Text = ""
    source: Text = ""
    scenario: Filled
    goals: tuple[Goal, ...] = Field(min_length=2)
    relationship: Relationship = Relationship.STRANGER
    ages: tuple[AgeRange | None, ...] = ()
    occupations: tuple[tuple[Filled, ...], ...] = ()
    casts: tuple[tuple[Filled, ...], ...] = ()
    motive: Literal["cooperative", "competitive", "mixed"] | None = None
    subsets: tuple[Filled, ...] = ()
    deal: Deal | None = None
    swap: Swap | None = None
    required: tuple[RequiredUtterance, ...] = ()
    secrets: tuple[KeptSecret, ...] = ()
    terse: bool = False

    @property
    def seats(self) -> int:
        """The number of seats."""
        return len(self.goals)

    @model_validator(mode="after")
    def _seats_agree(self) -> Self:
        things = self.swap.things if self.swap else ()
        seats = [secret.seat for secret in self.secrets]
        seats += [seat for required in self.required for seat in (required.seat, *required.to)]
        seats += [*(self.deal.parties if self.deal else ()), *(thing.owner for thing in things)]
        lists: dict[str, Sequence[Any]] = {"ages": self.ages, "occupations": self.occupations}
        lists |= {f"{thing.name!r}, values": thing.values for thing in things}
        lists |= {f"casts, {cast}": tuple({*cast}) for cast in self.casts}
        optional = ("ages", "occupations")
        faults = [
            f"{name} has {len(of)} entries, expected one for each seat"
            for name, of in lists.items()
            if len(of) != self.seats and (of or name not in optional)
        ]
        if any(seat >= self.seats for seat in seats):
            faults.append(f"seat {max(seats)} is named, the last one is {self.seats - 1}")
        if self.deal and self.deal.seller == self.deal.buyer:
            faults.append("deal has one seat that sells to itself")
        if faults:
            raise ValueError(faults[0])
        return self


class RelationshipProfile(Model):
    """How two characters know each other."""

    id: Filled
    characters: tuple[Filled, Filled]
    relationship: Relationship
    story: Text = ""

    @model_validator(mode="after")
    def _are_two(self) -> Self:
        if self.characters[0] == self.characters[1]:
            raise ValueError(f"characters names {self.characters[0]!r} twice")
        return self
