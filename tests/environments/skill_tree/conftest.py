"""A task of three skills asked in turns, a student with a knob, engines that write on anything."""

import pytest

from dataenvgym.agents import Assignment
from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.environments import SkillTree
from dataenvgym.records import Provenance, SupervisedDatum, TaskInstance
from dataenvgym.students.predictors.scripted import ScriptedPredictor
from dataenvgym.tasks import Task

SKILLS = ("a", "b", "c")
SIZES = ("short", "long")


class Numbers(Task):
    """Say a number: 12 problems of 3 skills in turns, short and long ones in turns."""

    name = "numbers"
    domain = MathDomain()

    def load(self, split):
        return [
            TaskInstance(
                id=f"n{i}",
                task=self.name,
                instruction=f"Say {i} {SIZES[i // 3 % 2]} please",
                answer=str(i),
                skill=SKILLS[i % 3],
            )
            for i in range(12)
        ]


class Student(ScriptedPredictor):
    """Solves the short problems, or all (`knows_all`), and its training problems."""

    knows_all = False

    def __init__(self):
        super().__init__(self._reply)

    def _reply(self, conversation):
        number, size = conversation[-1].content.split()[1:3]
        return f"#### {number}" if self.knows_all or size == "short" else "#### -1"


class Writer:
    """Writes numbers from 1000 on; the skills have no parts."""

    skills = SKILLS

    def __init__(self):
        self.asked: list[Assignment] = []

    def generate(self, plan, predictor, rng):
        self.asked = list(plan)
        return [
            self._record(a, int(rng.integers(10**6, 10**9))) for a in plan for _ in range(a.count)
        ]

    def _record(self, assignment, number):
        size = assignment.subskill or "short"
        return SupervisedDatum(
            instruction=f"Say {number} {size} please",
            output=f"#### {number}",
            provenance=Provenance(skill=assignment.skill, subskill=assignment.subskill),
        )


class PartWriter(Writer):
    """The same; each skill consists of short, long and endless problems, in that order."""

    def propose_subskills(self, skill, known, count, examples, rng):
        return [size for size in (*SIZES, "endless") if size not in known][:count]

    def subskill_of(self, skill, instruction):
        return instruction.split()[2]


class CountingWriter(PartWriter):
    """Remembers how often it wrote."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def generate(self, plan, predictor, rng):
        self.calls += 1
        return super().generate(plan, predictor, rng)

    def state_dict(self):
        return {"calls": self.calls}

    def load_state_dict(self, state):
        self.calls = state["calls"]


@pytest.fixture
def numbers():
    return Numbers()


@pytest.fixture
def student():
    return Student()


@pytest.fixture
def writer():
    return Writer


@pytest.fixture
def part_writer():
    return PartWriter


@pytest.fixture
def counting_writer():
    return CountingWriter


@pytest.fixture
def make(numbers, student):
    """Makes the environment, with fresh objects as after a restart where asked."""

    def make(engine=None, *, student=student, task=numbers, **options):
        return SkillTree(task, student, engine or PartWriter(), **options)

    return make
