"""An agent that could do nothing with the task is refused before anything is run."""

from collections.abc import Sequence

import pytest

from dataenvgym.agents import (
    Agent,
    AlternatingPolicy,
    BlindPolicy,
    NoEngine,
    OpenEndedPolicy,
    PocketEngine,
    PreferenceEngine,
    RandomPolicy,
    RetentionPolicy,
    SkillListPolicy,
    TreeAgent,
)
from dataenvgym.agents.compatibility import check_fit
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import TaskInstance
from dataenvgym.tasks import Task
from dataenvgym.tasks.adapted_task import task_of


class Riddles(Task):
    """Problems without gold skills that the pocket engine cannot read."""

    name = "riddles"

    def load(self, split):
        return [TaskInstance(id="r", task=self.name, instruction="What is it?", answer="1")]

    def make_environment(self):
        return MathEnvironment(self.instances)


class Writer:
    """An engine that writes on anything, and names no skills."""

    skills: Sequence[str] = ()

    def generate(self, plan, predictor, rng):
        return []


def agent(policy, engine):
    return Agent(policy, engine, name="a")


POCKET = PocketMathTask(n_validation=20)


BARE = task_of(object())
TREE = TreeAgent(AlternatingPolicy(), PocketEngine(POCKET), name="t")


@pytest.mark.parametrize(
    ("task", "agent", "options"),
    [
        *(
            (POCKET, agent(policy(), PocketEngine(POCKET)), {})
            for policy in (RandomPolicy, OpenEndedPolicy, SkillListPolicy)
        ),
        (POCKET, TREE, {}),
        (Riddles(), agent(SkillListPolicy(), Writer()), {"labels_skills": True}),
        # an engine that chooses by itself, and one that writes on anything
        (Riddles(), agent(OpenEndedPolicy(), Writer()), {"shows_skills": False}),
        # agents and tasks of others are not judged
        (Riddles(), lambda completed, predictor: [], {"shows_skills": False}),
        (BARE, agent(SkillListPolicy(), PocketEngine(POCKET)), {"shows_skills": False}),
    ],
)
def test_pairs_that_fit_are_accepted(task, agent, options):
    check_fit(task, agent, **{"shows_skills": True, **options})


@pytest.mark.parametrize(
    ("task", "policy", "engine", "shows_skills", "expected"),
    [
        (Riddles(), OpenEndedPolicy(), PocketEngine(POCKET), False, "'riddles' has other problems"),
        (Riddles(), RandomPolicy(), Writer(), False, "Writer names none"),
        (Riddles(), SkillListPolicy(), Writer(), True, "no instance of task 'riddles' has one"),
        (POCKET, SkillListPolicy(), PocketEngine(POCKET), False, "use environment=skill_list"),
        (
            POCKET,
            BlindPolicy(RetentionPolicy(SkillListPolicy())),
            PocketEngine(POCKET),
            False,
            r"BlindPolicy\(RetentionPolicy\(SkillListPolicy\)\) needs to see skills",
        ),
    ],
)
def test_misfits_are_refused(task, policy, engine, shows_skills, expected):
    with pytest.raises(ConfigurationError, match=expected):
        check_fit(task, agent(policy, engine), shows_skills=shows_skills)


@pytest.mark.parametrize(
    ("task", "misfit", "expected"),
    [
        (Riddles(), TREE, "'riddles' has other problems"),
        (
            POCKET,
            Agent(AlternatingPolicy(), PocketEngine(POCKET), name="a"),
            "AlternatingPolicy has no method `plan`",
        ),
        (
            POCKET,
            TreeAgent(SkillListPolicy(), PocketEngine(POCKET), name="t"),
            "SkillListPolicy has no method `act`",
        ),
        (
            POCKET,
            Agent(OpenEndedPolicy(), PreferenceEngine(NoEngine(), POCKET), name="a"),
            r"PreferenceEngine\(NoEngine\) writes nothing, whatever OpenEndedPolicy plans",
        ),
    ],
)
def test_pairs_that_could_never_write_a_record_are_refused(task, misfit, expected):
    with pytest.raises(ConfigurationError, match=expected):
        check_fit(task, misfit, shows_skills=True)
