from pydantic import BaseModel

from tools.measure import Call, holds, hops, walked


class Datum(BaseModel):
    text: str


def test_a_mark_is_found_in_texts_containers_and_models():
    assert holds("What is 3 + 4?", "3 + 4")
    assert holds(({"batch": [Datum(text="What is 3 + 4?")]},), "3 + 4")
    assert holds({"replay": 7919}, "7919")
    assert not holds({"replay": 79190, "other": object()}, "7919")


def test_a_hop_is_a_change_of_the_module():
    calls = [Call(module, name, True) for module, name in ("af", "ag", "bf", "af")]
    assert walked(calls) == "2 modules, 3 functions"
    assert hops(calls) == ", 2 hops"
