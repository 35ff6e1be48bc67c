"""Scores by the rules of a scene: deals, trades, required utterances and secrets."""

from __future__ import annotations

from statistics import fmean

from dataenvgym.tasks.social.deals import goal_of_deal, talks_of
from dataenvgym.tasks.social.evaluators import DIMENSIONS
from dataenvgym.tasks.social.profiles import RequiredUtterance, Scene
from dataenvgym.tasks.social.scene import SceneState
from dataenvgym.tasks.social.swaps import goal_of_swap, trades_of


def scored_by_rule(scene: Scene, seat: int) -> tuple[str, ...]:
    """The dimensions of a seat that rules score, without a judge."""
    found = ["secret"] if any(secret.seat == seat for secret in scene.secrets) else []
    has_goal = (
        (scene.deal is not None and seat in (scene.deal.seller, scene.deal.buyer))
        or (scene.swap is not None and any(thing.owner == seat for thing in scene.swap.things))
        or any(required.seat == seat for required in scene.required)
    )
    return (*found, "goal") if has_goal else tuple(found)


def rule_scores(state: SceneState, seat: int) -> dict[str, float]:
    """The scores of `scored_by_rule` for a scene that is over.

    The goal score is the mean over the seat's deal, its swap and its required utterances. A secret
    given away scores -10, a kept one 0; giving it away also halves the goal score, since keeping it
    is part of the goal.
    """
    scores: dict[str, float] = {}
    told = tells_secret(state, seat)
    if told is not None:
        scores["secret"] = float(DIMENSIONS["secret"].low if told else DIMENSIONS["secret"].high)
    if goals := _goals(state, seat):
        scores["goal"] = fmean(goals) / 2 if told else fmean(goals)
    return scores


def _goals(state: SceneState, seat: int) -> list[float]:
    scene = state.cast.scene
    goals: list[float | None] = []
    if scene.deal is not None:
        goals.append(goal_of_deal(scene.deal, seat, talks_of(state, scene.deal).price))
    if scene.swap is not None:
        goals.append(goal_of_swap(scene.swap, seat, trades_of(state, scene.swap).agreed))
    highest = float(DIMENSIONS["goal"].high)
    for required in scene.required:
        if required.seat == seat:
            goals.append(highest if is_said(state, required) else 0.0)
    return [goal for goal in goals if goal is not None]


def is_said(state: SceneState, required: RequiredUtterance) -> bool:
    """Whether a seat said the required words, and no other seat heard or saw them."""
    told = [
        event
        for event in state.events
        if event.seat == required.seat
        and not event.note
        and required.is_said_in(event.action.argument)
    ]
    others = {*state.cast.seats} - {required.seat}
    heard_by = [{seat for seat in others if event.reaches(seat)} for event in told]
    is_in_words = any(event.is_said for event in told)
    return is_in_words and all(seats == {*required.to} for seats in heard_by)


def tells_secret(state: SceneState, seat: int) -> bool | None:
    """Whether a seat gave away its secret to any seat; None if it has no secret."""
    secrets = [secret for secret in state.cast.scene.secrets if secret.seat == seat]
    if not secrets:
        return None
    said = [e.action.argument for e in state.events if e.seat == seat and not e.note]
    return any(secret.is_told_in(text) for secret in secrets for text in said)
