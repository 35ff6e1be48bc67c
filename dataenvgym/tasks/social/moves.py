"""Strategies in plain words for small scenes, and the utterances that follow each.

The pocket student of the social domain knows these strategies. The text of a move depends on the
operands of the scene (see `procedural_skills`) and on the events so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dataenvgym.tasks.operand_family import Operands
from dataenvgym.tasks.social.scene import SceneState
from dataenvgym.tasks.social.villagers import prices_of

_LEAVES = "[leave] Goodbye."
_AGREES = "Deal."


def move(strategy: str, operands: Operands, state: SceneState, seat: int) -> str:
    """The next words of the character in a seat, as a message of the student.

    Raises:
        KeyError: for a strategy that is not in `MOVES`.
    """
    return MOVES[strategy](operands, state, seat)


# --- prices ---------------------------------------------------------------------------------------


def _price(number: float) -> str:
    return f"I say {min(max(number, 1), 9):g} euros."


def _down(state: SceneState, seat: int) -> int:
    """The direction of a concession."""
    deal = state.cast.scene.deal
    return -1 if deal is not None and deal.seller == seat else 1


def _last(operands: Operands, state: SceneState, seat: int) -> float | None:
    named = prices_of(state, seat)
    return named[-1] if named else None


def _name_price(operands: Operands, state: SceneState, seat: int) -> str:
    return _price(float(operands["k"]))


def _name_limit(operands: Operands, state: SceneState, seat: int) -> str:
    return _price(float(operands["m"]))


def _start_far(operands: Operands, state: SceneState, seat: int) -> str:
    return _price(float(operands["k"]) - 2 * _down(state, seat))


def _hold(operands: Operands, state: SceneState, seat: int) -> str:
    last = _last(operands, state, seat)
    return _price(float(operands["k"]) if last is None else last)


def _give_way(operands: Operands, state: SceneState, seat: int) -> str:
    last = _last(operands, state, seat)
    return _price((float(operands["k"]) if last is None else last) + _down(state, seat))


def _offer(state: SceneState, seat: int) -> float | None:
    """The last price that another seat named."""
    named = [
        price for other in state.cast.seats if other != seat for price in prices_of(state, other)
    ]
    return named[-1] if named else None


def _ask_more(operands: Operands, state: SceneState, seat: int) -> str:
    offer = _offer(state, seat)
    return _price((float(operands["m"]) if offer is None else offer) + 1)


def _compare(operands: Operands, state: SceneState, seat: int) -> str:
    offer = _offer(state, seat)
    return _AGREES if offer is not None and offer >= float(operands["m"]) else _LEAVES


# --- things ---------------------------------------------------------------------------------------


def _needed(operands: Operands, state: SceneState) -> str:
    """The thing, a or b, that the other side asked for; a, if it asked for neither."""
    said = " ".join(event.action.argument for event in state.events if not event.note)
    return "b" if f"need the {operands['b']}." in said else "a"


def _offer_needed(operands: Operands, state: SceneState, seat: int) -> str:
    return f"My {operands[_needed(operands, state)]} for your {operands['c']}."


def _offer_other(operands: Operands, state: SceneState, seat: int) -> str:
    other = {"a": "b", "b": "a"}[_needed(operands, state)]
    return f"My {operands[other]} for your {operands['c']}."


Move = Callable[[Operands, SceneState, int], str]


def _says(template: str) -> Move:
    """A move that always says the same words, with operands filled in."""
    return lambda operands, state, seat: template.format_map(
        {**operands, "half": int(operands.get("k", 0)) // 2}
    )


MOVES: Mapping[str, Move] = {
    "name your price": _name_price,
    "name your limit": _name_limit,
    "start far off": _start_far,
    "hold": _hold,
    "give way": _give_way,
    "ask for more": _ask_more,
    "compare": _compare,
    "accept": _says(_AGREES),
    "walk away": _says(_LEAVES),
    "offer the best": _says("My {a} for your {c}."),
    "offer the spare": _says("My {b} for your {c}."),
    "ask what they need": _says("What do you need?"),
    "offer what they need": _offer_needed,
    "offer the other one": _offer_other,
    "give": _says("Take the {b}."),
    "refuse": _says("No."),
    "share": _says("Take {half} coins."),
    "keep all": _says("I keep all coins."),
    "give all": _says("Take {k} coins."),
    "keep the secret": _says("That is private."),
    "tell the giver": _says("It is from {p}."),
    "tell the truth": _says("I broke the {a}."),
    "whisper": _says("[speak to {p}] The {a} is in the {x}."),
    "say it aloud": _says("The {a} is in the {x}."),
}
"""By strategy."""
