"""The gate of a teaching environment: a student that got worse on held skills is refused."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dataenvgym.agents import PocketEngine
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import IterationFiles, OpenEnded, SkillList, SkillTree
from dataenvgym.environments.gate import loss_p, refusal, worse_than_chance
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import CompletedTaskInstance, Message, TaskInstance
from dataenvgym.records.plans import Assignment
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.predictors.scripted import ScriptedPredictor
from dataenvgym.tasks.pressures.of_records import with_answer_of
from tests.fakes import begun, files_below


def answers(rewards, skills=(), errors=()):
    """Completed instances with these rewards; by default all have the same skill."""
    return [
        CompletedTaskInstance(
            instance=TaskInstance(
                id=str(i), task="t", instruction="q", skill=skills[i] if len(skills) else "one"
            ),
            transcript=(Message(role="user", content="q"),),
            reward=0.0 if i in errors else float(reward),
            was_correct=i not in errors and reward == 1,
            error="the server is away" if i in errors else None,
        )
        for i, reward in enumerate(rewards)
    ]


@pytest.mark.parametrize(("lost", "gained"), [(5, 0), (9, 2), (3, 3), (0, 4), (0, 0)])
def test_for_right_and_wrong_it_is_mcnemars_exact_test(lost, gained):
    changes = [-1.0] * lost + [1.0] * gained + [0.0] * 7
    p, least = loss_p(changes)
    n = lost + gained
    expected = stats.binomtest(lost, n, alternative="greater").pvalue if n else 1.0
    assert (p, least) == (pytest.approx(expected), 0.5**n)


def test_for_partial_scores_it_is_the_exact_permutation_test():
    changes = np.random.default_rng(0).integers(-10, 7, 11) / 10
    test = stats.permutation_test(
        (changes,), np.sum, permutation_type="samples", alternative="less", n_resamples=2**11
    )
    assert loss_p(changes)[0] == pytest.approx(test.pvalue)


def test_a_loss_in_one_skill_is_refused_by_its_name_and_size():
    skills = ["a"] * 12 + ["b"] * 12
    before = answers([1] * 24, skills)
    refused = refusal(before, answers([0] * 9 + [1] * 15, skills), 0.05)
    assert refused.skills == ("a",)
    assert refused.drop == pytest.approx(9 / 12)
    assert refused.p == pytest.approx(2 * 0.5**9)  # "b" did not change, so two tests count
    assert refusal(before, answers([0] * 4 + [1] * 20, skills), 0.05) is None
    assert refusal(before, before, 0.05) is None


def test_a_small_loss_in_every_skill_is_refused_without_a_name():
    skills = [f"skill {i % 10}" for i in range(50)]
    after = [0.0] * 10 + [1.0] * 40
    refused = refusal(answers([1] * 50, skills), answers(after, skills), 0.05)
    assert refused.skills == ()
    assert refused.drop == pytest.approx(0.2)
    alone = refusal(answers([1] * 20), answers([0] * 5 + [1] * 15), 0.05)
    assert (alone.skills, alone.p) == (("one",), 0.5**5)  # two tests would need .025
    none = [None] * 12  # without skills all problems are compared together
    refused = refusal(answers([1] * 12, none), answers([0] * 12, none), 0.05)
    assert (refused.skills, refused.drop, refused.p) == ((), 1.0, 0.5**12)


def test_failed_calls_are_not_losses():
    before, all_failed = answers([1] * 20), answers([1] * 20, errors=range(20))
    assert refusal(before, all_failed, 0.05) is None
    assert refusal(all_failed, answers([0] * 20), 0.05) is None
    assert refusal(before, answers([0] * 20), 0.05) is not None


@pytest.mark.parametrize("level", [0.05, 0.2])
@pytest.mark.parametrize("is_partial", [False, True])
def test_without_a_change_at_most_the_level_is_refused(level, is_partial):
    """Each problem has its chance of being right; trainings only draw the answers again."""
    rng = np.random.default_rng(5)
    n, tries, refused = 250, 4 if is_partial else 1, 0
    for _ in range(n):
        chances = rng.beta(0.7, 0.7, 200)
        before, after = rng.binomial(tries, chances, (2, 200)) / tries
        changes = (after - before).reshape(10, 20)
        groups = {f"skill {i}": group for i, group in enumerate(changes)}
        refused += worse_than_chance({**groups, "": changes.ravel()}, level) is not None
    # with this many simulations, more than that would show a rate above the level (p < .005)
    assert refused <= stats.binom.ppf(0.995, n, level)
    assert refused > 0  # the test is not empty


class MathStudent(ScriptedPredictor):
    """Answers rightly, except in the skills of records whose answer was "wrong"."""

    def __init__(self, task: PocketMathTask) -> None:
        super().__init__(self._reply)
        instances = [i for split in ("validation", "test") for i in task.on(split).instances]
        self._known = {i.instruction: (i.skill, i.answer) for i in instances}
        self._unlearned: set[str] = set()

    def _reply(self, conversation):
        skill, answer = self._known[conversation[-1].content]
        return "no idea" if skill in self._unlearned else f"#### {answer}"

    def train(self, data, run):
        super().train(data, run)
        self.outputs = [d.output for d in data]
        before = self._unlearned if run.start == "adapter" else set()
        self._unlearned = before | {d.provenance.skill for d in data if d.output == "wrong"}
        self._keep(run.directory / "adapter")

    def save(self, path):
        super().save(path)
        self._keep(path)

    def load(self, path):
        super().load(path)
        self._unlearned = set((path / "unlearned").read_text().split("\n")) - {""}

    def reset(self):
        super().reset()
        self._unlearned = set()

    def _keep(self, path):
        path.mkdir(parents=True, exist_ok=True)
        (path / "unlearned").write_text("\n".join(sorted(self._unlearned)))


@pytest.fixture
def task():
    return PocketMathTask(n_validation=200, n_test=20)


@pytest.fixture
def student(task):
    return MathStudent(task)


@pytest.fixture
def skill(task):
    return task.on("validation").instances[0].skill


def batch(skill, output, n=3, start=0):
    return [
        {"instruction": f"word{i} {i}?", "output": output, "provenance": {"skill": skill}}
        for i in range(1000 + 37 * start, 1000 + 37 * start + 7 * n, 7)
    ]


@pytest.mark.parametrize("mode", ["incremental", "accumulate"])
def test_a_harmful_batch_is_refused_and_the_student_before_it_goes_on(
    task, student, skill, tmp_path, mode
):
    environment = begun(SkillList(task, student, directory=tmp_path, gate=0.05, mode=mode))
    good, *_ = environment.step(batch(skill, "right"))
    observation, reward, _, _, info = environment.step(batch(skill, "wrong", start=1))
    assert (reward, info["refused"], info["n_records"], info["n_records_total"]) == (0, 1, 3, 6)
    report = observation["report"]
    assert report.refused.skills == (skill,)
    assert report.refused.drop == 1.0
    assert report.score == good["report"].score == 1.0
    assert observation["completed"] == good["completed"]
    assert environment.results[-1].adapter == 1
    observation, _, _, _, info = environment.step(batch(skill, "right", start=2))
    assert observation["report"].score == 1.0
    assert (info["refused"], observation["report"].refused) == (0, None)
    assert student.outputs == ["right"] * 6  # three new and three earlier ones
    refused = IterationFiles(tmp_path / "iterations", 2).read_completed("refused.jsonl")
    assert sum(not c.was_correct for c in refused) > 5


def test_refused_records_count_against_the_budget(task, student, skill):
    environment = begun(SkillList(task, student, gate=0.05, max_records=4))
    assert environment.step(batch(skill, "wrong"))[2] is False
    *_, terminated, _, info = environment.step(batch(skill, "right", start=1))
    assert (terminated, info["n_records"], info["n_dropped"]) == (True, 1, 2)


def test_held_skills_may_be_those_that_are_not_taught(task, student, skill):
    environment = begun(SkillList(task, student, gate=0.05, held="untaught"))
    assert environment.step(batch(skill, "wrong"))[4]["refused"] == 0
    other = next(i.skill for i in task.on("validation").instances if i.skill != skill)
    harm = [*batch(other, "wrong", start=1), *batch(skill, "right", start=2)]
    assert environment.step(harm)[4]["refused"] == 0


def test_an_environment_that_hides_skills_does_not_name_the_refused_ones(task, student, skill):
    environment = begun(OpenEnded(task, student, gate=0.05))
    observation, *_ = environment.step(batch(skill, "wrong"))
    assert observation["report"].refused.skills == ()
    assert environment.results[-1].refused.skills == (skill,)


def test_a_trial_shows_the_refused_student_and_keeps_nothing(task, student, skill, tmp_path):
    environment = begun(SkillList(task, student, directory=tmp_path, gate=0.05))
    before = files_below(tmp_path)
    report = environment.trial(batch(skill, "wrong"))
    assert report.score < 1.0
    assert report.refused.skills == (skill,)
    assert files_below(tmp_path) == before
    step, *_ = environment.step(batch(skill, "wrong"))
    assert step["report"].refused == report.refused
    assert environment.trial(batch(skill, "right", start=1)).refused is None


@pytest.fixture
def tree(task, student, skill):
    """Makes a forest environment in a folder; its engine's second batch is harmful."""

    class Harming:
        skills = (skill,)

        def __init__(self):
            self.outputs = iter(("right", "wrong"))

        def generate(self, plan, predictor, rng):
            output = next(self.outputs)
            return batch(skill, output, start=output == "wrong")

    return lambda folder: SkillTree(task, student, Harming(), directory=folder, gate=0.05)


