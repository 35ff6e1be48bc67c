import pytest

from dataenvgym.agents import Agent, PocketEngine, RandomPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.interfaces import DataGenerationAgentInterface, Stateful
from dataenvgym.plans import EngineFit
from dataenvgym.run_warnings import listening


def make(**options: int) -> Agent:
    options = {"records_per_iteration": 20, "seed": 1} | options
    return Agent(RandomPolicy(), PocketEngine(PocketMathTask()), name="random", **options)


def test_it_is_a_stateful_data_generation_agent():
    assert isinstance(make(), DataGenerationAgentInterface)
    assert isinstance(make(), Stateful)


def test_the_same_seed_and_iteration_write_the_same_records():
    assert make()([], None) == make()([], None)
    assert make(seed=2)([], None) != make()([], None)


def test_each_iteration_writes_other_records():
    agent = make()
    first = agent([], None)
    agent.step()
    assert agent([], None) != first


def test_a_restored_agent_continues_like_the_original():
    agent, other = make(), make()
    agent.step()
    other.load_state_dict(agent.state_dict())
    assert other([], None) == agent([], None)


def test_records_are_signed_with_agent_and_skill():
    records = make()([], None)
    assert len(records) == 20
    assert {r.provenance.agent for r in records} == {"random"}
    assert None not in {r.provenance.skill for r in records}


@pytest.mark.parametrize(
    ("needs", "expected"),
    [("counts", ["Idle wrote 2 of the 20 records that were planned"]), ("nothing", [])],
)
def test_an_engine_that_writes_fewer_records_than_planned_is_warned_of(needs, expected):
    class Idle:
        skills = ("reversed",)
        fit = EngineFit(needs=needs)

        def generate(self, plan, predictor, rng):
            return [{"instruction": f"What is {n}?", "output": "1"} for n in range(2)]

    told = []
    with listening(told.append):
        records = Agent(RandomPolicy(), Idle(), name="a", records_per_iteration=20)([], None)
    assert len(records) == 2
    assert told == expected
