"""Strategies in plain words for small scenes, and the utterances that follow each.

The pocket student of the social domain knows these strategies. The text of a move depends on the
operands of the scene (see `procedural_skills`) and on the events so far.
"""

from __future__ import annotations

from collections.abc import Mapping

from dataenvgym.domains.social.actions import write_action
from dataenvgym.domains.social.bargains import bargains_of
from dataenvgym.domains.social.scene import SceneState
from dataenvgym.tasks.operand_family import Operands

_LEAVES = "[leave] Goodbye."

MOVES: Mapping[str, str | None] = {
    "name your price": None,
    "name your limit": None,
    "start far off": None,
    "hold": None,
    "give way": None,
    "ask for more": None,
    "compare": None,
    "accept": None,
    "walk away": _LEAVES,
    "offer the best": None,
    "offer the spare": None,
    "ask what they need": "What do you need?",
    "offer what they need": None,
    "offer the other one": None,
    "give": "Take the {b}.",
    "refuse": "No.",
    "share": "Take {half} coins.",
    "keep all": "I keep all coins.",
    "give all": "Take {k} coins.",
    "keep the secret": "That is private.",
    "tell the giver": "It is from {p}.",
    "tell the truth": "I broke the {a}.",
    "whisper": "[speak to {p}] The {a} is in the {x}.",
    "say it aloud": "The {a} is in the {x}.",
}
"""By strategy, its words; None for an act of bargaining."""


def move(strategy: str, operands: Operands, state: SceneState, seat: int) -> str:
    """The next words of the character in a seat, as a message of the student.

    It leaves after a deal or a trade.

    Raises:
        KeyError: for a strategy that is not in `MOVES`.
    """
    bargains = bargains_of(state)
    if bargains.price is not None or bargains.trade is not None:
        return _LEAVES
    words = MOVES[strategy]
    if words is not None:
        return words.format_map({**operands, "half": int(operands.get("k", 0)) // 2})
    accepts = write_action(state.acts.accept())
    if strategy == "accept":
        return accepts
    deal = state.cast.scene.deal
    if deal is None:
        heard = " ".join(event.action.argument for event in state.events if not event.note)
        needs_b = f"need the {operands['b']}." in heard  # a, if it asked for neither
        given = {
            "offer the best": "a",
            "offer the spare": "b",
            "offer what they need": "b" if needs_b else "a",
            "offer the other one": "a" if needs_b else "b",
        }[strategy]
        return write_action(state.acts.swap(str(operands[given]), str(operands["c"])))
    down = -1 if deal.seller == seat else 1  # the direction of a concession
    ours = bargains.prices[seat]
    theirs = [p for other, said in bargains.prices.items() if other != seat for p in said]
    match strategy:
        case "compare":
            return accepts if theirs and theirs[-1] >= float(operands["m"]) else _LEAVES
        case "name your limit":
            price = float(operands["m"])
        case "start far off":
            price = float(operands["k"]) - 2 * down
        case "hold":
            price = ours[-1] if ours else float(operands["k"])
        case "give way":
            price = (ours[-1] if ours else float(operands["k"])) + down
        case "ask for more":
            price = (theirs[-1] if theirs else float(operands["m"])) + 1
        case _:
            price = float(operands["k"])
    return write_action(state.acts.offer(min(max(price, 1), 9), "say"))
