import numpy as np
import pytest

from dataenvgym.agents import (
    AlternatingPolicy,
    ConfigurableTreePolicy,
    FillBalancedPolicy,
    RandomTreePolicy,
    ThresholdPolicy,
    TreeSituation,
)
from dataenvgym.agents.tree.situation import records_asked_for, within_budget
from dataenvgym.environments.skill_tree import (
    Exploit,
    Explore,
    Forest,
    Subskill,
    Tree,
    apply_action,
    parse_tree_action,
)


def forest_of(generated: list[int], allocations: list[int]) -> Forest:
    pairs = zip("abcdef", generated, allocations, strict=False)
    subskills = tuple(Subskill(name=n, generated=g, allocation=a) for n, g, a in pairs)
    return Forest(trees=(Tree(skill="s", subskills=subskills, is_complete=True),))


def act(policy, forest: Forest, iteration: int = 1, count: int = 300, seed: int = 0):
    situation = TreeSituation(forest, iteration)
    return policy.act(situation, count, np.random.default_rng(seed))


def bare(*accuracies: float) -> Forest:
    return Forest(
        trees=tuple(Tree(skill=f"s{i}", val_accuracy=a) for i, a in enumerate(accuracies))
    )


def opened(forest: Forest, action) -> Forest:
    names = {m.skill: [f"{m.skill}-{i}" for i in range(3)] for m in action}
    return apply_action(forest, action, names)


@pytest.mark.parametrize(
    ("generated", "allocations", "changes"),
    [
        ([5, 3, 2], [1, 1, 1], [4, 4, 4]),
        ([10, 3, 2], [5, 5, 5], [-5, 0, 0]),
        ([8, 7, 9], [1, 1, 1], [1, 2, 0]),
        ([10, 10, 10], [1, 1, 1], [-1, -1, -1]),
        ([19], [2], [-2]),
    ],
)
def test_fill_balanced_fills_every_subskill_up_to_the_maximum(generated, allocations, changes):
    policy = FillBalancedPolicy(maximum=10, cap=5)
    (move,) = act(policy, forest_of(generated, allocations))
    assert list(move.changes.values()) == changes


def test_after_an_exploration_alternating_takes_back_its_allocations():
    policy = AlternatingPolicy(subskills=2, records_each=5, informed=False)
    before = bare(0.5)
    first = act(policy, before)
    assert first == (Explore(skill="s0", subskills=2, records_each=5),)
    after = opened(before, first)
    (second,) = act(policy, after, iteration=2)
    assert list(second.changes.values()) == [-5, -5]


def test_informed_alternating_gives_weak_trees_more_and_spends_all_its_records():
    policy = AlternatingPolicy(floor=0.0)
    before = bare(0.0, 0.5, 1.0)
    first = act(policy, before, count=300)
    assert records_asked_for(before, first) == 300
    assert {m.skill: m.records_each for m in first} == {"s0": 67, "s1": 33}
    after = opened(before, first)
    second = act(policy, after, iteration=2, count=300)
    assert records_asked_for(after, second) == 300
    allotted = apply_action(after, second, {})
    assert [allotted.tree(f"s{i}").allocation for i in range(2)] == [200, 100]


def test_within_a_tree_weak_subskills_get_more():
    subskills = (Subskill(name="weak", val_accuracy=0.0), Subskill(name="good", val_accuracy=1.0))
    tree = Tree(skill="s", val_accuracy=0.5, subskills=subskills, is_complete=True)
    (move,) = act(AlternatingPolicy(own=1.0), Forest(trees=(tree,)), iteration=2, count=52)
    assert move.changes == {"weak": 51, "good": 1}
    (even,) = act(AlternatingPolicy(own=0.0), Forest(trees=(tree,)), iteration=2, count=52)
    assert even.changes == {"weak": 26, "good": 26}


def test_alternating_widens_the_weakest_trees_that_may_have_more():
    trees = tuple(
        Tree(skill=s, val_accuracy=a, subskills=(Subskill(name="x", allocation=1),), is_complete=c)
        for s, a, c in (("good", 0.9, False), ("weak", 0.1, False), ("weakest", 0.0, True))
    )
    action = act(AlternatingPolicy(widen=1), Forest(trees=trees), iteration=3)
    assert {m.skill: type(m) for m in action} == {
        "good": Exploit, "weak": Explore, "weakest": Exploit
    }  # fmt: skip


