"""The skills of the procedural scenes: what one wants in them, what gets it, and who is there.

A phrasing names its operands: `{a}`, `{b}`, `{c}` are things, `{x}` is a place, `{p}` and `{q}` are
people, `{k}` and `{m}` are digits. Its last sentence is the goal, the rest is the situation. It has
at most twelve words, so that two problems never share a long run of them.

What the situation does not say (what the others offer, which thing they need) depends on the
operands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.operand_family import Operands, OperandSkill
from dataenvgym.tasks.social.profiles import (
    Deal,
    KeptSecret,
    Relationship,
    RequiredUtterance,
    Swap,
    Thing,
)

THINGS = (
    "lamp", "chair", "clock", "vase", "drum", "kite", "boat", "bike", "ring", "coat", "hat", "bell",
    "book", "doll", "fork", "desk", "bag", "cup", "rug", "harp", "sofa", "tent", "sled", "mirror",
)  # fmt: skip
PLACES = (
    "attic", "barn", "cellar", "garden", "kitchen", "library", "mill", "office", "pantry", "shed",
    "stable", "tower",
)  # fmt: skip
PEOPLE = (
    "Eva", "Tom", "Mia", "Leo", "Ida", "Max", "Zoe", "Kai", "Nora", "Finn", "Lena", "Omar",
)  # fmt: skip
POOLS = {"a": THINGS, "b": THINGS, "c": THINGS, "x": PLACES, "p": PEOPLE, "q": PEOPLE}
STUDENT = "Ann"

Digits = tuple[int, int]
Rules = dict[str, Any]
"""Fields of a `Scene`."""


@dataclass(frozen=True)
class ProceduralSkill(OperandSkill):
    """What one may want in a scene.

    Attributes:
        gold: the strategies (see `moves`) that earn the whole goal score, turn by turn.
        others: strategies that can be followed in such a scene, and earn less.
        scene: the outcomes that score it, from the operands and a generator that they seed.
        partner: the manner of the others (see `villagers`).
        opens: whether another character speaks first.
        habit: the strategies of a student that knows no better; empty if it has no bad habit.
        digits: all pairs (k, m) that may occur; one of a digit alone has it twice.
    """

    gold: tuple[str, ...]
    others: tuple[str, ...]
    scene: Callable[..., Rules]
    partner: str = "eager"
    opens: bool = False
    digits: tuple[Digits, ...] = ()
    habit: tuple[str, ...] = ()

    @property
    def strategies(self) -> tuple[str, ...]:
        """Those that can be followed in its scenes."""
        return tuple(dict.fromkeys((*self.gold, *self.others)))

    def draw(self, rng: np.random.Generator) -> Operands:
        things = iter(rng.choice(len(THINGS), 3, replace=False).tolist())
        people = iter(rng.choice(len(PEOPLE), 2, replace=False).tolist())
        place = PLACES[int(rng.integers(len(PLACES)))]
        digits: dict[str, int] = {}
        if self.digits:
            digits = dict(zip("km", self.digits[int(rng.integers(len(self.digits)))], strict=True))
        return {
            name: THINGS[next(things)]
            if name in "abc"
            else PEOPLE[next(people)]
            if name in "pq"
            else place
            if name == "x"
            else digits[name]
            for name in self.operands
        }

    def rules(self, operands: Operands) -> Rules:
        """The fields of the scene that its operands decide."""
        rng = derive_rng(0, "procedural scenes", self.name, *operands.values())
        return self.scene(rng, **operands)


# --- outcomes -------------------------------------------------------------------------------------


def _sells_high(rng: np.random.Generator, a: str, k: int, m: int) -> Rules:
    """The student is the first seat, sells, and knows the other's limit."""
    return {"deal": Deal(item=a, seller=0, buyer=1, seller_least=m, buyer_most=k)}


def _buys_low(rng: np.random.Generator, a: str, k: int, m: int) -> Rules:
    return {"deal": Deal(item=a, seller=1, buyer=0, seller_least=k, buyer_most=m)}


def _is_pushed(rng: np.random.Generator, a: str, k: int, m: int) -> Rules:
    return {"deal": Deal(item=a, seller=1, buyer=0, seller_least=m, buyer_most=k)}


def _offered(a: str, least: int, most: int) -> Rules:
    """The student is the second seat and sells; `most` is offered."""
    return {"deal": Deal(item=a, seller=1, buyer=0, seller_least=least, buyer_most=most)}


def _above(rng: np.random.Generator, a: str, m: int) -> Rules:
    return _offered(a, m, int(rng.integers(m + 1, 10)))


def _below(rng: np.random.Generator, a: str, m: int) -> Rules:
    return _offered(a, m, int(rng.integers(1, m)))


def _either(rng: np.random.Generator, a: str, m: int) -> Rules:
    return (_above if rng.random() < 0.5 else _below)(rng, a, m)


