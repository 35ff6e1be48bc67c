from dataenvgym.runs.episodes.tables import outcome
from dataenvgym.teachers.budget import TeacherUsage
from tests.runs.episodes.echo import iteration, summary


def test_the_outcome_has_the_reason_of_an_early_end():
    assert "the budget is spent" in outcome(summary(iteration(0), ended="the budget is spent"))
    assert "ended" not in outcome(summary(iteration(0)))


def test_the_outcome_has_unasked_questions_and_unusable_answers():
    short = outcome(summary(iteration(0), teacher=TeacherUsage(requests=2, unasked=1, malformed=3)))
    assert "budget left 1 question unasked" in short
    assert "3 answers of the teacher could not be used" in short
    assert "teacher" not in outcome(summary(iteration(0), teacher=TeacherUsage(requests=2)))
