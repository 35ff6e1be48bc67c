"""`RubricJudge`: a score for a whole conversation, by a rubric and one or several teachers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt, create_model

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters, TeacherInterface
from dataenvgym.options import PlainText
from dataenvgym.records import CompletedTaskInstance, Conversation, Model
from dataenvgym.records.model import Finite, Text
from dataenvgym.tasks.judging.judge import Judge
from dataenvgym.tasks.judging.panel import Aggregation, Judged, Level, agreement
from dataenvgym.tasks.judging.questions import MOST_CHARACTERS, conversation_text, question
from dataenvgym.tasks.rollouts import describe_speakers
from dataenvgym.teachers.prompts import Prompt, as_prompt

RUBRIC = (
    "Does the assistant do what was asked of it? Its result is right and complete, and it follows "
    "every instruction that it was given."
)
_VALUES = ("rubric", "low", "high")


class RubricVerdict(Model):
    """A judge's reasons, and then its score."""

    reason: Text
    score: Finite


class RubricJudge(Judge[RubricVerdict]):
    """Scores conversations; several judges are combined, and a judge that fails gives no score.

    Args:
        teachers: the judges by name.
        prompt: for the judges, with `{conversation}`; it may have `{answer}`, `{rubric}`,
            `{low}` and `{high}`.
        rubric: the criteria of the verdict.
        rubric_file: a text file with the rubric, used instead of `rubric`.
        scale: lowest and highest score; a score outside is refused.
        aggregation: "mean" or "majority" of the judges (see `combine`).
        min_judges: with fewer verdicts, a conversation has no score.
        level: of Krippendorff's alpha: "nominal", "ordinal" or "interval".
        retries: how often a judge is asked again after a reply that cannot be parsed.
        temperature, max_tokens, seed: how the judges answer.
        max_characters: of a conversation; more is cut out of the middle of its longest messages.

    Raises:
        ConfigurationError: for an invalid option.
    """

    def __init__(
        self,
        teachers: Mapping[str, TeacherInterface],
        *,
        prompt: Prompt | Mapping[str, Any] | str = "judge",
        rubric: PlainText[str] = RUBRIC,
        rubric_file: str | Path | None = None,
        scale: tuple[FiniteFloat, FiniteFloat] = (0.0, 10.0),
        aggregation: Aggregation = "mean",
        min_judges: PositiveInt = 1,
        level: Level = "interval",
        retries: NonNegativeInt = 2,
        temperature: float = 0.0,
        max_tokens: int = 1024,
        seed: int = 0,
        max_characters: PositiveInt = MOST_CHARACTERS,
    ) -> None:
        self.low, self.high = map(float, scale)
        if not self.low < self.high or min_judges > len(teachers):  # all would be unscored
            raise ConfigurationError(
                f"scale is {scale} and min_judges is {min_judges}, expected the lowest and the "
                f"highest score, such as [0, 10], and at most {len(teachers)}, the judges"
            )
        self._prompt = as_prompt(prompt, needs=("conversation",), may=("answer", *_VALUES))
        if rubric_file is not None:
            try:
                rubric = Path(rubric_file).expanduser().read_text(encoding="utf-8").strip()
                if not rubric:
                    raise ValueError("it is empty")
            except (OSError, ValueError) as error:
                raise ConfigurationError(f"rubric_file {rubric_file}: {error}") from error
        self._rubric = rubric
        self.aggregation = aggregation
        self.min_judges = min_judges
        self.level = level
        self._max_characters = max_characters
        kind = create_model(
            "RubricVerdict",
            __base__=RubricVerdict,
            score=(float, Field(ge=self.low, le=self.high, allow_inf_nan=False)),
        )
        sampling = SamplingParameters(temperature=temperature, max_tokens=max_tokens, seed=seed)
        super().__init__(teachers, kind, retries=retries, sampling=sampling)

    def describe(self) -> dict[str, Any]:
        return {
            "judges": describe_speakers(self.teachers),
            "prompt": self._prompt.model_dump(mode="json"),
            "rubric": self._rubric,
            "scale": [self.low, self.high],
            "sampling": self._sampling.model_dump(mode="json"),
            "max_characters": self._max_characters,
        }

    def question(self, completed: CompletedTaskInstance, *, attempt: int = 0) -> Conversation:
        """The question to the judges about a conversation.

        Args:
            attempt: how often they were asked before without success.
        """
        shown = conversation_text(completed.transcript, most=self._max_characters)
        return question(
            self._prompt,
            self.verdict,
            data={"conversation": shown, "answer": completed.instance.answer},
            values={"rubric": self._rubric, "low": f"{self.low:g}", "high": f"{self.high:g}"},
            attempt=attempt,
        )

    def score(self, judged: Judged[RubricVerdict]) -> float | None:
        """The judges' scores as one; None if too few gave one, or if they have no majority."""
        return judged.score("score", self.aggregation, min_judges=self.min_judges)

    def agreement(self, judged: Sequence[Judged[RubricVerdict]]) -> float | None:
        """Krippendorff's alpha; None with one judge, or if it is undefined."""
        return agreement(judged, "score", self.level)

    @property
    def judges(self) -> Set[str]:
        """The names of the judges."""
        return self.teachers.keys()
