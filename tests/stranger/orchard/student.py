"""A student that can weigh the fruits of its records, and an owner who is asked what is polite."""

import json

from dataenvgym import Failure, Reply
from dataenvgym.students.predictors import ScriptedPredictor

from .domain import FRUITS, call_of


class Helper:
    def __init__(self, deaf=""):
        self.known, self.deaf = set(), deaf

    def predict(self, conversations, sampling):
        return [self.reply(conversation) for conversation in conversations]

    def reply(self, conversation):
        question = conversation[0].content
        fruit = next((fruit for fruit in FRUITS if fruit in question), "")
        if fruit and fruit == self.deaf:
            return Failure(reason="the helper did not hear that")
        if fruit not in self.known:
            return Reply(text="I do not know.")
        if conversation[-1].role != "tool":
            return Reply(text=call_of(fruit))
        count = int(question.split("do ")[1].split()[0])
        return Reply(text=str(count * int(conversation[-1].content)))

    def train(self, training_data, run):
        if run.start == "base":
            self.reset()
        asked = " ".join(m.content for record in training_data for m in record.prompt)
        self.known |= {fruit for fruit in FRUITS if fruit in asked}
        self.save(run.directory / "adapter")

    def save(self, path):
        path.mkdir(exist_ok=True)
        (path / "known.json").write_text(json.dumps(sorted(self.known)))

    def load(self, path):
        self.known = set(json.loads((path / "known.json").read_text()))

    def reset(self):
        self.known = set()


def make_owner():
    return ScriptedPredictor(lambda conversation: "yes")


def make_porter():
    """Carries three pears into the cellar, whatever it is asked."""
    call = '{"name": "carry", "arguments": {"fruit": "pear", "count": 3}}'
    return ScriptedPredictor(
        lambda told: f"<tool_call>{call}</tool_call>" if told[-1].role == "user" else "Done."
    )