def grown(environment, skill):
    environment.step(({"kind": "explore", "skill": skill, "subskills": 1, "records_each": 3},))
    return environment.step(())


def test_a_forest_does_not_count_refused_records(tree, skill, tmp_path):
    environment = begun(tree(tmp_path))
    observation, reward, *_ = grown(environment, skill)
    assert (reward, observation["report"].refused.skills) == (0.0, (skill,))
    (grown_tree,) = (t for t in environment.forest.trees if t.skill == skill)
    assert (grown_tree.generated, grown_tree.val_accuracy) == (3, 1.0)


@pytest.mark.parametrize("dies_in", ["refuse", "write_result"])
def test_a_forest_killed_around_a_refusal_resumes_to_the_same_end(
    tree, skill, tmp_path, monkeypatch, dies_in
):
    whole = begun(tree(tmp_path / "whole"))
    grown(whole, skill)
    finish = getattr(IterationFiles, dies_in)

    def dying(files, *arguments):
        if files.number == 2:
            raise KeyboardInterrupt
        return finish(files, *arguments)

    environment = begun(tree(tmp_path / "killed"))
    with monkeypatch.context() as patch:
        patch.setattr(IterationFiles, dies_in, dying)
        with pytest.raises(KeyboardInterrupt):
            grown(environment, skill)
    environment = tree(tmp_path / "killed")
    _, info = environment.reset(seed=0, options={"resume": True})
    environment.step(info["pending_action"])
    assert environment.results[-1].refused == whole.results[-1].refused
    assert environment.forest == whole.forest
    one, other = (files_below(tmp_path / name) for name in ("whole", "killed"))
    assert one.keys() == other.keys()
    different = {Path(name).name for name in one if one[name] != other[name]}
    assert different <= {"iteration.json"}  # which has the seconds