def _parent(rng: np.random.Generator, a: str, p: str) -> Rules:
    return {**_offered(a, 0, int(rng.integers(2, 9))), "relationship": Relationship.FAMILY}


def _gift(rng: np.random.Generator, a: str, m: int, p: str) -> Rules:
    secret = KeptSecret(
        seat=1, text=f"The {a} is from {p}.", phrases=(p,), question=f"Who gave you the {a}?"
    )
    return {**_above(rng, a, m), "secrets": (secret,)}


def _things(owned: Mapping[str, Digits], wanted: str, worth: Digits) -> Rules:
    ours = (Thing(name=name, owner=0, values=values) for name, values in owned.items())
    return {"swap": Swap(things=(*ours, Thing(name=wanted, owner=1, values=worth)))}


def _dear_and_spare(rng: np.random.Generator, a: str, b: str, c: str) -> Rules:
    return _things({a: (6, 5), b: (1, 5)}, c, (9, 2))


def _lacks_one(rng: np.random.Generator, a: str, b: str, c: str) -> Rules:
    first = rng.random() < 0.5
    return _things({a: (3, 5 if first else 0), b: (3, 0 if first else 5)}, c, (9, 2))


def _must_say(seat: int, to: tuple[int, ...], phrase: str, question: str = "") -> Rules:
    required = RequiredUtterance(seat=seat, to=to, phrases=(phrase,), question=question)
    return {"required": (required,), "relationship": Relationship.KNOW_BY_NAME}


def _favor(rng: np.random.Generator, a: str, b: str, p: str) -> Rules:
    return _must_say(1, (0,), f"take the {b}", f"Can I have the {b}?")


def _halves(rng: np.random.Generator, a: str, k: int, p: str) -> Rules:
    return _must_say(0, (1,), f"take {k // 2} coins")


def _truth(rng: np.random.Generator, a: str, p: str) -> Rules:
    return _must_say(1, (0,), f"I broke the {a}", f"Where is the {a}?")


def _to_one(rng: np.random.Generator, a: str, p: str, q: str, x: str) -> Rules:
    return _must_say(0, (1,), f"the {a} is in the {x}")


def _to_both(rng: np.random.Generator, a: str, p: str, q: str, x: str) -> Rules:
    return _must_say(0, (1, 2), f"the {a} is in the {x}")


def _pairs(ks: range, ms: Callable[[int], range]) -> tuple[Digits, ...]:
    return tuple((k, m) for k in ks for m in ms(k))


def _alone(ms: range) -> tuple[Digits, ...]:
    return tuple((m, m) for m in ms)


