"""The scores of a seat once its scene is over: by rule where there is one, else by a judge."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask
from dataenvgym.judging import dialogue_text
from dataenvgym.tasks.social.evaluators import DIMENSIONS, judge_character, overall
from dataenvgym.tasks.social.profiles import Scene
from dataenvgym.tasks.social.rule_scores import rule_scores, scored_by_rule
from dataenvgym.tasks.social.scene import SceneState
from dataenvgym.tasks.social.views import dialogue, profile_text


def to_judge(scene: Scene, seat: int, dimensions: Sequence[str]) -> list[str]:
    """Those of the dimensions that need the speaker "judge" for this seat."""
    by_rule = scored_by_rule(scene, seat)
    return [name for name in dimensions if name not in by_rule]


def seat_scores(
    state: SceneState, seat: int, dimensions: Sequence[str]
) -> Generator[Ask, str, dict[str, float]]:
    """The dimensions of a seat, and `overall`, their mean, if all seven are scored.

    Raises:
        SpeakerError: if the judge gives no verdict.
    """
    cast = state.cast
    scores = rule_scores(state, seat)
    if judged_names := to_judge(cast.scene, seat, dimensions):
        judged = yield from judge_character(
            who=cast.characters[seat].name,
            profile=profile_text(cast, seat),
            scene=cast.scene.scenario,
            dialogue=dialogue_text(dialogue(state)) or "(Nobody did anything.)",
            dimensions=judged_names,
        )
        for who, reason in judged.unscored.items():
            raise SpeakerError(f"{who}: {reason}")
        scores |= judged.scores
    scores = {name: scores[name] for name in DIMENSIONS if name in scores}
    mean = overall(scores)
    return scores if mean is None else scores | {"overall": mean}