def test_held_skills_without_a_gate_are_refused(task, student):
    with pytest.raises(ConfigurationError, match="untaught"):
        SkillList(task, student, held="untaught")


@pytest.mark.slow
def test_a_real_student_keeps_its_skills_from_exchanged_answers(tmp_path):
    task = PocketMathTask(n_validation=400, n_test=20)
    student = InProcessPredictor("pocket", threads=1)
    environment = begun(SkillList(task, student, directory=tmp_path, gate=0.05))
    engine = PocketEngine(task)

    def written(skills, count, seed):
        plan = tuple(Assignment(count, skill=skill) for skill in skills)
        return list(engine.generate(plan, student, np.random.default_rng(seed)))

    good, gain, *_, info = environment.step(written(engine.skills, 25, 1))
    assert (gain > 0, info["refused"]) == (True, 0)
    harmful = written(["even_count"], 100, 2)
    turned = [*harmful[1:], *harmful[:1]]
    harmful = [with_answer_of(*pair) for pair in zip(harmful, turned, strict=True)]
    kept, reward, *_ = environment.step(harmful)
    assert reward == 0.0
    assert "even_count" in kept["report"].refused.skills
    assert kept["report"].skills == good["report"].skills
    problems = [task.domain.prompt(c.instance) for c in good["completed"][:20]]
    replies = student.predict(problems, SamplingParameters(temperature=0.0, max_tokens=24))
    assert [r.text for r in replies] == [c.response for c in good["completed"][:20]]
