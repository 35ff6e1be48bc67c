"""The skills of the procedural scenes: the goals, the strategies that reach them, the partners.

A phrasing names its operands: `{a}`, `{b}`, `{c}` are things, `{x}` is a place, `{p}` and `{q}` are
people, `{k}` and `{m}` are digits. Its last sentence is the goal, the rest is the situation. It has
at most twelve words, so two problems never share a long run of words.

Facts that the situation does not state (the others' offers, the thing that they need) depend only
on the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataenvgym.domains.social.profiles import (
    Deal,
    KeptSecret,
    Relationship,
    RequiredUtterance,
    Swap,
    Thing,
)
from dataenvgym.domains.social.scripted_partners import Manner
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.operand_family import Operands, OperandSkill

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
    """A goal in a scene, and how to reach it.

    Attributes:
        gold: the strategies that earn the whole goal score, turn by turn (see
            `procedural.MOVES`).
        others: strategies that can be followed in such a scene, and earn less.
        scene: the outcomes that score it, from the operands and a generator seeded by them.
        partner: the manner of the other characters (see `scripted_partners`).
        opens: whether another character speaks first.
        habit: the strategies of a student with a bad habit; empty if the skill has none.
        form: the form of a message that the goal asks for; a prompt that is not terse names it.
        digits: all possible pairs (k, m); a single digit is twice in its pair.
    """

    gold: tuple[str, ...]
    others: tuple[str, ...]
    scene: Callable[..., Rules]
    partner: Manner = "eager"
    opens: bool = False
    digits: tuple[Digits, ...] = ()
    habit: tuple[str, ...] = ()
    form: str = ""

    @property
    def strategies(self) -> tuple[str, ...]:
        """All strategies that can be followed in its scenes."""
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
        """The fields of the scene that depend on its operands."""
        rng = derive_rng(0, "procedural scenes", self.name, *operands.values())
        return self.scene(rng, **operands)


# --- outcomes -------------------------------------------------------------------------------------


def _sale(a: str, least: int, most: int, *, seller: int = 1) -> Rules:
    return {
        "deal": Deal(item=a, seller=seller, buyer=1 - seller, seller_least=least, buyer_most=most)
    }


def _sells_high(rng: np.random.Generator, a: str, k: int, m: int) -> Rules:
    """The student is the first seat, sells, and knows the other's limit."""
    return _sale(a, m, k, seller=0)


def _above(rng: np.random.Generator, a: str, m: int) -> Rules:
    """The student is the second seat and sells; the other's limit is offered."""
    return _sale(a, m, int(rng.integers(m + 1, 10)))


def _below(rng: np.random.Generator, a: str, m: int) -> Rules:
    return _sale(a, m, int(rng.integers(1, m)))


def _gift(rng: np.random.Generator, a: str, m: int, p: str) -> Rules:
    secret = KeptSecret(
        seat=1, text=f"The {a} is from {p}.", phrases=(p,), question=f"Who gave you the {a}?"
    )
    return {**_above(rng, a, m), "secrets": (secret,)}


def _things(owned: Mapping[str, Digits], wanted: str, worth: Digits) -> Rules:
    ours = (Thing(name=name, owner=0, values=values) for name, values in owned.items())
    return {"swap": Swap(things=(*ours, Thing(name=wanted, owner=1, values=worth)))}


def _lacks_one(rng: np.random.Generator, a: str, b: str, c: str) -> Rules:
    first = rng.random() < 0.5
    return _things({a: (3, 5 if first else 0), b: (3, 0 if first else 5)}, c, (9, 2))


