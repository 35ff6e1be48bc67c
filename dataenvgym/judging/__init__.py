"""Judging by language models: a question, a verdict that is read strictly, or none at all.

verdicts    a verdict is a pydantic model: its JSON schema, and how a reply is read as one
questions   what a judge is asked; text under judgment is fenced off as data
asking      asking again until a verdict can be read: `judge_ask` for task environments
judge       `Judge`: one or several teachers, asked about many things at once
panel       what several judges said, as one score
agreement   how far judges agree: Krippendorff's alpha
rubric      `RubricJudge`: a score for a whole conversation, by a rubric

A judge that fails, or whose replies cannot be read, gives no score: it is `Unscored`, never 0.
"""

from dataenvgym.judging.agreement import krippendorff_alpha
from dataenvgym.judging.asking import judge_ask, panel_ask
from dataenvgym.judging.judge import Judge
from dataenvgym.judging.panel import Judged, agreement, combine
from dataenvgym.judging.questions import conversation_text, dialogue_text, fenced, question
from dataenvgym.judging.rubric import RubricJudge
from dataenvgym.judging.verdicts import Unscored, read_verdict, verdict_schema

__all__ = [
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
