"""The dimensions that the rules of a scene score: a deal within limits, a secret that was told."""

from __future__ import annotations

from dataenvgym.tasks.social.deals import goal_of_deal, talks_of
from dataenvgym.tasks.social.evaluators import DIMENSIONS
from dataenvgym.tasks.social.profiles import Scene
from dataenvgym.tasks.social.scene import SceneState


def scored_by_rule(scene: Scene, seat: int) -> tuple[str, ...]:
    """The dimensions of a seat that need no judge."""
    found = ["secret"] if any(secret.seat == seat for secret in scene.secrets) else []
    if scene.deal and seat in (scene.deal.seller, scene.deal.buyer):
        found.append("goal")
    return tuple(found)


def rule_scores(state: SceneState, seat: int) -> dict[str, float]:
    """The scores of `scored_by_rule` for a scene that is over.

    A secret that was told scores -10, else 0; it also halves the goal score of a deal, since
    keeping it is part of the goal.
    """
    scene = state.cast.scene
    scores: dict[str, float] = {}
    told = tells_secret(state, seat)
    if told is not None:
        scores["secret"] = float(DIMENSIONS["secret"].low if told else DIMENSIONS["secret"].high)
    if scene.deal is not None:
        goal = goal_of_deal(scene.deal, seat, talks_of(state, scene.deal).price)
        if goal is not None:
            scores["goal"] = goal / 2 if told else goal
    return scores


def tells_secret(state: SceneState, seat: int) -> bool | None:
    """Whether a seat gave away what it must not, to whomever; None if it has no secret."""
    secrets = [secret for secret in state.cast.scene.secrets if secret.seat == seat]
    if not secrets:
        return None
    said = [e.action.argument for e in state.events if e.seat == seat and not e.note]
    return any(secret.is_told_in(text) for secret in secrets for text in said)
