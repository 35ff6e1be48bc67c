"""Requests, tiers and calls for tests of orchestration."""

import json

from dataenvgym.domains.orchestrate.domain import OrchestrateDomain, call_of
from dataenvgym.domains.orchestrate.environment import CallOptions
from dataenvgym.domains.orchestrate.tiers import parse_tiers
from dataenvgym.records import TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Task

PRICE = {"prompt": 1.0, "completion": 2.0}
SURE = {
    "search-3": {"accuracy": 1.0},
    "reasoner-3": {"accuracy": 1.0},
    "answer-4": {"accuracy": 1.0},
}


class ScriptedRetriever:
    """Finds what a function says."""

    def __init__(self, script):
        self.script = script

    def search(self, query, k):
        return self.script(query, k)[:k]


FOUND = ScriptedRetriever(lambda query, k: [f"{query} {i}" for i in range(9)])


def request(id="1", question="Who won?", answer="Denver", **data):
    return TaskInstance(id=id, task="t", instruction=question, answer=answer, data=data)


def domain(tiers=SURE, others=None, retriever=FOUND, **options):
    more = {name: options.pop(name) for name in ("max_turns",) if name in options}
    return OrchestrateDomain(
        parse_tiers(tiers), CallOptions(**options), retriever=retriever, others=others, **more
    )


def call(name):
    return call_of(name, parse_tiers(None))


def calls(*names):
    return "\n".join(map(call, names))


class Requests(Task):
    """A task with given requests."""

    name = "requests"

    def __init__(self, domain, instances=()):
        self.given = instances or (request(),)
        super().__init__(domain=domain, others=domain.others)

    def load(self, split):
        return self.given


def played(domain, *said, instance=None):
    """The completed instance if the student says these texts in turn; the last one to the end."""
    prompts = []

    def say(conversation):
        prompts.append(conversation)
        return said[min(len(prompts), len(said)) - 1]

    task = Requests(domain, (instance or request(),))
    (done,) = task.evaluate(ScriptedPredictor(say))
    return done, prompts


def results(done):
    return [json.loads(m.content) for m in done.transcript if m.role == "tool"]
