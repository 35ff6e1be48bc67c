"""Problems with a tool: the student asks the scales what one fruit weighs, then says the sum."""

import random

from dataenvgym import Message, Outcome, Task, TaskEnvironment, TaskInstance
from dataenvgym.records import Tool
from dataenvgym.tasks import Ask, Source
from dataenvgym.tasks.dialogue import DialogueDomain

FRUITS = ("apple", "pear", "plum")  # also the skills
FIRST = {"train": 0, "validation": 40, "test": 60}
WEIGH = Tool(name="weigh", parameters={"properties": {"fruit": {"enum": list(FRUITS)}}})


class Scales(TaskEnvironment):
    max_turns = 3

    def begin(self, instance):
        return (Message(role="user", content=instance.instruction, tools=(WEIGH,)),)

    def respond(self, instance, conversation):
        said = conversation[-1]
        if said.tool_calls:
            grams = instance.data["grams"].get(said.tool_calls[0].arguments.get("fruit"), "nothing")
            return Outcome(messages=(Message(role="tool", content=str(grams)),), done=False)
        is_right = said.content.strip() == instance.answer
        scores = {"weighed": float(len(conversation) > 2)}
        if "owner" in self.others:
            question = Message(role="user", content=f"Is this polite? {said.content}")
            reply = yield Ask("owner", (question,))
            scores["polite"] = float(reply.text == "yes")
        return Outcome(reward=float(is_right), was_correct=is_right, scores=scores)


class OrchardDomain(DialogueDomain):
    def __init__(self, others=None):
        self.others = others

    def make_environment(self, instances=()):
        return Scales(instances, others=self.others)

    def asks_model(self, instance):
        return False

    def gold_replies(self, instance):
        yield call_of(instance.skill)
        yield instance.answer


class OrchardSource(Source):
    def load(self, split):
        count = 20 if split != "train" else 40
        return [make(number) for number in range(FIRST[split], FIRST[split] + count)]


class OrchardTask(Task):
    name = "orchard"

    def __init__(self, split="validation", others=None):
        super().__init__(OrchardSource(), OrchardDomain(others), split=split, others=others)


def make(number):
    rng = random.Random(number)
    grams = {fruit: rng.randint(50, 99) for fruit in FRUITS}
    fruit = FRUITS[number % len(FRUITS)]
    return TaskInstance(
        id=str(number),
        task="orchard",
        instruction=f"Basket {number}: what do {number + 2} of {fruit} weigh?",
        answer=str((number + 2) * grams[fruit]),
        skill=fruit,
        data={"grams": grams},
    )


def call_of(fruit):
    return f'<tool_call>{{"name": "weigh", "arguments": {{"fruit": "{fruit}"}}}}</tool_call>'


def make_scales(instances=None, **options):
    return Scales(OrchardTask().instances if instances is None else instances, **options)
