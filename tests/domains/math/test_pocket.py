import pytest

from dataenvgym.domains.math.pocket import POCKET_MATH, SKILLS, PocketMathTask, solve
from dataenvgym.records import SupervisedDatum, TextDatum
from dataenvgym.seeding import derive_rng
from dataenvgym.students.predictors.scripted import ScriptedPredictor


def test_the_gold_answers_score_one_and_a_shuffled_answer_zero():
    task = PocketMathTask(n_validation=200)
    gold = {i.instruction: i.answer for i in task.instances}
    right = ScriptedPredictor(lambda c: f"#### {gold[c[-1].content]}")
    assert task.generate_performance_report(task.evaluate(right)).score == 1.0
    wrong = ScriptedPredictor(lambda c: f"#### {gold[c[-1].content]} 99")
    assert task.generate_performance_report(task.evaluate(wrong)).score == 0.0


def test_the_overlap_key_has_the_operands_for_every_wording():
    task = PocketMathTask()
    assert task.domain.overlap_key("Add 12 to 3.") == task.domain.overlap_key("What is 3 plus 12?")
    assert task.domain.overlap_key("Add 12 to 3.") != task.domain.overlap_key("Add 1 2 3.")
    assert task.domain.overlap_key("No numbers here!") == "no numbers here"


def test_it_solves_its_own_problems_in_words_and_in_symbols():
    rng = derive_rng(0, "problems")
    for skill in SKILLS:
        for symbols in (False, True):
            for _ in range(20):
                exercise = POCKET_MATH.draw(skill, "train", rng, symbols=symbols)
                assert f"#### {solve(exercise.question)}" == exercise.output


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?", "What is 03 plus 4?", "What is 3 plus 4? And 5 plus 6?",
        "What is 1 2 3 plus 4?", "Keep the even numbers of 1 3 5.", "Swap the outer digits of 5.",
        "Find .", "desc 3 1 4", "=", "",
    ],
)  # fmt: skip
def test_it_does_not_solve_other_problems(question):
    assert solve(question) is None


def test_it_judges_records_on_its_problems_only():
    def judged(question, answer):
        return PocketMathTask().domain.judge_record(
            SupervisedDatum(instruction=question, output=answer)
        )

    assert judged("Put 3 1 2 in falling order.", "#### 3 2 1") is True
    assert judged("Put 3 1 2 in falling order.", "#### 1 2 3") is False
    assert judged("Put 3 1 2 in falling order.", "3 2 1") is True
    assert judged("Put 3 1 2 in falling order.", "First 3, then 2 1") is False
    assert judged("Arrange 3 1 2 from high to low.", "#### 1 2 3") is None
    assert PocketMathTask().domain.judge_record(TextDatum(text="asc 2 1 = #### 2 1")) is None
