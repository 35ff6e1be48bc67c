"""Thoughts are not speech, in any domain: a reply behind a thought has the effects of the reply."""

import json
from contextlib import closing
from itertools import islice

import pytest

from dataenvgym import PocketMathTask, SocialTask, ToolUseTask
from dataenvgym.domains.knowledge.pocket import PocketKnowledgeTask
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.tool_use.calls.task import APIBankTask
from dataenvgym.domains.tool_use.plans.task import PlansTask
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.interfaces import Reply
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import solves
from dataenvgym.tasks.metrics.answers import answers_of
from dataenvgym.tasks.record_conversion import record_of
from dataenvgym.tasks.rollouts import speakers_of
from tests.calls_files import write_dialogues
from tests.domains.tool_use.phone_world import SET, begun, instance, say
from tests.domains.tool_use.plans.conftest import TOOLS, row, write_rows
from tests.tasks.rollouts.fakes import Predictor

THOUGHTS = ("<think>{}</think>", "<think>\n{}\n</think>\n\n", "{}</think>", "{}\n</think>\n\n")
UNFINISHED = ("<think>{}", "<reasoning>\n{}\n")


def plans(folder, form):
    kinds = ("caption", "story", "translate")
    rows = write_rows(folder / "rows.jsonl", [row(n, kinds[n % 3]) for n in range(6)])
    tools = folder / "tools.json"
    tools.write_text(json.dumps(TOOLS))
    return PlansTask(str(rows), str(tools), form=form).whole()


TASKS = {
    "math": lambda folder: PocketMathTask(n_validation=6, n_test=6),
    "pocket tools": lambda folder: PocketToolsTask(n_validation=6, n_test=6),
    "shop": lambda folder: ToolUseTask("shop"),
    "pocket knowledge": lambda folder: PocketKnowledgeTask(n_validation=6, n_test=6),
    "wallet": lambda folder: ToolUseTask("wallet"),
    "pocket social": lambda folder: PocketSocialTask(n_validation=6, n_test=6),
    "negotiations": lambda folder: SocialTask(partner="tough"),
    "API-Bank": lambda folder: APIBankTask(write_dialogues(folder / "api-bank")).whole(),
    "plans as JSON": lambda folder: plans(folder, "json"),
    "plans as code": lambda folder: plans(folder, "code"),
}


def gold_replies(domain, problem):
    if isinstance(domain, DialogueDomain):
        return list(islice(domain.gold_replies(problem), 8))
    return [next(way for way in domain.ways_to_answer(problem) if solves(domain, problem, way))]


def played(task, problem, replies):
    """Everything that the replies have done, and the finished try."""
    with closing(task.domain.make_environment()) as environment:
        environment.reset(seed=0, options={"instance": problem})
        for reply in replies:
            conversation, *end, info = environment.step(reply)
            if end[1] or end[2]:
                break
    heard = [m for m in conversation if m.role != "assistant"]
    completed = CompletedTaskInstance(
        instance=problem, transcript=conversation, reward=end[0], was_correct=info["was_correct"]
    )
    return (heard, end, info, answers_of(task, [completed])), completed


@pytest.mark.parametrize("name", TASKS)
def test_a_thought_before_a_reply_changes_nothing(name, tmp_path):
    task = TASKS[name](tmp_path)
    domain = task.domain
    n_right = 0
    for number, problem in enumerate(list(task.instances)[:6]):
        gold = gold_replies(domain, problem)
        for replies in (gold, ["Hm."] * len(gold)):
            effects, plain = played(task, problem, replies)
            n_right += replies is gold and plain.was_correct
            for thought in THOUGHTS:
                drafts = [thought.format(draft) for draft in (*gold[::-1], "No.")][: len(replies)]
                behind = [draft + reply for draft, reply in zip(drafts, replies, strict=True)]
                found, completed = played(task, problem, behind)
                assert found == effects, (thought, number)
                said = [m.content for m in completed.transcript if m.role == "assistant"]
                assert any(drafts[0].rstrip("\n") in text for text in said)
                assert "</think>" in str(record_of(completed))
        nothing = played(task, problem, [""] * len(gold))[0]
        for thought in UNFINISHED:
            assert played(task, problem, map(thought.format, gold))[0] == nothing, thought
    assert n_right > 0
    task.close()


class Listening(Predictor):
    """A speaker that thinks, gives an answer, and records what it read."""

    def __init__(self, answer):
        self.read = []
        super().__init__(lambda conversation: self.read.append(conversation) or Reply(text=answer))


def test_neither_user_nor_student_nor_judge_reads_the_thoughts_of_another():
    ann = {
        "kind": "model",
        "instructions": "You are Ann.",
        "facts": [{"asked": ["age"], "tell": "33"}],
    }
    user = Listening("<think>I am 33.</think>Why?")
    environment = begun(instance(user=ann), others=speakers_of({"user": user}))
    seen, *_ = environment.step("<think>Her age?</think>Hello.")
    assert seen[-1].content == "Why?"
    assert "Her age?" not in str(user.read)
    assert seen[-2].content == "<think>Her age?</think>Hello."

    verdict = '{"things": [{"number": 1, "reason": "so", "was_said": true}]}'
    judge = Listening(f"<think>{verdict.replace('true', 'false')}</think>{verdict}")
    problem = instance(basis=["state", "said"], said=["12 months"], said_by="judge")
    environment = begun(problem, others=speakers_of({"judge": judge}))
    environment.step(f"<think>For a year?</think>{say(SET)}")
    *_, info = environment.step("<think>Twelve of them!</think>It is done.")
    assert "It is done." in str(judge.read)
    assert "Twelve" not in str(judge.read)
    assert info["scores"]["said"] == 1.0
