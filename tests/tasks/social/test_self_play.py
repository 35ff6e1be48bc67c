"""Scenes of a student with itself, its former versions, and another student."""

from __future__ import annotations

import pytest

from dataenvgym.predictors import RemembersFormer
from dataenvgym.rollouts import StudentSpeaker, rollout
from dataenvgym.tasks.base import LONG_REPLIES
from dataenvgym.tasks.social.environment import SocialEnvironment
from dataenvgym.tasks.social.strategies import Strategies
from dataenvgym.tasks.social.turns import Rules

from ...rollouts.fakes import Predictor, Reply
from .social_scenes import instance, sale


class Trader(RemembersFormer, Predictor):
    """Asks its price as the seller and offers it as the buyer; advises if it is a strategist."""

    def __init__(self, price=130):
        super().__init__(self.reply)
        self.price = price

    def reply(self, conversation):
        shown = conversation[0].content
        if "Strategy:" in shown and "(Strategy:" not in shown:
            return f"Strategy: {self.price}."
        if "(Strategy: 130.)" in conversation[-1].content:
            return "I ask 139 euros."
        who = "ask" if "You are Ann" in shown else "offer"
        return f"I {who} {self.price} euros."

    def predict(self, conversations, sampling):
        return [Reply(text=text) for text in super().predict(conversations, sampling)]

    def with_adapter(self, folder):
        return Trader(90)


def played(student, partner, *, seats=(0, 1), order="round_robin", who="partner", **options):
    problems = [
        instance(sale(), seat=seat, partner="model" if who == "partner" else "fair").model_copy(
            update={"id": str(seat)}
        )
        for seat in seats
    ]
    done = rollout(
        student,
        problems,
        lambda: SocialEnvironment(problems, rules=Rules(order, turn_limit=4), **options),
        sampling=LONG_REPLIES,
        others={who: partner},
    )
    assert [c.error for c in done] == [None] * len(seats)
    return ["\n".join(m.content for m in c.transcript) for c in done]


@pytest.mark.parametrize("order", ["round_robin", "simultaneous"])
@pytest.mark.parametrize(("adapter", "price"), [("current", 130), ("untouched", 90)])
def test_each_seat_is_the_student_in_its_own_role(order, adapter, price):
    first, second = played(Trader(), StudentSpeaker(adapter), order=order)
    assert "I ask 130 euros." in first
    assert f"[Bob Lee] says: I offer {price} euros." in first
    assert "I offer 130 euros." in second
    assert f"[Ann Lee] says: I ask {price} euros." in second
    assert "Bob wants tea." not in first
    assert "Ann wants tea." not in second


def test_two_students_play_with_each_other():
    first, second = played(Trader(), Trader(111))
    assert "[Bob Lee] says: I offer 111 euros." in first
    assert "[Ann Lee] says: I ask 111 euros." in second


def test_partners_of_many_scenes_are_asked_of_the_student_in_one_batch():
    student = Trader()
    problems = [instance(sale()).model_copy(update={"id": str(n)}) for n in range(12)]
    rollout(
        student,
        problems,
        lambda: SocialEnvironment(problems, rules=Rules(turn_limit=4)),
        sampling=LONG_REPLIES,
        others={"partner": StudentSpeaker()},
    )
    assert [len(chunk) for chunk in student.chunks] == [12] * 4


def test_a_strategist_may_advise_its_own_untouched_self():
    (shown,) = played(
        Trader(),
        StudentSpeaker("untouched"),
        seats=(0,),
        who="speaker",
        strategies=Strategies("strategist"),
    )
    assert "I ask 139 euros." in shown
