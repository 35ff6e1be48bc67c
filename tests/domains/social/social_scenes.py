"""Scenes for tests: a sale, and a talk of any number of characters."""

import json
from typing import Any

from dataenvgym.domains.social.actions import read_action
from dataenvgym.domains.social.problem import SocialProblem, to_instance
from dataenvgym.domains.social.profiles import Character, Deal, Goal, Hint, Scene
from dataenvgym.domains.social.scene import Cast, SceneState
from dataenvgym.domains.social.task import make_default
from dataenvgym.students.predictors import ScriptedPredictor

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


def played(scene, *texts):
    """The scene after each text was said by the seat whose turn it is."""
    for text in texts:
        scene = scene.after({scene.acting[0]: read_action(text, scene.rules.kinds)})
    return scene


def instance(played, *, seat=0, partner="model"):
    problem = SocialProblem(
        scene=played, characters=people(played.seats), seat=seat, partner=partner
    )
    return to_instance(problem, id="one", task="social")


def says(*texts):
    """A speaker that says these in turn, and the last one from then on."""

    def answer(conversation):
        n = sum(m.role == "assistant" for m in conversation)
        return texts[min(n, len(texts) - 1)]

    return ScriptedPredictor(answer)


def judge(*replies):
    """A judge that gives these replies, and the last one from then on."""
    left = list(replies)
    return ScriptedPredictor(lambda conversation: left.pop(0) if len(left) > 1 else left[0])


def verdict(**scores):
    return json.dumps({name: {"reason": "r", "score": s} for name, s in scores.items()})


def begun(problem, **options):
    environment = make_default((), **options)
    environment.reset(seed=0, options={"instance": problem})
    return environment