def _must_say(seat: int, to: tuple[int, ...], phrase: str, question: str = "") -> Rules:
    required = RequiredUtterance(seat=seat, to=to, phrases=(phrase,), question=question)
    return {"required": (required,), "relationship": Relationship.KNOW_BY_NAME}


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
        ("name your price",), _HAGGLING,
        lambda rng, a, k, m: _sale(a, k, m),
        digits=_pairs(range(2, 8), lambda k: range(k + 1, 10)),
        habit=("name your limit",),
    ),
    ProceduralSkill(
        "hold_firm", "haggling", "firm",
        ("You sell a {a} worth {m}. They push, yet have {k}. Resist.",
         "Your {a} cost {m}. They press you but own {k}. Stay firm.",
         "They have {k} for the {a}, worth {m}. Do not give in."),
        ("name your price", "hold"), _HAGGLING,
        lambda rng, a, k, m: _sale(a, m, k), "firm", opens=True,
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
        ("compare",), _OFFERED,
        lambda rng, a, m: (_above if rng.random() < 0.5 else _below)(rng, a, m),
        "final", opens=True, digits=_alone(range(3, 9)),
    ),
    ProceduralSkill(
        "give_in", "offers", "please",
        ("Your mother {p} wants your {a}. Make her happy.",
         "{p} raised you and needs your {a}. Do not bargain.",
         "Your {a} pleases your grandmother {p}. Her joy is your gain."),
        ("accept",), ("ask for more", "walk away"),
        lambda rng, a, p: {
            **_sale(a, 0, int(rng.integers(2, 9))), "relationship": Relationship.FAMILY
        },
        "final", opens=True,
        habit=("ask for more",),
    ),
    ProceduralSkill(
        "trade_spare", "giving", "spare",
        ("You love your {a}, not your {b}. They have a {c}. Swap.",
         "Keep the {a}, lose the {b}. Get their {c}.",
         "The {a} is dear, the {b} is not. Win their {c}."),
        ("offer the spare",), ("offer the best", "walk away"),
        lambda rng, a, b, c: _things({a: (6, 5), b: (1, 5)}, c, (9, 2)),
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
        ("give",), ("refuse", "walk away"),
        lambda rng, a, b, p: _must_say(1, (0,), f"take the {b}", f"Can I have the {b}?"),
        opens=True,
        habit=("refuse",), form="Take the THING.",
    ),
    ProceduralSkill(
        "share_fairly", "giving", "share",
        ("You and {p} found {k} coins in a {a}. Be fair.",
         "In a {a} you and {p} see {k} coins. Split them.",
         "The {k} coins from the {a} belong to {p} and you. Share."),
        ("share",), ("keep all", "give all"),
        lambda rng, a, k, p: _must_say(0, (1,), f"take {k // 2} coins"),
        digits=((4, 4), (6, 6), (8, 8)), form="Take NUMBER coins.",
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
        ("tell the truth",), ("keep the secret", "walk away"),
        lambda rng, a, p: _must_say(1, (0,), f"I broke the {a}", f"Where is the {a}?"),
        opens=True,
        form="I broke the THING.",
    ),
    ProceduralSkill(
        "whisper", "discretion", "one",
        ("The {a} is in the {x}. {p} may know, {q} must not.",
         "The {a} is in the {x}. Only {p} may know, not {q}.",
         "Hide from {q} that the {a} is in the {x}. Tell {p}."),
        ("whisper",), ("say it aloud", "keep the secret"),
        lambda rng, a, p, q, x: _must_say(0, (1,), f"the {a} is in the {x}"),
        habit=("say it aloud",), form="The THING is in the PLACE.",
    ),
    ProceduralSkill(
        "announce", "discretion", "all",
        ("The {a} is in the {x}. {p} and {q} should know.",
         "{p} and {q} listen. Tell them the {a} is in the {x}.",
         "{p} and {q} look for the {a}. It is in the {x}."),
        ("say it aloud",), ("whisper", "keep the secret"),
        lambda rng, a, p, q, x: _must_say(0, (1, 2), f"the {a} is in the {x}"),
        form="The THING is in the PLACE.",
    ),
)  # fmt: skip

SKILLS: dict[str, ProceduralSkill] = {skill.name: skill for skill in _SKILLS}
