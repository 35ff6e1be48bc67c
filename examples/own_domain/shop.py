"""A domain with a tool, a user and a judge: a clerk asks for a size, finds the price, says it."""

import random
from typing import Any

from dataenvgym.records import Message, TaskInstance, Tool
from dataenvgym.tasks import Ask, Outcome, Task, TaskEnvironment

ITEMS = ("tea", "cake")  # also the skills
FIND = Tool(name="Find", parameters={"properties": {"size": {"enum": ["min", "max"]}}})


def make_order(number, item):
    rng = random.Random(number)
    prices = {"min": str(rng.randint(1, 9)), "max": str(rng.randint(1, 9))}
    size = rng.choice(["min", "max"])
    order: dict[str, Any] = {
        "id": str(number),
        "instruction": f"Order {' '.join(str(number))}: {item}?",
    }
    order |= {"answer": f"#### {prices[size]}", "data": {"size": size, "prices": prices}}
    return TaskInstance(task="shop", skill=item, **order)


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
    name, n_customers = "shop", 200  # of each split

    def load(self, split):
        first = {"train": 1000, "validation": 2000, "test": 3000}[split]
        return [make_order(first + i, ITEMS[i % 2]) for i in range(self.n_customers)]

    def make_environment(self):
        return Shop(self.instances, others=self.others, max_turns=4)
