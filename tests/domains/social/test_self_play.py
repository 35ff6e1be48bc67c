"""Scenes of a student with itself, its former versions, and another student."""

import numpy as np
import pytest

from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.scene import Rules
from dataenvgym.domains.social.scene_log import stuck
from dataenvgym.domains.social.task import make_default
from dataenvgym.events import hearing_warnings
from dataenvgym.students.predictors import RemembersFormer, ScriptedPredictor
from dataenvgym.tasks.options import LONG_REPLIES
from dataenvgym.tasks.rollouts import StudentSpeaker, rollout
from tests.domains.social.social_scenes import instance, sale, says
from tests.tasks.rollouts.fakes import Predictor, Reply


class Trader(RemembersFormer, Predictor):
    """Asks its price as the seller and offers it as the buyer."""

    def __init__(self, price=130):
        super().__init__(self.reply)
        self.price = price

    def reply(self, conversation):
        shown = conversation[0].content
        who = "ask" if "You are Ann" in shown else "offer"
        return f"I {who} {self.price} euros."

    def predict(self, conversations, sampling):
        return [Reply(text=text) for text in super().predict(conversations, sampling)]

    def with_adapter(self, folder):
        return Trader(90)


def played(student, partner, order):
    problems = [instance(sale(), seat=seat).model_copy(update={"id": str(seat)}) for seat in (0, 1)]
    done = rollout(
        student,
        problems,
        lambda: make_default(problems, rules=Rules(order=order, turn_limit=4)),
        sampling=LONG_REPLIES,
        others={"partner": partner},
    )
    assert [c.error for c in done] == [None, None]
    return ["\n".join(m.content for m in c.transcript) for c in done]


@pytest.mark.parametrize("order", ["round_robin", "simultaneous"])
@pytest.mark.parametrize(("adapter", "price"), [("current", 130), ("untouched", 90)])
def test_each_seat_is_the_student_in_its_own_role(order, adapter, price):
    first, second = played(Trader(), StudentSpeaker(adapter), order)
    assert "I ask 130 euros." in first
    assert f"[Bob Lee] says: I offer {price} euros." in first
    assert "I offer 130 euros." in second
    assert f"[Ann Lee] says: I ask {price} euros." in second
    assert "Bob wants tea." not in first
    assert "Ann wants tea." not in second


@pytest.mark.parametrize(
    ("message", "is_silent"),
    [("", True), ("[none]", True), ("...", True), ("Hello.", False), ("[action] waves", False)],
)
def test_a_student_that_does_not_converse_with_itself_is_counted_and_said(message, is_silent):
    judge = ScriptedPredictor(lambda c: '{"goal": {"reason": "r", "score": 5}}')
    others = {"judge": judge} | ({"partner": StudentSpeaker()} if message else {})
    partner = "model" if message else "fair"  # a partner without a text is an error of its own
    task = SocialTask("hard", partner=partner, others=others, turn_limit=8).on("validation")
    warnings: list[str] = []
    done = task.evaluate(ScriptedPredictor(lambda conversation: message))
    with hearing_warnings(warnings.append):
        task.generate_performance_report(done)
    n = len(done)
    assert [one.error for one in done] == [None] * n
    counts = (n, 0) if is_silent else (0, n)
    (warning,) = warnings
    del warnings[:]
    talks = says("Hello.", "I offer 10 euros.", "I offer 20 euros.", "[leave] Bye.")
    with hearing_warnings(warnings.append):
        task.generate_performance_report(task.evaluate(talks))
    assert warnings == []
    assert f"of {n} scenes, the student said nothing in {counts[0]}, and the same" in warning
    assert f"every time in {counts[1]}:" in warning


@pytest.mark.parametrize("seed", range(20))
def test_only_three_equal_messages_or_none_at_all_are_no_conversation(seed):
    rng = np.random.default_rng(seed)
    empty = ["", " ", "[none]", "...", "[leave]", "left the conversation"]
    words = [
        str(word) for word in rng.choice(["a", "b", "c d", "[action] x"], size=rng.integers(0, 5))
    ]
    texts = words + [str(text) for text in rng.choice(empty, size=rng.integers(0, 4))]
    rng.shuffle(texts)
    expected = "repeating" if len(words) > 2 and len({*words}) == 1 else None
    assert stuck(texts) == (expected if words else "silent")
