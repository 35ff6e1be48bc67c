"""Scenes for tests: a sale, and a talk of any number of characters."""

from typing import Any

from dataenvgym.domains.social.environment import make_default
from dataenvgym.domains.social.problem import SocialProblem, to_instance
from dataenvgym.domains.social.profiles import Character, Deal, Goal, Hint, Scene
from dataenvgym.domains.social.scene import Cast, SceneState

NAMES = ("Ann", "Bob", "Cat", "Dan")


def people(n=2):
    return tuple(
        Character(
            id=name.lower(),
            first_name=name,
            last_name="Lee",
            age=30,
            occupation="cook",
            personality=f"{name} is calm.",
            secret=f"{name} snores.",
        )
        for name in NAMES[:n]
    )


def scene(n=2, **options):
    goals = tuple(
        Goal(text=f"{name} wants tea.", hints=(Hint(kind="extra_info", text=f"{name}'s hint."),))
        for name in NAMES[:n]
    )
    made: dict[str, Any] = {
        "id": "talk",
        "scenario": "They meet.",
        "goals": goals,
        "relationship": "know_by_name",
    }
    return Scene(**(made | options))


def sale(least=100, most=140, **options):
    """Seat 0 sells a lamp to seat 1."""
    return scene(deal=Deal(item="lamp", seller_least=least, buyer_most=most), **options)


def cast(n=2, **options):
    return Cast(scene(n, **options), people(n))


def state(n=2, rules=None, **options):
    return SceneState.begin(cast(n, **options), rules)


def instance(played, *, seat=0, partner="model"):
    problem = SocialProblem(
        scene=played, characters=people(played.seats), seat=seat, partner=partner
    )
    return to_instance(problem, id="one", task="social")


def begun(problem, **options):
    environment = make_default((), **options)
    environment.reset(seed=0, options={"instance": problem})
    return environment
