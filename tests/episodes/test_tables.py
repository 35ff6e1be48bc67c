from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.tables import outcome
from dataenvgym.llm.budget import TeacherUsage


def summary(ended: str | None = None, teacher: TeacherUsage | None = None) -> Summary:
    base = IterationSummary(
        iteration=0,
        val_score=0.5,
        n_val=2,
        n_errors=0,
        n_records=0,
        n_records_total=0,
        dropped={},
        seconds={},
        val_score_by_skill={},
    )
    return Summary(
        task="t",
        agent="a",
        seed=0,
        status="finished",
        iterations=(base,),
        best_iteration=0,
        ended=ended,
        teacher=teacher,
    )


def test_the_outcome_has_the_reason_of_an_early_end():
    assert "the budget is spent" in outcome(summary("the budget is spent"))
    assert "ended" not in outcome(summary())


def test_the_outcome_has_unasked_questions_and_unusable_answers():
    short = outcome(summary(teacher=TeacherUsage(requests=2, unasked=1, malformed=3)))
    assert "budget left 1 question unasked" in short
    assert "3 answers of the teacher could not be used" in short
    assert "teacher" not in outcome(summary(teacher=TeacherUsage(requests=2)))
