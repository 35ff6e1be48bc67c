import gymnasium
import pytest

import dataenvgym  # noqa: F401 - registers the ids
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import EvaluationError, InvalidInstanceError
from dataenvgym.records import Message, TaskInstance
from dataenvgym.tasks.scoring import Verdict

ID = "dataenvgym/Math-v0"
HALF = TaskInstance(id="half", task="t", instruction="Was ist $1-\\frac12$?", answer="\\frac{1}{2}")


def answer(text, instance=HALF):
    environment = MathEnvironment()
    environment.reset(options={"instance": instance})
    _, reward, terminated, truncated, info = environment.step(text)
    assert (terminated, truncated) == (True, False)
    assert info["was_correct"] == reward
    return reward, info


@pytest.mark.parametrize(
    "text", ["#### 1/2", "So \\boxed{0.5}.", "The final answer is $\\frac12$."]
)
def test_an_equivalent_final_answer_is_right(text):
    assert answer(text)[0] == 1.0


@pytest.mark.parametrize("text", ["#### 1/3", "", "Halb, oder 1/2", "\\boxed{\\frac12"])
def test_a_wrong_or_missing_final_answer_is_wrong(text):
    assert answer(text) == (0.0, {"instance_id": "half", "was_correct": 0.0})


def test_a_check_that_runs_out_of_time_is_noted_and_a_grader_that_fails_is_a_failure(monkeypatch):
    def graded(verdict):
        monkeypatch.setattr("dataenvgym.domains.math.environment.grade_pairs", lambda _: [verdict])
        return answer("#### 9^{9^{9^{9}}}")

    reward, info = graded(Verdict(False, "not settled within 5 s", exhausted=True))
    assert (reward, info["note"]) == (0.0, "scoring: not settled within 5 s")
    with pytest.raises(EvaluationError, match="worker did not start"):
        graded(Verdict(False, "the worker did not start"))


def test_the_student_sees_the_system_prompt_and_the_template_but_never_the_gold_answer():
    environment = MathEnvironment(
        [HALF], system_prompt="Rechne.", template="{instruction}\nAntwort in \\boxed{}."
    )
    conversation, info = environment.reset()
    assert conversation == (
        Message(role="system", content="Rechne."),
        Message(role="user", content="Was ist $1-\\frac12$?\nAntwort in \\boxed{}."),
    )
    assert HALF.answer not in repr((conversation, info))


def test_an_instance_without_a_gold_answer_cannot_be_scored():
    instance = TaskInstance(id="open", task="t", instruction="Warum?")
    with pytest.raises(InvalidInstanceError, match="'open' has no gold answer"):
        MathEnvironment([instance]).reset()


def test_the_bare_id_is_the_pocket_task_and_takes_other_instances_too():
    bare = gymnasium.make(ID)
    assert bare.unwrapped.instances == PocketMathTask(split="validation").instances
    other = gymnasium.make(ID, instances=[HALF], template="Aufgabe: {instruction}")
    assert other.reset()[0][0].content == "Aufgabe: Was ist $1-\\frac12$?"
