"""Agents of a policy and an engine, for records and for a forest of skills."""

import json

import pytest

from dataenvgym.agents import (
    Agent,
    OpenEndedPolicy,
    PocketEngine,
    PreferenceEngine,
    RandomPolicy,
    RandomTreePolicy,
    TreeAgent,
)
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillTree
from dataenvgym.environments.skill_tree import Explore, Forest, Tree
from dataenvgym.errors import InvalidActionError, InvalidRecordError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import ActingAgentInterface, DataGenerationAgentInterface, Stateful
from dataenvgym.records.plans import EngineFit
from dataenvgym.students.predictors import ScriptedPredictor

TASK = PocketMathTask(n_train=20, n_validation=20, n_test=20)
STUDENT = ScriptedPredictor(lambda conversation: "#### 1")
RECORD = {"instruction": "Add 1 2 3", "output": "#### 6", "provenance": {"skill": "sum"}}
OBSERVATION = {"forest": Forest(trees=(Tree(skill="a"), Tree(skill="b"))), "completed": ()}


def writing(seed: int) -> Agent:
    engine = PocketEngine(TASK)
    return Agent(RandomPolicy(), engine, name="random", records_per_iteration=20, seed=seed)


def acting(seed: int) -> TreeAgent:
    return TreeAgent(RandomTreePolicy(), name="random", seed=seed)


@pytest.mark.parametrize(
    ("make", "use", "interface"),
    [
        (writing, lambda agent: agent([], None), DataGenerationAgentInterface),
        (acting, lambda agent: agent.act(OBSERVATION, None), ActingAgentInterface),
    ],
)
def test_seed_and_iteration_decide_everything_also_in_a_restored_agent(make, use, interface):
    agent, other = make(1), make(1)
    assert isinstance(agent, interface)
    assert isinstance(agent, Stateful)
    first = use(agent)
    assert first == use(make(1)) != use(make(2))
    agent.step()
    other.load_state_dict(agent.state_dict())
    assert use(other) == use(agent) != first


def test_a_tree_policy_gets_the_moves_and_rewards_of_all_earlier_steps_also_after_a_resume():
    seen = []

    class Watching:
        def act(self, situation, count, rng):
            seen.append(situation.history)
            return (Explore(skill="a", subskills=1, records_each=situation.iteration),)

    def forest(accuracy, reward):
        tree = Tree(skill="a", val_accuracy=accuracy, reward=reward, last_move="explore")
        return {"forest": Forest(trees=(tree, Tree(skill="b"))), "completed": ()}

    agent = TreeAgent(Watching(), name="w")
    agent.act(forest(0.5, None), None)
    agent.act(forest(0.5, None), None)  # asked again in the same iteration, as after a refusal
    agent.step()
    resumed = TreeAgent(Watching(), name="w")
    resumed.load_state_dict(json.loads(json.dumps(agent.state_dict())))
    resumed.act(forest(0.75, 0.25), None)
    resumed.step()
    resumed.act(forest(0.5, -0.25), None)
    assert seen[:2] == [(), ()]
    (first,), (again, second) = seen[2:]
    assert first == again
    assert (first.iteration, second.iteration) == (1, 2)
    assert first.accuracies == {"a": 0.5, "b": None}
    assert first.rewards == {"a": 0.25, "b": None}
    assert second.rewards["a"] == -0.25
    assert second.move("a") == Explore(skill="a", subskills=1, records_each=2)
    assert second.move("b") is None
    resumed.load_state_dict({"iteration": 4})  # of a version without a history
    resumed.act(forest(0.5, 0.0), None)
    assert seen[-1] == ()


@pytest.mark.parametrize(
    ("needs", "expected"),
    [("counts", ["Engine wrote 2 of the 20 records that were planned"]), ("nothing", [])],
)
def test_an_engine_that_writes_fewer_records_than_planned_is_warned_of(needs, expected):
    engine = Engine([{"instruction": f"What is {n}?", "output": "1"} for n in range(2)])
    engine.fit = EngineFit(needs=needs)
    told = []
    with hearing_warnings(told.append):
        records = Agent(RandomPolicy(), engine, name="a", records_per_iteration=20)([], None)
    assert len(records) == 2
    assert told == expected


# --- what an engine returns ---


class Engine:
    skills = ("sum",)

    def __init__(self, records):
        self.records = records

    def generate(self, plan, predictor, rng):
        return self.records


def written(engine):
    return Agent(OpenEndedPolicy(), engine, name="mine")(TASK.evaluate(STUDENT), STUDENT)


def test_an_engine_may_return_mappings():
    (record,) = written(Engine([RECORD]))
    assert (record.kind, record.output) == ("supervised", "#### 6")
    assert (record.provenance.skill, record.provenance.agent) == ("sum", "mine")
    (pair,) = written(PreferenceEngine(Engine([RECORD]), TASK))
    assert (pair.chosen, pair.rejected) == ("#### 6", "#### 1")
    environment = SkillTree(TASK, STUDENT, Engine([RECORD]))
    environment.reset(seed=0)
    explore = {"kind": "explore", "skill": "sum", "subskills": 1, "records_each": 1}
    *_, info = environment.step((explore,))
    environment.close()
    assert info["n_records"] == 1.0


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (None, "Engine.generate returned NoneType, expected a list of training records"),
        (RECORD, "Engine.generate returned dict, expected a list"),
        ([RECORD, {"instruction": "x"}], "record 1, field output"),
        ([3], "record 0"),
    ],
)
def test_values_that_are_not_records_are_named(records, expected):
    with pytest.raises((InvalidRecordError, InvalidActionError), match=expected):
        written(Engine(records))


# --- the agent of a forest ---


class Greedy:
    """Wants a thousand records of each skill, and counts its calls."""

    calls = 0

    def act(self, situation, count, rng):
        self.calls += 1
        return tuple(
            Explore(skill=s, subskills=1, records_each=1000) for s in situation.forest.skills
        )

    def state_dict(self):
        return {"calls": self.calls}

    def load_state_dict(self, state):
        self.calls = state["calls"]


def test_an_action_beyond_the_budget_is_cut_with_a_warning_and_the_policys_state_is_kept():
    warnings = []
    with hearing_warnings(warnings.append):
        agent = TreeAgent(Greedy(), name="greedy", records_per_iteration=31)
        action = agent.act(OBSERVATION, None)
        acting(1).act(OBSERVATION, None)
    assert sum(move.records_each for move in action) == 31
    (warning,) = warnings
    for part in ("asked for 2,000 records", "cut to 31", "agent.records_per_iteration is 31"):
        assert part in warning
    agent.step()
    again = TreeAgent(Greedy(), name="greedy")
    again.load_state_dict(agent.state_dict())
    assert (again.iteration, again.policy.calls) == (2, 1)
