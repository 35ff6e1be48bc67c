"""The scores of the seats of a scene: by its rules if it has some, otherwise by judges.

Rules score deals and trades that the seats made by explicit acts (see `bargaining`), required
utterances, and secrets. Phrases are found as a whole message, or in spite of attempts to disguise
them.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import MinLen

from dataenvgym.domains.social.actions import ActionKind
from dataenvgym.domains.social.bargaining import Trade
from dataenvgym.domains.social.evaluators import (
    DIMENSIONS,
    DimensionName,
    Given,
    dimensions_verdict,
    overall,
)
from dataenvgym.domains.social.profiles import Deal, RequiredUtterance, Scene, Swap
from dataenvgym.domains.social.prompts import dialogue, profile_text, situation_text
from dataenvgym.domains.social.scene import SceneState, bargains_of
from dataenvgym.domains.social.sotopia_judge import SotopiaJudge
from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask, Reply, SamplingParameters
from dataenvgym.tasks.judging import Judged, dialogue_text, panel_ask, question
from dataenvgym.tasks.words import plain

_EMPHASIS = dict.fromkeys(map(ord, "*_`~"))
_TAG = re.compile(r"</?\w[^<>]*>|<!--(?:(?!<!--|-->).)*+-->", re.DOTALL)
_ENTITY = re.compile(r"&#?\w{1,32};?")
_GAP = re.compile(r"[\W_]+")
_JOINT = "\u00b7"
_SPELLED = re.compile(r"(?<=(?<!\w)\w) (?=\w(?!\w))")


def is_whole(text: str, phrases: Iterable[str]) -> bool:
    """True if the text is one of the phrases, and nothing else.

    Case, spacing, full width, emphasis around it (`**`) and a final period or exclamation mark make
    no difference.
    """
    return any(_message(text) == _message(phrase) for phrase in phrases)


def mentions(texts: Iterable[str], phrases: Iterable[str]) -> bool:
    """True if the texts, one after the other, have one of the phrases as whole words.

    A phrase may be continued in the next text. Case, accents, full width and letters that look like
    others make no difference, nor does anything between two letters that is not a space: markup,
    invisible characters, hyphens; nor spaces between single letters. Between two words, anything
    that is not a letter or digit may stand, or nothing at all (but 1 2 is not 12).
    """
    said = [_ENTITY.sub(lambda entity: html.unescape(entity[0]), text) for text in texts]
    forms = (map(_words, said), (_words(_TAG.sub(_JOINT, text)) for text in said))
    shown = [_SPELLED.sub(_JOINT, _JOINT.join(filter(None, words))) for words in forms]
    patterns = [re.compile(_pattern(phrase)) for phrase in phrases]
    return any(pattern.search(words) for pattern in patterns for words in shown)


def _message(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_EMPHASIS)
    return " ".join(plain.split()).rstrip(".! ")


def _words(text: str) -> str:
    """The letters and digits, with a space or, for a gap without one, a joint between them."""
    shown = plain(text).casefold()
    parts = _GAP.sub(lambda gap: " " if any(map(str.isspace, gap[0])) else _JOINT, shown)
    return parts.strip(f" {_JOINT}")


def _pattern(phrase: str) -> str:
    words = re.split(rf"[ {_JOINT}]", _words(phrase))
    spelled = (f"{_JOINT}?".join(map(re.escape, word)) for word in words)
    gap = rf"(?:[ {_JOINT}]|(?<!\d)|(?<=\d)(?!\d))"
    return rf"(?<!\w)(?:{gap.join(spelled)})(?!\w)"


Scored = Literal["student", "all"]
_HIGHEST = float(DIMENSIONS["goal"].high)


class SeatScores(NamedTuple):
    """Scores by dimension, with `overall` if all seven are there.

    Attributes:
        by_judge: of the judged dimensions, each judge's score.
        reasoning: the judges'.
    """

    scores: dict[str, float]
    by_judge: Mapping[str, Mapping[str, float]] = {}
    reasoning: str = ""


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """The dimensions and seats to score.

    Attributes:
        dimensions: the dimensions to score, of `evaluators.DIMENSIONS`; `goal`, the reward, is
            always scored. If all are, `overall` is their mean.
        judges: the speakers that score the dimensions that the scene's rules do not; the mean of
            several counts.
        scored: "student": the student's seat; "all": every seat, for the record.
        judge_prompt: "sotopia" (the installed package) or the folder of a clone of Sotopia: each
            judge is asked once about all seats, with Sotopia's question and ranges. None asks about
            each seat (prompt `social_dimensions`).
    """

    dimensions: Sequence[DimensionName] = ("goal",)
    judges: Annotated[Sequence[str], MinLen(1)] = ("judge",)
    scored: Scored = "student"
    judge_prompt: str | Path | None = None

    def __post_init__(self) -> None:
        if self.judge_prompt is not None:
            _sotopia_judge(self.judge_prompt)  # raises here if it cannot be read

    def to_judge(self, scene: Scene, seat: int) -> list[str]:
        """The dimensions of a seat that need the judges."""
        by_rule = scored_by_rule(scene, seat)
        wanted = {*self.dimensions, "goal"}.difference(by_rule)
        return [name for name in DIMENSIONS if name in wanted]

    def of_seats(
        self, state: SceneState, seats: Iterable[int]
    ) -> Generator[Ask, Reply, list[SeatScores | None]]:
        """Score these seats of a scene that is over: `yield from` it in a task environment.

        Returns:
            an entry for each seat of the scene, None for those that are not scored.

        Raises:
            SpeakerError: if no judge gives a verdict, under the name of the first judge.
        """
        cast, asked = state.cast, set(seats)
        to_judge = {s: self.to_judge(cast.scene, s) for s in cast.seats if s in asked}
        whole: Judged[Any] | None = None
        if self.judge_prompt is not None and any(to_judge.values()):
            judge = _sotopia_judge(self.judge_prompt)
            schema = judge.schema(len(cast.seats))
            whole = yield from panel_ask(
                judge.question(state),
                judge.verdict,
                who=self.judges,
                sampling=SamplingParameters(max_tokens=4096, json_schema=schema),
                constrained=False,  # by the schema of the sampling instead
            )
        found: list[SeatScores | None] = [None for _ in cast.seats]
        for seat, names in to_judge.items():
            who = cast.names[seat]
            given: Given = {}
            unscored: Mapping[str, str] = {}
            if names and whole is not None:
                all_given = {name: judge.scores(v, seat) for name, v in whole.verdicts.items()}
                given = {name: scores for name, scores in all_given.items() if scores is not None}
                unscored = whole.unscored or dict.fromkeys(all_given, f"no scores for {who}")
            elif names:
                given, unscored = yield from self._judged(state, seat, names)
            if names and not given:
                name, reason = next(iter(unscored.items()))
                raise SpeakerError(f"{name}: {reason}")
            means = {n: fmean(scores[n][0] for scores in given.values()) for n in names}
            scored = rule_scores(state, seat) | means
            ordered = {name: scored[name] for name in DIMENSIONS if name in scored}
            if (mean := overall(ordered)) is not None:
                ordered["overall"] = mean
            by_judge = {n: {j: s[n][0] for j, s in given.items()} for n in names}
            reasons = [f"{who}, {n} ({j}): {s[n][1]}" for n in names for j, s in given.items()]
            found[seat] = SeatScores(ordered, by_judge, "\n".join(reasons))
        return found

    def _judged(
        self, state: SceneState, seat: int, names: Sequence[str]
    ) -> Generator[Ask, Reply, tuple[Given, Mapping[str, str]]]:
        """The judges' scores of a seat, and why some judges gave no verdict."""
        cast, verdict = state.cast, dimensions_verdict(tuple(names))
        texts = {
            "profile": profile_text(cast, seat),
            "others": "\n\n".join(profile_text(cast, s) for s in cast.seats if s != seat),
            "scene": situation_text(cast.scene),
            "dialogue": dialogue_text(dialogue(state)) or "(Nobody did anything.)",
        }
        of = [(name, DIMENSIONS[name]) for name in names]
        asks = "\n".join(f"- {name} ({d.low} to {d.high}): {d.asks}" for name, d in of)
        values = {"who": cast.names[seat], "dimensions": asks}
        asked = question("social_dimensions", verdict, data=texts, values=values)
        judged = yield from panel_ask(asked, verdict, who=self.judges)
        given = {
            judge: {n: (float((one := getattr(found, n)).score), one.reason) for n in names}
            for judge, found in judged.verdicts.items()
        }
        return given, judged.unscored

    def of_seat(self, state: SceneState, seat: int) -> Generator[Ask, Reply, SeatScores]:
        """Score one seat, as `of_seats` does."""
        of_seat = (yield from self.of_seats(state, [seat]))[seat]
        assert of_seat is not None
        return of_seat


