import numpy as np
import pytest

from dataenvgym.domains.math.pocket import POCKET_MATH, SKILLS, PocketMathTask
from dataenvgym.domains.math.task import MathTask
from dataenvgym.domains.tool_use.pocket import POCKET_TOOLS, PocketToolsTask
from dataenvgym.environments.simulation.predictor import AnswerKey, skill_of, wrong_output
from dataenvgym.records import ChatDatum, Message, Provenance, SupervisedDatum, TextDatum
from dataenvgym.records.tool_formats import HERMES
from dataenvgym.tasks.scoring import answers_equal, extract_final_answer


def test_it_solves_the_tasks_own_questions_of_all_splits():
    task = PocketMathTask(n_train=40, n_validation=40, n_test=40)
    key = AnswerKey(task)
    for split in ("train", "validation", "test"):
        for instance in task.on(split).instances:
            assert key[instance.instruction] == (instance.skill, (f"#### {instance.answer}",))
    assert sorted(map(len, key.groups)) == [2] * 60  # 3 splits, 20 skills
    assert key["Who?"] is None


@pytest.mark.parametrize("skill", SKILLS.values(), ids=SKILLS)
def test_it_solves_texts_in_the_form_of_pocket_math(skill):
    key = AnswerKey(PocketMathTask(n_train=20, n_validation=20, n_test=20))
    rng = np.random.default_rng(0)
    for phrasing in skill.phrasings:
        exercise = POCKET_MATH.draw(skill.name, "train", rng, phrasing=phrasing)
        assert key[exercise.question] == (skill.name, (exercise.output,))


def test_a_solution_with_tools_has_a_message_for_each_call_and_the_answer():
    key = AnswerKey(PocketToolsTask(n_train=20, n_validation=20, n_test=20))
    rng = np.random.default_rng(0)
    exercise = POCKET_TOOLS.draw("bought", "train", rng)
    skill, (*calls, last) = key[exercise.question]
    assert (skill, last) == ("bought", "done")
    read = [HERMES.parse(text).tool_calls for text in calls]
    assert read == [m.tool_calls for m in exercise.steps if m.tool_calls]


def test_splits_that_a_task_does_not_have_are_not_missed(tmp_path):
    (tmp_path / "v.jsonl").write_text('{"question": "1+1?", "answer": "#### 2"}\n')
    assert AnswerKey(MathTask({"validation": tmp_path / "v.jsonl"}))["1+1?"] is None  # no skills


@pytest.mark.parametrize("answer", ["7", "9", "1 2 3", "4 9", "0.50", "-3", "x", "1,000"])
def test_a_wrong_output_is_wrong(answer):
    assert not answers_equal(answer, extract_final_answer(wrong_output(f"#### {answer}")))


def test_the_skill_of_a_record_is_that_of_its_provenance_or_is_recognized():
    question = "Write 3 1 4 backwards."
    recognized = SupervisedDatum(instruction=question, output="#### 4 1 3")
    assert skill_of(recognized) == "reversed"
    named = recognized.model_copy(update={"provenance": Provenance(skill="mine")})
    assert skill_of(named) == "mine"
    assert skill_of(named, known=["reversed", "sum"]) == "reversed"  # the name of a cluster
    turns = (Message(role="user", content=question), Message(role="assistant", content="4 1 3"))
    assert skill_of(ChatDatum(messages=turns)) == "reversed"
    assert skill_of(TextDatum(text=question)) is None
    assert skill_of(SupervisedDatum(instruction="Who?", output="I")) is None
