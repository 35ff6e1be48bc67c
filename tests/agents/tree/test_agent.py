from dataenvgym.agents import RandomTreePolicy, TreeAgent
from dataenvgym.environments.skill_tree import Explore, Forest, Tree
from dataenvgym.interfaces import ActingAgentInterface, Stateful
from dataenvgym.run_warnings import listening


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


OBSERVATION = {"forest": Forest(trees=(Tree(skill="a"), Tree(skill="b"))), "completed": ()}


def test_no_action_asks_for_more_records_than_the_agent_may():
    action = TreeAgent(Greedy(), name="greedy", records_per_iteration=30).act(OBSERVATION, None)
    assert [move.records_each for move in action] == [15, 15]


def test_the_same_seed_and_iteration_give_the_same_action():
    def action(seed: int, iteration: int):
        agent = TreeAgent(RandomTreePolicy(), name="r", seed=seed)
        agent.load_state_dict({"iteration": iteration})
        return agent.act(OBSERVATION, None)

    assert action(1, 1) == action(1, 1)
    assert len({str(action(s, i)) for s in (1, 2) for i in (1, 2)}) == 4


def test_a_resumed_agent_and_its_policy_go_on_where_they_were():
    agent = TreeAgent(Greedy(), name="greedy")
    agent.act(OBSERVATION, None)
    agent.step()
    again = TreeAgent(Greedy(), name="greedy")
    again.load_state_dict(agent.state_dict())
    assert (again.iteration, again.policy.calls) == (2, 1)


def test_it_is_an_acting_agent_that_can_be_resumed():
    agent = TreeAgent(Greedy(), name="greedy")
    assert isinstance(agent, ActingAgentInterface)
    assert isinstance(agent, Stateful)


def test_a_reduced_plan_warns_with_both_numbers():
    warnings = []
    with listening(warnings.append):
        agent = TreeAgent(Greedy(), name="greedy", records_per_iteration=31)
        agent.act(OBSERVATION, None)
        (warning,) = warnings
        TreeAgent(RandomTreePolicy(), name="r", records_per_iteration=31).act(OBSERVATION, None)
    assert "asked for 2,000 records" in warning
    assert "cut to 31" in warning
    assert "agent.records_per_iteration is 31" in warning
    assert warnings == [warning]
