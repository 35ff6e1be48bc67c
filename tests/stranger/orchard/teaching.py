"""Those who teach: an agent, a policy and an engine, a check, skills, a teacher, a price."""

import json
import random

from dataenvgym import Reply, SkillList
from dataenvgym.interfaces import SkillLabel
from dataenvgym.records.plans import Assignment

from .domain import FRUITS


class PickerAgent:
    """Gold records of one fruit, the next one in each iteration."""

    name = "picker"

    def __init__(self, task, seed=0, most=5):
        self.task, self.seed, self.most = task, seed, most
        self.iteration = 0

    def __call__(self, completed, predictor):
        wrong = {c.instance.skill for c in completed if c.error is None and not c.was_correct}
        fruit = FRUITS[self.iteration % len(FRUITS)]
        problems = [p for p in self.task.on("train").instances if p.skill == fruit]
        chosen = random.Random(self.seed).sample(problems, self.most if fruit in wrong else 0)
        return [self.task.domain.gold_record(problem) for problem in chosen]

    def step(self):
        self.iteration += 1

    def state_dict(self):
        return {"iteration": self.iteration}

    def load_state_dict(self, state):
        self.iteration = state["iteration"]


class InTurnPolicy:
    def plan(self, situation, count, rng):
        return tuple(Assignment(count // len(situation.skills), skill=s) for s in situation.skills)


class GrowerEngine:
    skills = FRUITS

    def generate(self, plan, predictor, rng):
        return [self.record(part.skill, rng) for part in plan for _ in range(part.count)]

    def record(self, fruit, rng):
        return {
            "instruction": f"Row {rng.integers(10**6)}: name the {fruit}.",
            "output": fruit,
            "provenance": {"skill": fruit},
        }


class RipeCheck:
    """Drops records with short answers, which are green."""

    reason = "green"

    def __init__(self, least=5):
        self.least = least

    def passes(self, records, predictor):
        return [len(record.output) >= self.least for record in records]


class FirstLetterSkills:
    def label(self, instances):
        return [SkillLabel(instance.skill[0]) for instance in instances]


class NeighborTeacher:
    def ask(self, conversations, sampling, *, purpose):
        record = {"instruction": "What grows on the pear tree?", "output": "pear"}
        return [Reply(text=json.dumps({"records": [record]})) for _ in conversations]


class PricedEnvironment(SkillList):
    def __init__(self, task, predictor, *, price=0.01, **options):
        super().__init__(task, predictor, **options)
        self.price = price

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward - self.price * info["n_records"], terminated, truncated, info