@pytest.mark.parametrize(
    "policy",
    [
        AlternatingPolicy(),
        AlternatingPolicy(informed=False, widen=None),
        FillBalancedPolicy(maximum=100, cap=30),
        RandomTreePolicy(),
        RandomTreePolicy(active=2, most_each=30),
        ThresholdPolicy(),
        ConfigurableTreePolicy(pattern=("explore", "exploit", "keep"), change=40),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_step_never_exceeds_its_budget(policy):
    forest = bare(0.0, 0.3, 0.6, 0.9)
    asked = []
    for iteration in range(1, 7):
        action = act(policy, forest, iteration, count=50, seed=iteration)
        action = within_budget(forest, parse_tree_action(action, forest), 50)
        assert records_asked_for(forest, action) <= 50
        names = {t.skill: [f"{iteration}-{i}" for i in range(9)] for t in forest.trees}
        forest = apply_action(forest, parse_tree_action(action, forest), names)
        asked.append(forest.allocation)
    assert 40 <= max(asked) <= 50


def test_a_plan_beyond_the_budget_is_reduced_in_proportion():
    forest = forest_of([0, 0], [10, 30])
    kept = (Exploit(skill="s", changes={"a": 3}),)
    assert within_budget(forest, kept, 43) is kept
    (move,) = within_budget(forest, (), 20)
    assert move.changes == {"a": -5, "b": -15}
    exploring = (Explore(skill="s", subskills=2, records_each=50),)
    (move,) = within_budget(forest, exploring, 60)
    assert (move.subskills, move.records_each) == (2, 10)
    (move,) = within_budget(forest, exploring, 41)
    assert (move.subskills, move.records_each) == (1, 1)
    (move,) = within_budget(forest, exploring, 20)  # less than the existing allocations
    assert move == Exploit(skill="s", changes={"a": -5, "b": -15})


def test_the_configurable_policy_does_its_turns_one_after_the_other():
    policy = ConfigurableTreePolicy(pattern=("exploit", "keep"), change=2, changes={"s": 7})
    forest = forest_of([0], [0])
    assert act(policy, forest, 1) == (Exploit(skill="s", changes={"a": 7}),)
    assert act(policy, forest, 2) == ()
    assert act(policy, forest, 3) == act(policy, forest, 1)


def test_the_published_limits_of_the_random_policy_are_on_subskills():
    forest, drawn = forest_of([0] * 6, [9] * 6), []
    for seed in range(200):
        policy = RandomTreePolicy(explore=0, active=4, most_each=3)
        (move,) = act(policy, forest, seed=seed)
        drawn.append([9 + change for change in move.changes.values()])
    assert {n for counts in drawn for n in counts} == {0, 1, 2, 3}
    assert max(sum(n > 0 for n in counts) for counts in drawn) == 4
    partly, filled = forest_of([0] * 6, [9, 9, 0, 0, 0, 0]), set()
    for seed in range(200):
        (move,) = act(RandomTreePolicy(explore=0, active=3, most_each=3), partly, seed=seed)
        new = {name for name, change in move.changes.items() if change > 0}
        assert len(new) <= 1  # beside the two that have records now
        filled |= new
    assert len(filled) == 4
    new = [act(RandomTreePolicy(most_each=3), bare(0.5), seed=s)[0] for s in range(50)]
    assert {move.records_each for move in new} == {1, 2, 3}


def test_a_skill_whose_last_move_paid_gets_more_and_another_new_subskills():
    tree = forest_of([10, 10], [10, 20]).trees[0].model_copy(update={"is_complete": False})
    explored = (Explore(skill="s", subskills=5, records_each=10),)
    more = (Exploit(skill="s", changes={"a": 10, "b": 10}),)

    def chosen(**fields):
        return act(ThresholdPolicy(), Forest(trees=(tree.model_copy(update=fields),)))

    assert chosen() == explored  # the first move
    assert chosen(last_move="explore", reward=0.02) == more
    assert chosen(last_move="exploit", reward=0.02) == more
    assert chosen(last_move="exploit", reward=0.01) == explored
    assert chosen(last_move="explore", reward=None) == explored
    assert chosen(last_move=None, reward=0.02) == explored  # it had no move
    assert chosen(last_move="explore", reward=0.02, subskills=()) == explored
    assert chosen(last_move="explore", reward=0.0, is_complete=True) == more
    assert chosen(subskills=(), is_complete=True) == ()


def test_an_uninformed_tree_that_is_full_gets_no_more_records():
    policy = AlternatingPolicy(
        subskills=2, records_each=30, informed=False, widen=None, most_per_skill=200
    )
    small = Subskill(name="a", allocation=30, generated=60)
    full = Subskill(name="b", allocation=30, generated=200)
    forest = Forest(trees=(Tree(skill="s", subskills=(small,)), Tree(skill="t", subskills=(full,))))
    explored = {move.skill: move for move in act(policy, forest)}
    assert explored["s"] == Explore(skill="s", subskills=2, records_each=30)
    assert explored["t"] == Exploit(skill="t", changes={"b": -30})
