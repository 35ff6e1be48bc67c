"""The scores of the seats of a scene: by the scene's rules if it has some, otherwise by judges."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from dataenvgym.domains.social.evaluators import DIMENSIONS, judge_character, overall
from dataenvgym.domains.social.profiles import Scene
from dataenvgym.domains.social.rule_scores import rule_scores, scored_by_rule
from dataenvgym.domains.social.scene import SceneState
from dataenvgym.domains.social.views import dialogue, profile_text, situation_text
from dataenvgym.errors import ConfigurationError, SpeakerError, did_you_mean
from dataenvgym.interfaces import Ask
from dataenvgym.judging import dialogue_text

Scored = Literal["student", "all"]


class SeatScores(NamedTuple):
    """Scores by dimension, with `overall` if all seven are there.

    Attributes:
        by_judge: of the judged dimensions, each judge's score.
        reasoning: the judges'.
    """

    scores: dict[str, float]
    by_judge: Mapping[str, Mapping[str, float]] = {}
    reasoning: str = ""


@dataclass(frozen=True)
class Scoring:
    """The dimensions and seats to score.

    Attributes:
        dimensions: of `DIMENSIONS`, `goal` among them; a scene's rules may score others besides.
        judges: the speakers that score the dimensions that no rule scores. The result is the mean
            over the judges that gave a verdict.
        scored: "student": the student's seat; "all": every seat.

    Raises:
        ConfigurationError: for a dimension that does not exist, without `goal`, without judges,
            and for other values of `scored`.
    """

    dimensions: Sequence[str] = ("goal",)
    judges: Sequence[str] = ("judge",)
    scored: Scored = "student"

    def __post_init__(self) -> None:
        for name in self.dimensions:
            if name not in DIMENSIONS:
                raise ConfigurationError(
                    f"dimensions names {name!r}.{did_you_mean(str(name), DIMENSIONS)} There are: "
                    f"{', '.join(DIMENSIONS)}"
                )
        if "goal" not in self.dimensions:
            raise ConfigurationError(
                f"dimensions are {list(self.dimensions)}, without 'goal', which is the reward: "
                "add it"
            )
        judges = self.judges
        if isinstance(judges, str) or not judges or len({*judges}) < len(judges):
            raise ConfigurationError(
                f"judges is {judges!r}, expected names of speakers, each once, such as [judge]"
            )
        if self.scored not in get_args(Scored):
            raise ConfigurationError(
                f"scored is {self.scored!r}, expected one of {', '.join(get_args(Scored))}."
                f"{did_you_mean(str(self.scored), get_args(Scored))}"
            )

    def of_seats(
        self, state: SceneState, student: int
    ) -> Generator[Ask, str, list[SeatScores | None]]:
        """Score each seat of a scene that is over: `yield from` it in a task environment.

        A seat that is not scored has None.

        Raises:
            SpeakerError: if no judge gives a verdict, under the name of the first judge.
        """
        found: list[SeatScores | None] = []
        for seat in state.cast.seats:
            scores = None
            if self.scored == "all" or seat == student:
                scores = yield from self.of_seat(state, seat)
            found.append(scores)
        return found

    def to_judge(self, scene: Scene, seat: int) -> list[str]:
        """The dimensions of a seat that need the judges."""
        by_rule = scored_by_rule(scene, seat)
        return [name for name in self.dimensions if name not in by_rule]

    def of_seat(self, state: SceneState, seat: int) -> Generator[Ask, str, SeatScores]:
        """Score one seat, as `of_seats` does."""
        cast = state.cast
        who = cast.names[seat]
        scores, reasoning = rule_scores(state, seat), ""
        by_judge: Mapping[str, Mapping[str, float]] = {}
        if to_judge := self.to_judge(cast.scene, seat):
            judged = yield from judge_character(
                who=who,
                profile=profile_text(cast, seat),
                others="\n\n".join(profile_text(cast, s) for s in cast.seats if s != seat),
                scene=situation_text(cast.scene),
                dialogue=dialogue_text(dialogue(state)) or "(Nobody did anything.)",
                dimensions=to_judge,
                judges=self.judges,
            )
            if not judged.scores:
                judge, reason = next(iter(judged.unscored.items()))
                raise SpeakerError(f"{judge}: {reason}")
            scores |= judged.scores
            by_judge = judged.by_judge
            reasoning = "\n".join(
                f"{who}, {name} ({judge}): {reason}"
                for name, reasons in judged.reasons.items()
                for judge, reason in reasons.items()
            )
        scores = {name: scores[name] for name in DIMENSIONS if name in scores}
        if (mean := overall(scores)) is not None:
            scores["overall"] = mean
        return SeatScores(scores, by_judge, reasoning)
