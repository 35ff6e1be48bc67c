"""What the student and each other speaker take, in every domain."""

import json

import pytest

from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.few_shot.pocket import PocketFewShotTask
from dataenvgym.domains.knowledge.task import KnowledgeTask
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.orchestrate.pocket import PocketOrchestrateTask
from dataenvgym.domains.social.task import SocialTask
from dataenvgym.domains.textworld.task import TextworldHouseTask
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.domains.tool_use.users import STOP
from dataenvgym.errors import PredictionError
from dataenvgym.interfaces import Reply
from dataenvgym.tasks.metrics.files import EvaluationFiles
from dataenvgym.tasks.metrics.sampling import draw_samples
from dataenvgym.tasks.metrics.usage import read_costs, write_costs
from dataenvgym.teachers.budget import cost_of


class Paid:
    """Says the same each time; a reply takes 10 tokens and 2, half a second, and its price.

    Attributes:
        n: how often it was asked.
    """

    def __init__(self, text, price=0.25):
        self.text = text
        self.price = price
        self.n = 0

    def predict(self, conversations, sampling):
        self.n += len(conversations)
        took = {"prompt_tokens": 10, "completion_tokens": 2, "seconds": 0.5, "cost": self.price}
        return [Reply(text=self.text, **took) for _ in conversations]

    @property
    def took(self):
        return (10 * self.n, 2 * self.n, self.n / 2, None if self.price is None else self.n / 4)


def call(name):
    return json.dumps({"name": "answer", "arguments": {"model": name}})


def knowledge(others, folder):
    row = {"title": "T", "context": "c", "answer": "Ada"}
    rows = [{**row, "question": f"Who {name}?"} for name in "abcd"]
    (path := folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return KnowledgeTask(path, graded_by="judge", others=others, fractions={"validation": 1.0})


RIGHT = '{"reason": "so", "is_right": true}'
EACH = {  # the task, what the student says, and what the others say
    "math": (lambda others, folder: PocketMathTask(n_validation=4), "1", {}),
    "code": (lambda others, folder: PocketCodeTask(n_validation=4), "def f(x):\n    return x", {}),
    "few_shot": (lambda others, folder: PocketFewShotTask(n_validation=4), "1 2", {}),
    "knowledge": (knowledge, "Eve", {"judge": RIGHT}),
    "tool_use": (lambda others, folder: ToolUseTask(others=others, max_turns=3), "Hello.",
                 {"user": f"Bye. {STOP}", "judge": '{"reason": "so", "at_fault": "assistant"}'}),
    "social": (lambda others, folder: SocialTask(partner="model", judges=("jury",), others=others,
                                                 dimensions=("relationship", "goal")),
               "Hello.", {"partner": "[leave]",
                          "jury": '{"relationship": {"reason": "so", "score": 3}}'}),
    "textworld": (lambda others, folder: TextworldHouseTask(role="strategist", others=others,
                                                           max_turns=3),
                  "Strategy: look", {"speaker": "Action: look"}),
    "orchestrate": (lambda others, folder: PocketOrchestrateTask(n_validation=4, graded_by="judge",
                                                                 others=others),
                    call("answer-1"), {"answer-1": "<answer>I</answer>", "judge": RIGHT}),
}  # fmt: skip


ANN = {"kind": "model", "instructions": "You are Ann and want a pan."}


def problems(task):
    """Four of them; in tool worlds, a model plays the user."""
    chosen = task.instances[:4]
    if not isinstance(task, ToolUseTask):
        return chosen
    return [i.model_copy(update={"data": {**i.data, "user": ANN}}) for i in chosen]


def evaluated(task, student, folder):
    files = EvaluationFiles(folder, chunk=2)
    draw_samples(files, task, student, problems(task), 1)
    return write_costs(files, 1)


def numbers(usage):
    return (usage.prompt_tokens, usage.completion_tokens, usage.seconds, usage.cost)


@pytest.fixture(params=EACH)
def domain(request, tmp_path):
    """Makes the task of a domain, a student, and its other speakers, with the price of one."""
    make, said, others = EACH[request.param]

    def made(prices=()):
        prices = dict(prices)
        student = Paid(said, prices.get("student", 0.25))
        speakers = {who: Paid(text, prices.get(who, 0.25)) for who, text in others.items()}
        return make(speakers, tmp_path), student, speakers

    return made


def named(speakers):
    """Their names in costs: all tiers together are the tools."""
    return {"tools" if who == "answer-1" else who: model for who, model in speakers.items()}


def test_every_speaker_is_counted_apart_in_all_and_for_each_problem(domain, tmp_path):
    task, student, speakers = domain()
    found = evaluated(task, student, tmp_path)
    everyone = named({"student": student, **speakers})
    assert all(model.n for model in everyone.values())
    took = {who: model.took for who, model in everyone.items()}
    assert {who: numbers(usage) for who, usage in found.speakers.items()} == took
    assert len(found.problems) == len(problems(task))
    for who, model in everyone.items():
        each = [costs[who].cost for costs in found.problems.values() if who in costs]
        assert sum(each) == model.took[-1]
    assert read_costs(tmp_path) == found


def test_the_money_of_one_without_a_price_is_unknown_and_that_of_the_others_is_known(
    domain, tmp_path
):
    for dear in ("student", *domain()[2]):
        task, student, speakers = domain({dear: None})
        found = evaluated(task, student, tmp_path / dear)
        everyone = named({"student": student, **speakers})
        money = {who: usage.cost for who, usage in found.speakers.items()}
        # a tier has a price of its own, which is stated
        expected = {who: model.took[-1] for who, model in everyone.items() if who != "tools"}
        assert money == money | expected
        assert (money.get("tools", 0) is None) is (dear == "tools")


def test_an_evaluation_that_was_killed_and_resumed_has_the_same_costs(domain, tmp_path):
    task, student, _ = domain()
    whole = evaluated(task, student, tmp_path / "whole")
    task, student, speakers = domain()
    files = EvaluationFiles(tmp_path / "killed", chunk=2)
    # dies in the second chunk, when the last speaker is asked
    last = next(reversed({"student": student, **speakers}.values()))
    answer = last.predict

    def predict(conversations, sampling):
        if files.part(0, 0).exists():
            raise PredictionError("killed")
        return answer(conversations, sampling)

    last.predict = predict
    with pytest.raises(PredictionError, match="killed"):
        draw_samples(files, task, student, problems(task), 1)
    assert write_costs(files, 1) is None
    last.predict = answer
    assert evaluated(task, student, tmp_path / "killed") == whole


def test_a_tier_whose_replies_cannot_be_used_is_paid_for_each_of_them(tmp_path):
    tier = Paid("I do not know.", price=None)
    task = PocketOrchestrateTask(n_validation=4, retries=2, others={"answer-1": tier})
    found = evaluated(task, Paid(call("answer-1")), tmp_path)
    assert tier.n == 12  # four problems, each in three tries, which end with an error
    tools = found.speakers["tools"]
    assert numbers(tools)[:3] == tier.took[:3]
    assert tools.cost == pytest.approx(12 * cost_of(task.domain.tiers["answer-1"].price, 10, 2))
