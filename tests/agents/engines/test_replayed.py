"""A student that says again what it said before."""

from dataenvgym.agents.engines.branched_tries import ReplayedPredictor
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.predictors import ScriptedPredictor

from .lamps import Lamps


def test_a_try_is_replayed_to_a_turn_and_continues_with_other_replies():
    task = Lamps()
    (done,) = task.attempt(
        ScriptedPredictor(lambda c: "Strategy: wait" if len(c) < 4 else "Strategy: walk"),
        task.on("train").instances[:1],
    )
    seeds = []

    class Student:
        def predict(self, conversations, sampling):
            seeds.append(sampling.seed)
            answers = ScriptedPredictor(lambda c: "Strategy: accept")
            return answers.predict(conversations, sampling)

    student = ReplayedPredictor(Student(), [(done, 3)], seed=7)
    (again,) = task.attempt(
        student, [done.instance], sampling=SamplingParameters(temperature=1.0, seed=3)
    )
    assert again.transcript[:3] == done.transcript[:3]
    assert again.transcript[3].content == "Strategy: accept"
    assert again.reward == 0.875
    assert seeds == [7]
