"""Teaches the clerk of `shop` with an engine of its own: right dialogues in which a teacher served.

The customer, the judge and the teacher are models behind a server; `models` plays them here.
"""

import re
import sys
from types import SimpleNamespace

from models import StubModels
from shop import ITEMS, ShopTask, make_order

from dataenvgym import InProcessPredictor, OpenAIPredictor, SamplingParameters, run_episode
from dataenvgym.agents import Agent, SkillListPolicy
from dataenvgym.environments import SkillList
from dataenvgym.records import ToolCall
from dataenvgym.records.tool_formats import TOOL_FORMATS, TextFormat
from dataenvgym.tasks import record_of


def find_calls(text, start):
    for found in re.compile(r"Find (\w+)").finditer(text, start):
        yield *found.span(), ToolCall(name="Find", arguments={"size": found[1]})


TOOL_FORMATS["short"] = TextFormat(  # larger students take "hermes", this one does not learn JSON
    lambda tools: " ".join(tool.name for tool in tools),
    lambda calls: "\n".join(f"{call.name} {call.arguments['size']}" for call in calls),
    "\n".join,
    find_calls,
)


class ShopEngine:
    skills = ITEMS

    def generate(self, plan, predictor, rng):
        items = [part.skill for part in plan for _ in range(part.count)]
        orders = [make_order(int(rng.integers(4000, 9999)), item) for item in items]
        return [record_of(done) for done in task.attempt(teacher, orders) if done.was_correct]


if __name__ == "__main__":
    ShopTask.n_customers, n_records = map(int, sys.argv[1:] or (200, 200))
    server = StubModels(crowd=ShopTask.n_customers)
    others = {who: OpenAIPredictor(who, **server.options) for who in ("customer", "judge")}
    teacher = OpenAIPredictor("teacher", **server.options)
    task = ShopTask(others=others, sampling=SamplingParameters(max_tokens=4))
    without_rounds = task.evaluate(teacher)
    in_rounds = task.evaluate(SimpleNamespace(predict=teacher.predict))
    print(f"{server.peak} requests at once; as in rounds: {in_rounds == without_rounds}")
    agent = Agent(SkillListPolicy(), ShopEngine(), name="shop", records_per_iteration=n_records)
    student = InProcessPredictor(tool_format="short")
    summary = run_episode(SkillList(task, student), agent, iterations=1)
    print(f"validation {summary.iterations[0].val_score:.2f} -> {summary.best.val_score:.2f}")
