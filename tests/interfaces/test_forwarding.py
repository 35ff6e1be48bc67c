"""Every wrapper of a predictor, and every optional method of predictors."""

import pytest

from dataenvgym.agents.engines.branched_tries import ReplayedPredictor
from dataenvgym.agents.engines.segment_pairs import RememberingPredictor
from dataenvgym.environments.shown_student import ShownStudent, TimedPredictor
from dataenvgym.interfaces import (
    METHODS,
    AblePredictor,
    ForwardingPredictor,
    Reply,
    SamplingParameters,
    can,
)
from dataenvgym.records import Message
from dataenvgym.tasks.examples import Examples, WithExamples

ASKED, GREEDY = (Message(role="user", content="?"),), SamplingParameters()


class Plain:
    def predict(self, conversations, sampling):
        return [Reply(text="yes") for _ in conversations]


Able = type("Able", (Plain,), {name: lambda self, *given: given for name in METHODS})
WITHHELD = {
    TimedPredictor: set(),
    ShownStudent: {"close"},
    ReplayedPredictor: {"submit"},
    RememberingPredictor: {"submit"},
    WithExamples: set(),
}
ALWAYS = {ShownStudent: {"trial", "remember_former"}}
"""Methods of their own."""


def make(wrapper, predictor):
    shots = Examples(examples=[{"instruction": "1 + 1", "answer": "2"}])
    more = {WithExamples: {"examples": shots}}
    more |= {ReplayedPredictor: {"tries": (), "seed": 0}}
    return wrapper(predictor, **more.get(wrapper, {}))


def test_the_methods_are_those_of_the_interface():
    assert set(METHODS) <= {name for name in dir(AblePredictor) if not name.startswith("_")}


def test_every_wrapper_is_here():
    found = {k for k in ForwardingPredictor.__subclasses__() if k.__module__ != __name__}
    assert found == set(WITHHELD)


@pytest.mark.parametrize("wrapper", WITHHELD)
def test_a_wrapper_has_what_its_predictor_has_and_nothing_else(wrapper):
    for predictor, there in ((Able(), set(METHODS) - WITHHELD[wrapper]), (Plain(), set())):
        wrapped = make(wrapper, predictor)
        own = ALWAYS.get(wrapper, set())
        assert {name for name in METHODS if name in vars(wrapped)} == there - own
        assert {name for name in METHODS if hasattr(wrapper, name)} == own
        assert wrapped.predict([ASKED], GREEDY) == [Reply(text="yes")]
    able = make(wrapper, Able())
    assert can(able, *set(METHODS) - WITHHELD[wrapper])


def test_another_capability_is_passed_on_where_it_is_listed_only(monkeypatch):
    import dataenvgym.interfaces as forwarding

    monkeypatch.setattr(forwarding, "METHODS", (*METHODS, "ninth"))
    student = Able()
    student.ninth = lambda: 9
    for wrapper in WITHHELD:
        assert vars(make(wrapper, student))["ninth"]() == 9


def test_a_wrapper_with_other_answers_does_not_pass_on_the_way_around_them():
    class Louder(ForwardingPredictor):
        def predict(self, conversations, sampling):
            return [Reply(text="YES")]

    class Submitting(Louder):
        def own_submit(self, conversation, sampling):
            return "submitted"

    assert not hasattr(Louder(Able()), "submit")
    assert Submitting(Able()).submit(ASKED, GREEDY) == "submitted"
    assert not hasattr(Submitting(Plain()), "submit")
