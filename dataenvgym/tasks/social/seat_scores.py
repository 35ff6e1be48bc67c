"""How a seat did in a scene: by the scene's rules where it has some, else by judges."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask
from dataenvgym.judging import dialogue_text
from dataenvgym.tasks.social.evaluators import DIMENSIONS, judge_character, overall
from dataenvgym.tasks.social.rule_scores import rule_scores, scored_by_rule
from dataenvgym.tasks.social.scene import SceneState
from dataenvgym.tasks.social.views import dialogue, profile_text


class ScoredSeat(NamedTuple):
    """Scores by dimension, with `overall` if all seven are there; and the judges' reasons."""

    scores: dict[str, float]
    reasoning: str = ""


def score_seat(
    state: SceneState, seat: int, dimensions: Sequence[str], judges: Sequence[str] = ("judge",)
) -> Generator[Ask, str, ScoredSeat]:
    """Score a seat: `yield from` it in a task environment.

    Args:
        dimensions: those that are scored; the scene's rules may score others besides.
        judges: the speakers that score what no rule scores. The mean of those that gave a verdict
            counts.

    Raises:
        SpeakerError: if no judge gives a verdict, under the name of the first.
    """
    cast = state.cast
    by_rule = scored_by_rule(cast.scene, seat)
    scores, reasoning = rule_scores(state, seat), ""
    if to_judge := [name for name in dimensions if name not in by_rule]:
        judged = yield from judge_character(
            who=cast.characters[seat].name,
            profile=profile_text(cast, seat),
            scene=cast.scene.scenario,
            dialogue=dialogue_text(dialogue(state)) or "(Nobody did anything.)",
            dimensions=to_judge,
            judges=judges,
        )
        if not judged.scores:
            who, reason = next(iter(judged.unscored.items()))
            raise SpeakerError(f"{who}: {reason}")
        scores |= judged.scores
        reasoning = "\n".join(
            f"{cast.characters[seat].name}, {name} ({judge}): {reason}"
            for name, reasons in judged.reasons.items()
            for judge, reason in reasons.items()
        )
    scores = {name: scores[name] for name in DIMENSIONS if name in scores}
    mean = overall(scores)
    return ScoredSeat(scores if mean is None else scores | {"overall": mean}, reasoning)
