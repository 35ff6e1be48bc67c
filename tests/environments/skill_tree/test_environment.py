import pytest

from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.environments import IterationFiles, SkillTree
from dataenvgym.environments.skill_tree import Exploit, Explore
from dataenvgym.errors import (
    ConfigurationError,
    InvalidActionError,
    RunDirectoryError,
    TrainingError,
)
from dataenvgym.records import TaskInstance
from dataenvgym.tasks import Task
from tests.fakes import begun, files_below


def explore(*skills, subskills=2, records_each=3):
    return tuple(Explore(skill=s, subskills=subskills, records_each=records_each) for s in skills)


def untimed(folder):
    return {n: b for n, b in files_below(folder).items() if not n.endswith("iteration.json")}


def test_the_forest_has_the_accuracies_and_the_reward_is_their_change(make, student):
    environment = make()
    observation, _ = environment.reset(seed=0)
    forest = observation["forest"]
    assert [(t.skill, t.val_accuracy, t.subskills) for t in forest.trees] == [
        (skill, 0.5, ()) for skill in "abc"
    ]
    _, reward, *_ = environment.step(explore("a"))
    assert reward == 0.0
    student.knows_all = True
    observation, reward, *_ = environment.step(())
    assert reward == 0.5
    assert {tree.val_accuracy for tree in observation["forest"].trees} == {1.0}


def test_an_exploration_asks_the_engine_for_so_many_records_of_each_new_subskill(make, part_writer):
    engine = part_writer()
    environment = begun(make(engine, agent_name="me"))
    observation, *_, info = environment.step(explore("a", "c"))
    assert [(a.skill, a.subskill, a.count) for a in engine.asked] == [
        ("a", "short", 3), ("a", "long", 3), ("c", "short", 3), ("c", "long", 3)
    ]  # fmt: skip
    tree = observation["forest"].tree("a")
    assert [(s.name, s.allocation, s.generated) for s in tree.subskills] == [
        ("short", 3, 3), ("long", 3, 3)
    ]  # fmt: skip
    assert info["n_records"] == 12.0
    record = IterationFiles(environment.directory / "iterations", 1).read_records()[0]
    assert record.provenance.id == "001-00000"
    assert (record.provenance.subskill, record.provenance.agent) == ("short", "me")
    # its examples are wrong instances of the subskill
    long = next(a for a in engine.asked if a.subskill == "long")
    assert {c.instance.skill for c in long.examples} == {"a"}
    assert all("long" in c.instance.instruction and not c.was_correct for c in long.examples)
    assert long.examples


def test_accuracies_are_those_of_each_subskill_where_instances_can_be_told_apart(make):
    environment = begun(make())
    observation, *_ = environment.step(explore("a", subskills=3))
    tree = observation["forest"].tree("a")
    assert {s.name: s.val_accuracy for s in tree.subskills} == {
        "short": 1.0, "long": 0.0, "endless": None
    }  # fmt: skip
    assert {s.name: s.train_accuracy for s in tree.subskills} == {
        "short": 1.0, "long": 0.0, "endless": 0.0
    }  # fmt: skip


def test_untaught_accuracy_is_measured_before_the_training_and_train_accuracy_after(
    make, student, monkeypatch
):
    def train(training_data, run):
        student.knows_all = True

    monkeypatch.setattr(student, "train", train)
    environment = begun(make())
    seen = []
    for action in (explore("a"), (), explore("b")):
        observation, *_ = environment.step(action)
        trees = [observation["forest"].tree(skill) for skill in ("a", "b")]
        seen += [(s.untaught_accuracy, s.train_accuracy) for t in trees for s in t.subskills]
    short, long = (1.0, 1.0), (0.0, 1.0)
    assert seen[:2] == [short, long]
    assert set(seen[2:]) == {short}


def test_an_engine_that_knows_no_subskills_has_the_skill_itself(make, writer):
    engine = writer()
    environment = begun(make(engine))
    observation, *_ = environment.step(explore("a", subskills=2, records_each=4))
    tree = observation["forest"].tree("a")
    assert [(s.name, s.generated, s.val_accuracy) for s in tree.subskills] == [("a", 4, 0.5)]
    assert tree.is_complete
    assert [(a.skill, a.subskill, a.count) for a in engine.asked] == [("a", None, 4)]