_sotopia_judge = cache(SotopiaJudge)


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

    The goal score is the mean over the seat's deal, its swap and its required utterances. A seat
    that did not leave, and offered and accepted nothing, earns 0 for no deal or trade. A secret
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
    ours = [e.action for e in state.events if e.seat == seat and not e.note]
    acts = (state.acts.read(action, seat) for action in ours)
    leaves = any(action.kind is ActionKind.LEAVE for action in ours)
    if not leaves and all(act in (None, "withdraw") for act in acts):
        goals = [goal and 0.0 for goal in goals]  # None stays None
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
    return {*heard} == {*required.to} and not _noticed(
        state, required.seat, others, required.phrases
    )


def tells_secret(state: SceneState, seat: int) -> bool | None:
    """Whether a seat gave away its secret to any seat; None if it has no secret."""
    phrases = [
        p for secret in state.cast.scene.secrets if secret.seat == seat for p in secret.phrases
    ]
    return _noticed(state, seat, {*state.cast.seats} - {seat}, phrases) if phrases else None


def _noticed(state: SceneState, seat: int, others: Iterable[int], phrases: Sequence[str]) -> bool:
    """Whether another seat noticed one of the phrases in a seat's words and actions."""
    acted = [event for event in state.events if event.seat == seat and not event.note]
    return any(
        mentions([event.action.argument for event in acted if event.reaches(other)], phrases)
        for other in others
    )
