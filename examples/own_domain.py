"""A domain with a tool, a user and a judge: a clerk asks for a size, finds the price, says it."""

import random
import sys
from types import SimpleNamespace
from typing import Any

from stub_models import StubModels  # importing it adds the tool format "short"

from dataenvgym import InProcessPredictor, OpenAIPredictor, SamplingParameters, run_episode
from dataenvgym.agents import Agent, SkillListPolicy
from dataenvgym.environments import SkillList
from dataenvgym.records import Message, TaskInstance, Tool
from dataenvgym.tasks import Ask, Outcome, Task, TaskEnvironment, record_of

ITEMS = ("tea", "cake")  # also the skills
FIND = Tool(name="Find", parameters={"properties": {"size": {"enum": ["min", "max"]}}})


def make_order(number, item):
    rng = random.Random(number)
    prices = {"min": str(rng.randint(1, 9)), "max": str(rng.randint(1, 9))}
    size = rng.choice(["min", "max"])
    order: dict[str, Any] = {"instruction": f"Order {' '.join(str(number))}: {item}?"}
    order |= {"answer": f"#### {prices[size]}", "data": {"size": size, "prices": prices}}
    return TaskInstance(id=str(number), task="shop", skill=item, **order)


class Shop(TaskEnvironment):
    def begin(self, order):
        return (Message(role="user", content=order.instruction, tools=(FIND,)),)

    def respond(self, order, conversation):
        said = conversation[-1]  # by the clerk: a call, the answer, or words for the customer
        if said.tool_calls:
            size = said.tool_calls[0].arguments.get("size")
            price = f"price {order.data['prices'].get(str(size), 'unknown')}"
            return Outcome(messages=(Message(role="tool", content=price),), done=False)
        if "####" in said.content:
            question = Message(role="user", content=f"Right: {order.answer} Said: {said.content}")
            is_right = (yield Ask("judge", (question,))).text == "yes"
            return Outcome(reward=float(is_right), was_correct=is_right)
        card = Message(role="system", content=f"You are a customer. Size: {order.data['size']}")
        reply = (yield Ask("customer", (card, Message(role="user", content=said.content)))).text
        return Outcome(messages=(Message(role="user", content=reply),), done=False)


class ShopTask(Task):
    name = "shop"

    def load(self, split):
        first = {"train": 1000, "validation": 2000, "test": 3000}[split]
        return [make_order(i, ITEMS[i % 2]) for i in range(first, first + n_customers)]

    def make_environment(self):
        return Shop(self.instances, others=self.others, max_turns=4)


class ShopEngine:  # its records are right dialogues in which the teacher was the clerk
    skills = ITEMS

    def generate(self, plan, predictor, rng):
        items = [part.skill for part in plan for _ in range(part.count)]
        orders = [make_order(int(rng.integers(4000, 9999)), item) for item in items]
        return [record_of(done) for done in task.attempt(teacher, orders) if done.was_correct]


if __name__ == "__main__":
    n_customers, n_records = map(int, sys.argv[1:] or (200, 200))
    server = StubModels(crowd=n_customers)  # it plays everyone but the student
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