def test_dropped_records_do_not_count_as_made(make, part_writer, numbers):
    class Copier(part_writer):
        def generate(self, plan, predictor, rng):
            records = super().generate(plan, predictor, rng)
            seen = {"instruction": numbers.instances[0].instruction}
            return [records[0].model_copy(update=seen), records[1], records[1]]

    environment = begun(make(Copier()))
    observation, *_ = environment.step(explore("a", subskills=1))
    assert observation["forest"].tree("a").subskills[0].generated == 1
    assert environment.results[-1].dropped == {"duplicate": 1, "evaluation_overlap": 1}


def test_a_bad_action_is_refused_and_changes_nothing(make, student, tmp_path):
    environment = begun(make(directory=tmp_path))
    before, forest = files_below(tmp_path), environment.forest
    with pytest.raises(InvalidActionError):
        environment.step(explore("d"))
    assert files_below(tmp_path) == before
    assert environment.forest == forest
    assert student.trainings == 0
    assert environment.pending_action() is None


def test_after_a_failed_training_the_same_action_takes_the_same_records_and_another_new_ones(
    make, student, counting_writer, monkeypatch
):
    engine = counting_writer()
    environment = begun(make(engine))
    forest = environment.forest

    def fail(*_):
        raise TrainingError("out of memory")

    monkeypatch.setattr(student, "train", fail)
    with pytest.raises(TrainingError):
        environment.step(explore("a"))
    assert environment.forest == forest
    assert environment.pending_action() == explore("a")
    monkeypatch.undo()
    environment.step(explore("a"))
    assert engine.calls == 1
    monkeypatch.setattr(student, "train", fail)
    with pytest.raises(TrainingError):
        environment.step(explore("c"))
    monkeypatch.undo()
    observation, *_ = environment.step(explore("b"))  # another action starts over
    assert [tree.generated for tree in observation["forest"].trees] == [12, 6, 0]


def test_a_resumed_episode_continues_with_its_forest_and_its_engine(
    make, counting_writer, tmp_path
):
    steps = [explore("a", "b"), (Exploit(skill="a", changes={"long": 2}),), explore("c")]
    whole = make(counting_writer(), directory=tmp_path / "whole")
    whole.reset(seed=3)
    for action in steps:
        expected, *_ = whole.step(action)
    first = make(counting_writer(), directory=tmp_path / "parts")
    first.reset(seed=3)
    first.step(steps[0])
    for action in steps[1:]:
        engine = counting_writer()
        again = make(engine, directory=tmp_path / "parts")
        again.reset(seed=3, options={"resume": True})
        observation, *_ = again.step(action)
    assert engine.calls == 3
    assert observation == expected
    assert untimed(tmp_path / "parts") == untimed(tmp_path / "whole")


def test_a_second_episode_begins_with_the_untouched_engine(make, counting_writer):
    engine = counting_writer()
    environment = make(engine)
    for _ in range(2):
        observation, _ = environment.reset(seed=0)
        assert observation["forest"].allocation == 0
        environment.step(explore("a"))
        assert engine.calls == 1


def test_without_a_sample_nothing_is_asked_again_and_it_is_another_episode(make, tmp_path):
    environment = begun(make(directory=tmp_path, train_sample=0))
    observation, *_ = environment.step(explore("a"))
    for subskill in observation["forest"].tree("a").subskills:
        assert (subskill.untaught_accuracy, subskill.train_accuracy) == (None, None)
    assert not [*tmp_path.glob("iterations/*/*trained.jsonl"), *tmp_path.rglob("untaught.jsonl")]
    with pytest.raises(RunDirectoryError, match="train_sample"):
        make(directory=tmp_path, train_sample=1).reset(seed=0, options={"resume": True})


class Riddles(Task):
    name = "riddles"

    def load(self, split):
        return [TaskInstance(id="r", task=self.name, instruction="What?", answer="1")]

    def make_environment(self):
        return MathEnvironment(self.instances)


def test_a_task_without_skills_and_no_engine_are_refused(make, numbers, student):
    with pytest.raises(ConfigurationError, match="'riddles' has no skills"):
        make(task=Riddles()).reset(seed=0)
    with pytest.raises(ConfigurationError, match="agent/engine"):
        SkillTree(numbers, student)


def test_sampled_actions_can_be_done(make):
    environment = make()
    assert environment.action_space.sample() == ()
    environment.action_space.seed(1)
    observation, _ = environment.reset(seed=0)
    moved = 0
    for _ in range(6):
        action = environment.action_space.sample()
        assert action in environment.action_space
        observation, *_ = environment.step(action)
        assert observation in environment.observation_space
        moved += len(action)
    assert moved > 5
    assert observation["forest"].allocation > 0
