"""The reference transitions of the forest, and other guarantees of a transition."""

import pytest
from pydantic import ValidationError

from dataenvgym.environments.skill_tree import (
    Accuracies,
    Exploit,
    Explore,
    Forest,
    Results,
    Subskill,
    Tree,
    apply_action,
    apply_results,
    parse_tree_action,
    plant,
)
from dataenvgym.errors import InvalidActionError
from dataenvgym.records import PerformanceReport, SkillReport


def report(*skills: str) -> PerformanceReport:
    each = [
        SkillReport(skill=s, category="c", score=0.5, accuracy=0.5, n=2, n_errors=0) for s in skills
    ]
    return PerformanceReport(task="t", score=0.5, accuracy=0.5, n=2, n_errors=0, skills=each)


@pytest.fixture
def forest():
    """One tree with two subskills, one without any."""
    subskills = (Subskill(name="one", allocation=3, generated=4), Subskill(name="two"))
    return Forest(trees=(Tree(skill="sum", subskills=subskills), Tree(skill="length")))


def test_exploring_adds_subskills_and_their_records_to_each_tree():
    before = plant(report("a", "b", "c"))
    action = tuple(Explore(skill=s, subskills=5, records_each=3) for s in "abc")
    after = apply_action(before, action, {s: [f"{s}{i}" for i in range(5)] for s in "abc"})
    assert [len(tree.subskills) for tree in after.trees] == [5, 5, 5]
    assert [tree.allocation for tree in after.trees] == [15, 15, 15]
    assert {s.allocation for tree in after.trees for s in tree.subskills} == {3}
    assert before == plant(report("a", "b", "c"))


def test_exploiting_changes_allocations_by_name_never_below_0_and_of_that_skill_only(forest):
    after = apply_action(forest, (Exploit(skill="sum", changes={"one": -7, "two": 2}),), {})
    assert [s.allocation for s in after.tree("sum").subskills] == [0, 2]
    asked = (Explore(skill="length", subskills=1, records_each=2),)
    after = apply_action(forest, asked, {"length": ["list"]})
    assert after.tree("sum") == forest.tree("sum")
    assert apply_action(forest, (), {}) == forest


def test_a_tree_is_complete_once_fewer_subskills_come_than_were_asked_for(forest):
    asked = (Explore(skill="length", subskills=2, records_each=1),)
    for names, expected in ((["a", "b"], False), (["a"], True), ([], True)):
        after = apply_action(forest, asked, {"length": names})
        assert after.tree("length").is_complete is expected
    # names that are open already or too many are passed over
    asked = (Explore(skill="sum", subskills=2, records_each=1),)
    after = apply_action(forest, asked, {"sum": ["one", "new", "new", "more", "most"]})
    assert [s.name for s in after.tree("sum").subskills] == ["one", "two", "new", "more"]


def test_results_count_the_records_made_and_update_accuracies(forest):
    results = Results(
        made={("sum", "one"): 3},
        validation=Accuracies({"sum": 0.5}, {("sum", "one"): 0.75}),
        untaught=Accuracies({"sum": 0.25}, {("sum", "one"): 0.0}),
        training=Accuracies({"sum": 1.0}, {("sum", "one"): 1.0}),
    )
    tree = apply_results(forest, results).tree("sum")
    assert [s.generated for s in tree.subskills] == [7, 0]
    assert [s.val_accuracy for s in tree.subskills] == [0.75, 0.5]  # the second, its skill's
    assert [s.train_accuracy for s in tree.subskills] == [1.0, None]
    assert [s.untaught_accuracy for s in tree.subskills] == [0.0, None]
    assert (tree.val_accuracy, tree.untaught_accuracy, tree.train_accuracy) == (0.5, 0.25, 1.0)
    # one that is known to be unknown is not taken from the skill
    validation = Accuracies({"sum": 0.5}, {("sum", "one"): None})
    tree = apply_results(forest, Results(validation=validation)).tree("sum")
    assert [s.val_accuracy for s in tree.subskills] == [None, 0.5]


def test_a_tree_has_its_last_move_and_the_change_in_accuracy_that_followed(forest):
    moved = apply_action(forest, (Exploit(skill="sum", changes={"one": 1}),), {})
    assert [tree.last_move for tree in moved.trees] == ["exploit", None]
    before = apply_results(moved, Results(validation=Accuracies({"sum": 0.5})))
    assert [tree.reward for tree in before.trees] == [None, None]
    moved = apply_action(before, (Explore(skill="sum", subskills=1, records_each=1),), {})
    after = apply_results(moved, Results(validation=Accuracies({"sum": 0.75, "length": 1.0})))
    assert [(tree.last_move, tree.reward) for tree in after.trees] == [
        ("explore", 0.25),
        (None, None),
    ]
    assert [t.last_move for t in apply_action(after, (), {}).trees] == [None, None]


def test_a_report_adds_a_tree_for_each_new_skill_and_keeps_existing_ones(forest):
    assert plant(report("", "a", "b")).skills == ("a", "b")
    grown = plant(report("sum", "new"), forest)
    assert grown.skills == ("sum", "length", "new")
    assert grown.tree("sum") == forest.tree("sum")


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([Explore(skill="summ", subskills=1, records_each=1)], "summ"),
        ([Exploit(skill="sum", changes={"onne": 1})], "onne"),
        ([Exploit(skill="length", changes={"list": 1})], "none yet"),
        ([Exploit(skill="sum", changes={})] * 2, "move 1: a second one for skill 'sum'"),
        ([{"kind": "explore", "skill": "sum", "subskills": -1, "records_each": 1}], "subskills"),
        ([{"kind": "explore", "skill": "sum", "subskills": 1, "records_each": -1}], "records_each"),
        ([{"kind": "exploit", "skill": "sum", "changes": {"one": "4"}}], "changes.one"),
        ([{"kind": "prune", "skill": "sum"}], "move 0"),
        (Explore(skill="sum", subskills=1, records_each=1), "expected a list"),
    ],
)
def test_an_action_that_cannot_be_done_is_refused(forest, action, message):
    with pytest.raises(InvalidActionError, match=message):
        parse_tree_action(action, forest)


def test_mappings_are_moves_too(forest):
    move = {"kind": "exploit", "skill": "sum", "changes": {"one": -1}}
    assert parse_tree_action([move], forest) == (Exploit(skill="sum", changes={"one": -1}),)


def test_trees_and_subskills_have_names_of_their_own():
    with pytest.raises(ValidationError, match="named 'a'"):
        Tree(skill="s", subskills=(Subskill(name="a"), Subskill(name="a")))
    with pytest.raises(ValidationError, match="of the skill 's'"):
        Forest(trees=(Tree(skill="s"), Tree(skill="s")))
    with pytest.raises(ValidationError):
        Subskill(name="a", allocation=-1)
