"""A domain with a tool, a user and a judge: ask the customer's size, find the price, and say it.

Customer and judge are models at a server, here a stub, which can play the student, too.
"""

import sys

from stub_models import StubModels

from dataenvgym.agents import Agent, SkillListPolicy
from dataenvgym.environments import SkillList
from dataenvgym.episodes import run_episode
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.predictors import InProcessPredictor, OpenAIPredictor, ScriptedPredictor
from dataenvgym.records import ChatDatum, Message, TaskInstance
from dataenvgym.tasks import Ask, Outcome, Task, TaskEnvironment

SKILLS = ("tea", "cake")
STUBS = {  # what each model says to the last message
    "student": lambda text: {"O": "Which", "p": f"#### {text[-1]}"}.get(text[0], f"Find {text}"),
    "customer": lambda text: text.split()[-1],
    "judge": lambda text: "yes" if text.startswith(f"#### {text[-1]} ") else "no",
}


def dialogue(i):  # as it should be: customer, student, customer, student, tool, student
    size, price = ("min", "max")[i // 2 % 2], i * i // 10 % 10
    order = f"Order {' '.join(str(i))}: {SKILLS[i % 2]}?"
    return [order, "Which", size, f"Find {size}", f"price {price}", f"#### {price}"]


class Shop(TaskEnvironment):
    def respond(self, instance, conversation):
        _, which, size, find, price, _ = dialogue(int(instance.id))
        said = conversation[-1].content
        if said in (which, find):
            card = Message(role="user", content=f"Say your size, {size}")
            heard = price if said == find else (yield Ask("customer", (card,)))
            return Outcome(messages=(Message(role="user", content=heard),), done=False)
        question = Message(role="user", content=f"{said} is right, at a {price}")
        is_right = (yield Ask("judge", (question,))) == "yes"
        return Outcome(reward=float(is_right), was_correct=is_right)


class ShopTask(Task):
    name = "shop"

    def load(self, split):
        n = {"train": 1000, "validation": 2000, "test": 3000}[split]
        orders = [(i, dialogue(i)[0], SKILLS[i % 2]) for i in range(n, n + customers)]
        return [TaskInstance(id=str(i), task="shop", instruction=o, skill=s) for i, o, s in orders]

    def make_environment(self):
        return Shop(self.instances, others=self.others, max_turns=4)


class ShopEngine:
    skills = SKILLS

    def generate(self, plan, predictor, rng):
        wanted = [SKILLS.index(a.skill) for a in plan for _ in range(a.count)]
        return [self.record(2 * int(rng.integers(2000, 5000)) + k) for k in wanted]

    def record(self, i):
        turns = zip(("user", "assistant") * 3, dialogue(i), strict=True)
        return ChatDatum(messages=[Message(role=role, content=text) for role, text in turns])


if __name__ == "__main__":
    customers, records = map(int, sys.argv[1:] or (200, 200))
    server = StubModels(STUBS, crowd=customers)
    options = {"base_url": server.url, "api_key_variable": None, "concurrency": customers}
    others = {who: OpenAIPredictor(who, **options) for who in ("customer", "judge")}
    task = ShopTask(others=others, sampling=SamplingParameters(max_tokens=4))
    without_rounds = task.evaluate(OpenAIPredictor("student", **options))
    in_rounds = task.evaluate(ScriptedPredictor(lambda c: STUBS["student"](c[-1].content)))
    print(f"{server.peak} requests at once; as in rounds: {in_rounds == without_rounds}")
    agent = Agent(SkillListPolicy(), ShopEngine(), name="shop", records_per_iteration=records)
    summary = run_episode(SkillList(task, InProcessPredictor()), agent, iterations=1)
    print(f"validation {summary.iterations[0].val_score:.2f} -> {summary.best.val_score:.2f}")
