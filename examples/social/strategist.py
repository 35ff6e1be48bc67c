"""A strategist learns what to whisper to a speaker that bargains, and the speaker stays as it is.

In each turn, the student writes a strategy; a frozen speaker reads it and acts; a scripted partner
answers. The engine `scored_tries` plays the scenes, gives each strategy a weight, and the student
is trained on the weights (EPO). Here the student is a table with a row for each turn: it shows
what a student has to do, and learns within seconds. Options: iterations, seed.
"""

import json
import sys
from pathlib import Path

import numpy as np

from dataenvgym import run_episode
from dataenvgym.agents import Agent, FreePolicy, ScoredTriesEngine
from dataenvgym.environments import OpenEnded
from dataenvgym.interfaces import Reply
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.social import SocialTask

SAYS = {"Wait": "Can you do better?", "Take it": "Deal.", "Walk away": "[leave]"}
STRATEGIES = list(SAYS)


def speak(conversation):
    """The frozen speaker does what the last line, "(Strategy: ...)", tells it."""
    advice = conversation[-1].content.splitlines()[-1]
    return next((text for name, text in SAYS.items() if name in advice), "Hm.")


def turns_of(conversation):
    return [m.content for m in conversation if m.role == "assistant"]


class Strategist:
    """Draws the strategy of turn t from row t of a table, and learns by policy gradient."""

    def __init__(self):
        self.reset()

    def predict(self, conversations, sampling):
        return [self.draw(c, derive_rng(sampling.seed, repr(c))) for c in conversations]

    def draw(self, conversation, rng):
        row = self.table[len(turns_of(conversation))]
        return Reply(text=f"Strategy: {rng.choice(STRATEGIES, p=softmax(row))}")

    def train(self, training_data, run):
        if run.start == "base":
            self.reset()
        for record in training_data:
            said = turns_of(record.messages)
            for turn, (text, weight) in enumerate(zip(said, record.weights, strict=True)):
                chosen = np.array([name in text for name in STRATEGIES])
                self.table[turn] += 0.1 * weight * (chosen - softmax(self.table[turn]))
        self.save(run.directory / "adapter")

    def save(self, path):
        path.mkdir(parents=True, exist_ok=True)
        (path / "table.json").write_text(json.dumps(self.table.tolist()))

    def load(self, path):
        self.table = np.array(json.loads((Path(path) / "table.json").read_text()))

    def reset(self):
        self.table = np.zeros((20, len(STRATEGIES)))


def softmax(row):
    return np.exp(row) / np.exp(row).sum()


iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 8
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
others = {"speaker": ScriptedPredictor(speak)}
# in this split (seed 3) all training and validation scenes can end in a deal: the table knows the
# number of a turn alone, and could not tell when to walk away
task = SocialTask(partner="soft", role="strategist", seed=3, others=others)
student = Strategist()
engine = ScoredTriesEngine(task, samples=16, baseline=True)
agent = Agent(FreePolicy(), engine, name="epo", records_per_iteration=200, seed=seed)
environment = OpenEnded(task, student, mode="incremental", replay=0)
summary = run_episode(environment, agent, iterations=iterations, seed=seed)

for i in summary.iterations:
    print(f"{i.iteration}: mean reward {i.val_score:.3f}")
best = [STRATEGIES[int(row.argmax())] for row in student.table[:7]]
print(f"strategy by turn: {', '.join(best)}")
