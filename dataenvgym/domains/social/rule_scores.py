"""Scores by the rules of a scene: deals and trades, required utterances, secrets.

Deals and trades are those that the seats made by explicit acts (see `acts`).
"""

from __future__ import annotations

from statistics import fmean

from dataenvgym.domains.social.acts import Trade
from dataenvgym.domains.social.bargains import bargains_of
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.phrases import is_whole, mentions
from dataenvgym.domains.social.profiles import Deal, RequiredUtterance, Scene, Swap
from dataenvgym.domains.social.scene import SceneState

_HIGHEST = float(DIMENSIONS["goal"].high)


def scored_by_rule(scene: Scene, seat: int) -> tuple[str, ...]:
    """The dimensions of a seat that rules score, without a judge."""
    found = ["secret"] if any(secret.seat == seat for secret in scene.secrets) else []
    has_goal = (
        (scene.deal is not None and seat in scene.deal.parties)
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
    scene, bargains = state.cast.scene, bargains_of(state)
    goals: list[float | None] = []
    if scene.deal is not None:
        goals.append(goal_of_deal(scene.deal, seat, bargains.price))
    if scene.swap is not None:
        goals.append(goal_of_swap(scene.swap, seat, bargains.trade))
    for required in scene.required:
        if required.seat == seat:
            goals.append(_HIGHEST if is_said(state, required) else 0.0)
    if reached := [goal for goal in goals if goal is not None]:
        scores["goal"] = fmean(reached) / 2 if told else fmean(reached)
    return scores


def goal_of_deal(deal: Deal, seat: int, price: float | None) -> float | None:
    """The goal score (0..10) of a seat for a price; None if it neither sells nor buys.

    A price beyond the seat's own limit earns 0, its own limit 5, the other's limit 10; prices
    between the limits earn points in proportion. If a deal could have served both, no deal earns
    0. Otherwise no deal earns 10, and so does a price within the seat's own limit.
    """
    if seat not in deal.parties:
        return None
    if price is None:
        return 0.0 if deal.is_possible else _HIGHEST
    gained = price - deal.seller_least if seat == deal.seller else deal.buyer_most - price
    if gained < 0:
        return 0.0
    span = deal.buyer_most - deal.seller_least
    return _HIGHEST if span <= 0 else _HIGHEST * (0.5 + 0.5 * min(gained / span, 1.0))


def goal_of_swap(swap: Swap, seat: int, trade: Trade | None) -> float | None:
    """The goal score (0..10) of a seat for a trade; None if it owns nothing.

    The best trade in which the partner loses nothing earns 10, others earn in proportion to the
    seat's gain, and a loss earns 0. If there is no such trade, making none earns 10.
    """
    ours = [thing for thing in swap.things if thing.owner == seat]
    if not ours:
        return None
    theirs = [thing for thing in swap.things if thing.owner != seat]
    possible = [Trade(given, taken) for given in ours for taken in theirs]
    best = max((t.gain(seat) for t in possible if t.gain(t.taken.owner) >= 0), default=0.0)
    if best <= 0:
        return _HIGHEST if trade is None else 0.0
    gained = 0.0 if trade is None else trade.gain(seat)
    return _HIGHEST * min(max(gained / best, 0.0), 1.0)


def is_said(state: SceneState, required: RequiredUtterance) -> bool:
    """Whether a seat said the required message to all its hearers.

    No other seat may notice any of the phrases, in words or actions.
    """
    heard = [
        hearer
        for hearer in required.to
        for event in state.events
        if event.seat == required.seat and event.is_said and event.reaches(hearer)
        if is_whole(event.action.argument, required.phrases)
    ]
    others = {*state.cast.seats} - {required.seat, *required.to}
    return {*heard} == {*required.to} and not any(
        mentions(_noticed(state, required.seat, other), required.phrases) for other in others
    )


def tells_secret(state: SceneState, seat: int) -> bool | None:
    """Whether a seat gave away its secret to any seat; None if it has no secret."""
    phrases = [
        p for secret in state.cast.scene.secrets if secret.seat == seat for p in secret.phrases
    ]
    if not phrases:
        return None
    return any(
        mentions(_noticed(state, seat, other), phrases)
        for other in state.cast.seats
        if other != seat
    )


def _noticed(state: SceneState, seat: int, other: int) -> list[str]:
    """What another seat noticed of a seat's words and actions, in order."""
    acted = (event for event in state.events if event.seat == seat and not event.note)
    return [event.action.argument for event in acted if event.reaches(other)]
