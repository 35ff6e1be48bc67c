"""Objects from `_target_`."""

import sys

import pytest

from dataenvgym.config import build_agent, build_predictor, compose
from dataenvgym.config.instantiation import build_section, build_value
from dataenvgym.errors import ConfigurationError

MODULE = """
class Student:
    def __init__(self, wit=1):
        self.wit = wit

    def predict(self, conversations, sampling): ...
    def train(self, training_data, run): ...
    def save(self, path): ...
    def load(self, path): ...
    def reset(self): ...


class Trained(Student):
    def __init__(self, trainer):
        self.trainer = trainer


class Agent:
    def __init__(self, seed):
        self.seed = seed

    def __call__(self, completed, predictor): ...
    def step(self): ...


"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "my_students.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_students", raising=False)
    return "my_students"


def custom(group: str, target: str, *more: str):
    return compose([f"{group}=custom", f"{group}._target_={target}", *more])


def test_your_own_predictor_gets_the_trainer_only_if_it_takes_one(own_module):
    student = build_predictor(custom("predictor", f"{own_module}.Student", "+predictor.wit=5"))
    assert student.wit == 5
    trained = build_predictor(custom("predictor", f"{own_module}.Trained"))
    assert trained.trainer.config.lora_rank == 16


def test_your_own_agent_gets_the_seed_of_the_run_unless_it_sets_one(own_module):
    seeds = [build_agent(custom("agent", "my_students.Agent", f"seed={s}")).seed for s in (0, 7)]
    assert seeds == [0, 7]
    assert build_agent(custom("agent", "my_students.Agent", "+agent.seed=3", "seed=7")).seed == 3


def test_given_objects_are_passed_by_parameter_name_unless_the_section_sets_them(own_module):
    student = {"_target_": f"{own_module}.Student"}
    value = {"a": [student], "b": {**student, "wit": 2}, "c": {"wit": 3}}
    made = build_value(value, "things", {"wit": 7, "speed": 1})
    assert (made["a"][0].wit, made["b"].wit, made["c"]) == (7, 2, {"wit": 3})


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("predictor.threads=-1", "predictor.threads is -1"),
        ("trainer.threads=-1", "trainer.threads"),
    ],
)
def test_a_value_that_is_another_options_is_reported_where_it_was_set(override, named):
    with pytest.raises(ConfigurationError, match=f"^{named}"):
        build_section(compose([override]), "trainer")
