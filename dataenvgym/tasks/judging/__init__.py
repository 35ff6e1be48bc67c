"""Judging by language models: a question, and a strictly parsed verdict or none at all.

verdicts      a verdict is a pydantic model: its JSON schema, and parsing replies
questions     the questions to a judge; text under judgment is fenced off as data
verdict_asks  asks again until a verdict can be parsed: `judge_ask` for task environments
judge         `Judge`: one or several teachers, asked many questions at once
panel         the verdicts of several judges as one score; how much judges agree
rubric        `RubricJudge`: a score for a whole conversation, by a rubric

A judge that fails, or whose replies cannot be parsed, gives no score: `Unscored`, never 0.
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.tasks.judging.judge import Judge
    from dataenvgym.tasks.judging.panel import Judged, agreement, combine, krippendorff_alpha
    from dataenvgym.tasks.judging.questions import (
        conversation_text,
        dialogue_text,
        fenced,
        question,
    )
    from dataenvgym.tasks.judging.rubric import RubricJudge
    from dataenvgym.tasks.judging.verdict_asks import judge_ask, panel_ask
    from dataenvgym.tasks.judging.verdicts import (
        AnswerVerdict,
        Unscored,
        read_verdict,
        verdict_schema,
    )
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "AnswerVerdict",
    "Judge",
    "Judged",
    "RubricJudge",
    "Unscored",
    "agreement",
    "combine",
    "conversation_text",
    "dialogue_text",
    "fenced",
    "judge_ask",
    "krippendorff_alpha",
    "panel_ask",
    "question",
    "read_verdict",
    "verdict_schema",
]
