"""Scenes for tests: a sale, and a talk of any number of characters."""

from typing import Any

from dataenvgym.domains.social.environment import SocialEnvironment
from dataenvgym.domains.social.problem import SocialProblem, to_instance
from dataenvgym.domains.social.profiles import Character, Deal, Goal, Hint, Scene
from dataenvgym.domains.social.scene import Cast, Rules, SceneState
from dataenvgym.records import TaskInstance

NAMES = ("Ann", "Bob", "Cat", "Dan")


def people(n: int = 2) -> tuple[Character, ...]:
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


def scene(n: int = 2, **options: Any) -> Scene:
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


def sale(least: float = 100, most: float = 140, **options: Any) -> Scene:
    """Seat 0 sells a lamp to seat 1."""
    return scene(deal=Deal(item="lamp", seller_least=least, buyer_most=most), **options)


def cast(n: int = 2, **options: Any) -> Cast:
    return Cast(scene(n, **options), people(n))


def state(n: int = 2, rules: Rules | None = None, **options: Any) -> SceneState:
    return SceneState.begin(cast(n, **options), rules)


def instance(played: Scene, *, seat: int = 0, partner: str = "model") -> TaskInstance:
    problem = SocialProblem(
        scene=played, characters=people(played.seats), seat=seat, partner=partner
    )
    return to_instance(problem, id="one", task="social")


def begun(problem: TaskInstance, **options: Any) -> SocialEnvironment:
    environment = SocialEnvironment(**options)
    environment.reset(seed=0, options={"instance": problem})
    return environment