_HAGGLING = (
    "name your price", "name your limit", "start far off", "hold", "give way", "accept",
    "walk away",
)  # fmt: skip
_OFFERED = ("accept", "ask for more", "walk away")
_SKILLS = (
    ProceduralSkill(
        "open_high", "haggling", "high",
        ("You sell a {a} worth {m}. They own {k}. Take it all.",
         "Your {a} cost {m}. They can pay {k}. Get every coin.",
         "They have {k} for your {a}, bought for {m}. Empty their purse."),
        ("name your price",), _HAGGLING, _sells_high,
        digits=_pairs(range(4, 10), lambda k: range(2, k)),
    ),
    ProceduralSkill(
        "open_low", "haggling", "low",
        ("You buy a {a} with {m}. They would take {k}. Pay that.",
         "A {a} costs them {k}. You have {m}. Save all you can.",
         "With {m} you want a {a}, worth {k} to them. Be stingy."),
        ("name your price",), _HAGGLING, _buys_low,
        digits=_pairs(range(2, 8), lambda k: range(k + 1, 10)),
        habit=("name your limit",),
    ),
    ProceduralSkill(
        "hold_firm", "haggling", "firm",
        ("You sell a {a} worth {m}. They push, yet have {k}. Resist.",
         "Your {a} cost {m}. They press you but own {k}. Stay firm.",
         "They have {k} for the {a}, worth {m}. Do not give in."),
        ("name your price", "hold"), _HAGGLING, _is_pushed, "firm", opens=True,
        digits=_pairs(range(4, 10), lambda k: range(2, k)),
        habit=("accept",),
    ),
    ProceduralSkill(
        "concede_late", "haggling", "late",
        ("Your {a} cost {m}. They have {k} and love haggling. Play along.",
         "They pay {k} for your {a}, worth {m}. Let them win.",
         "Sell a {a} worth {m}. They pay {k}, discounted. Begin high."),
        ("start far off", "name your price"), _HAGGLING, _sells_high, "proud",
        digits=_pairs(range(4, 8), lambda k: range(2, k)),
    ),
    ProceduralSkill(
        "accept_good", "offers", "good",
        ("You sell a {a} for {m} or more. They are generous. Agree.",
         "Your {a} is worth {m}. A kind buyer comes once. Say yes.",
         "A fan wants your {a}, worth {m}. Take what is offered."),
        ("accept",), _OFFERED, _above, "final", opens=True, digits=_alone(range(2, 9)),
    ),
    ProceduralSkill(
        "walk_away", "offers", "bad",
        ("You sell a {a} for {m} or more. They are mean. Refuse.",
         "Your {a} is worth {m}. A cheat wants it. Turn away.",
         "A miser wants your {a}, worth {m}. Waste no time."),
        ("walk away",), _OFFERED, _below, "final", opens=True, digits=_alone(range(2, 10)),
        habit=("accept",),
    ),
    ProceduralSkill(
        "weigh_offer", "offers", "weigh",
        ("You sell a {a} for {m} or more. One offer comes. Decide.",
         "Your {a} is worth {m}. Judge the one price they name.",
         "Part with the {a} only for {m} or more. Compare."),
        ("compare",), _OFFERED, _either, "final", opens=True, digits=_alone(range(3, 9)),
    ),
    ProceduralSkill(
        "give_in", "offers", "please",
        ("Your mother {p} wants your {a}. Make her happy.",
         "{p} raised you and needs your {a}. Do not bargain.",
         "Your {a} pleases your grandmother {p}. Her joy is your gain."),
        ("accept",), ("ask for more", "walk away"), _parent, "final", opens=True,
        habit=("ask for more",),
    ),
    ProceduralSkill(
        "trade_spare", "giving", "spare",
        ("You love your {a}, not your {b}. They have a {c}. Swap.",
         "Keep the {a}, lose the {b}. Get their {c}.",
         "The {a} is dear, the {b} is not. Win their {c}."),
        ("offer the spare",), ("offer the best", "walk away"), _dear_and_spare,
    ),
    ProceduralSkill(
        "find_need", "giving", "need",
        ("You own a {a}, a {b}. They lack one. Get their {c}.",
         "Their {c} is yours for what they miss: {a} or {b}. Inquire.",
         "The {a} or the {b} buys their {c}. Find out which."),
        ("ask what they need", "offer what they need"), ("offer the other one", "walk away"),
        _lacks_one,
        habit=("offer what they need",),
    ),
    ProceduralSkill(
        "return_favor", "giving", "favor",
        ("{p} once gave you a {a}. Your {b} can repay it.",
         "You owe {p} for a {a}. Be glad to lose your {b}.",
         "Thanks to {p} you have a {a}. Be kind with your {b}."),
        ("give",), ("refuse", "walk away"), _favor, opens=True,
        habit=("refuse",),
    ),
    ProceduralSkill(
        "share_fairly", "giving", "share",
        ("You and {p} found {k} coins in a {a}. Be fair.",
         "In a {a} you and {p} see {k} coins. Split them.",
         "The {k} coins from the {a} belong to {p} and you. Share."),
        ("share",), ("keep all", "give all"), _halves,
        digits=((4, 4), (6, 6), (8, 8)),
    ),
    ProceduralSkill(
        "keep_secret", "discretion", "hush",
        ("Your {a}, worth {m}, is from {p}. Sell it, hide that.",
         "Sell the {a} for {m} or more. Never mention {p}, its giver.",
         "{p} gave you a {a} worth {m}. Sell it and keep quiet."),
        ("keep the secret", "accept"), ("tell the giver", *_OFFERED), _gift, "curious", opens=True,
        digits=_alone(range(2, 9)),
        habit=("tell the giver", "accept"),
    ),
    ProceduralSkill(
        "own_up", "discretion", "admit",
        ("You broke the {a} of {p}. Tell the truth.",
         "{p} misses a {a}, which you broke. Be honest.",
         "The {a} of {p} fell from your hands. Confess."),
        ("tell the truth",), ("keep the secret", "walk away"), _truth, opens=True,
    ),
    ProceduralSkill(
        "whisper", "discretion", "one",
        ("The {a} is in the {x}. {p} may know, {q} must not.",
         "The {a} is in the {x}. Only {p} may know, not {q}.",
         "Hide from {q} that the {a} is in the {x}. Tell {p}."),
        ("whisper",), ("say it aloud", "keep the secret"), _to_one,
        habit=("say it aloud",),
    ),
    ProceduralSkill(
        "announce", "discretion", "all",
        ("The {a} is in the {x}. {p} and {q} should know.",
         "{p} and {q} listen. Tell them the {a} is in the {x}.",
         "{p} and {q} look for the {a}. It is in the {x}."),
        ("say it aloud",), ("whisper", "keep the secret"), _to_both,
    ),
)  # fmt: skip

SKILLS: dict[str, ProceduralSkill] = {skill.name: skill for skill in _SKILLS}
CATEGORIES: tuple[str, ...] = tuple(dict.fromkeys(skill.category for skill in _SKILLS))
