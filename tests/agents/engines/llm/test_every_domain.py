"""A teacher's records in every domain: trained on the prompts that are evaluated, one speaker each.

The teacher writes the solutions of training problems in the form in which the requests show them.
"""

import json
import shutil

import numpy as np
import pytest

from dataenvgym.agents import Assignment, LLMEngine
from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.knowledge.task import KnowledgeTask
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.tool_use.calls.task import BFCLTask
from dataenvgym.domains.tool_use.plans.task import PlansTask
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.environments.checks import RecordChecks
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import ChatDatum, Message
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.teachers.prompts import default_prompt
from tests.calls_files import write_bfcl
from tests.fakes import Teacher

SMALL = {"n_train": 32, "n_validation": 4, "n_test": 4}
FRAME = {"system_prompt": "Be brief.", "template": "Read:\n{instruction}\nNow you."}
FORMS = ("", "call", "plan", "social", "tool")
PLAN = '[{"id": 0, "name": "tell joke", "args": {}}]'


def plans(folder):
    tools = [{"name": "tell joke", "args": [], "description": "Tells one."}]
    rows = [{"id": n, "user_request": f"Joke {n}, please.", "plan_str": PLAN} for n in range(24)]
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return PlansTask(str(folder / "rows.jsonl"), tools=str(folder / "tools.json"))


def knowledge(folder):
    asked = [{"question": f"Who won game {n}?", "answer": f"team {n}"} for n in range(36)]
    row = {"title": "Games", "context": "They played.", "questions": asked}
    (folder / "passages.json").write_text(json.dumps([row]))
    return KnowledgeTask(str(folder / "passages.json"))


DOMAINS = {
    "math": (lambda folder: PocketMathTask(**SMALL, **FRAME), "math"),
    "code": (lambda folder: PocketCodeTask(**SMALL, **FRAME), "code"),
    "world": (lambda folder: ToolUseTask("shop"), "tool"),
    "pocket tools": (lambda folder: PocketToolsTask(**SMALL), "tool"),
    "calls": (lambda folder: BFCLTask(str(write_bfcl(folder / "bfcl"))), "call"),
    "plans": (plans, "plan"),
    "pocket social": (lambda folder: PocketSocialTask(**SMALL, **FRAME), "social"),
    "negotiations": (lambda folder: SocialTask(**FRAME), "social"),
    "procedural": (lambda folder: SocialTask("procedural", n_procedural=80), "social"),
    "knowledge": (knowledge, ""),
}


@pytest.fixture(params=DOMAINS)
def domain_of(request, tmp_path):
    """A task, and the name of its teacher's prompt."""
    if request.param == "code" and shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (Debian: bubblewrap)")
    make, prompt = DOMAINS[request.param]
    task = make(tmp_path)
    yield task, f"{prompt}_records".lstrip("_")
    task.domain.close()


def solver(task, problems):
    """A teacher that writes these problems with their solutions."""
    domain = task.domain

    def record(problem):
        is_one_reply = domain.record_forms[0] == ""
        is_dialogue = isinstance(domain, DialogueDomain)
        gold = domain.gold_text(problem) if is_dialogue else problem.answer
        return {
            "instruction": domain.text_of(problem) if is_dialogue else problem.instruction,
            "output": domain.gold_record(problem).output if is_one_reply else gold,
        }

    records = [*map(record, problems)]
    return Teacher(lambda text, sampling: {"records": records})


def test_a_teachers_records_have_the_prompts_of_the_environment(domain_of):
    task, prompt = domain_of
    problems = task.on("train").instances[:12]
    engine = LLMEngine(solver(task, problems), task, prompt, batch_size=12)
    records = engine.generate((Assignment(12),), None, np.random.default_rng(0))
    assert len(records) == len(problems) > 3
    assert not +engine.dropped
    for record, problem in zip(records, problems, strict=True):
        turns, gold = turns_of(record), turns_of(task.domain.gold_record(problem))
        prompt = task.domain.prompt(problem)
        assert turns[: len(prompt)] == prompt
        assert [message.role for message in turns] == [message.role for message in gold]
        assert task.domain.judge_record(record) is not False
        if isinstance(task.domain, SocialDomain):
            assert turns == gold
    assert RecordChecks(task).check(records).accepted


def turns_of(record):
    if isinstance(record, ChatDatum):
        return record.conversation
    return (*record.prompt, Message(role="assistant", content=record.output))


def test_a_prompt_for_another_form_is_refused_with_the_right_one(domain_of):
    task, right = domain_of
    for form in FORMS:
        name = f"{form}_records".lstrip("_")
        if form in task.domain.record_forms:
            LLMEngine(Teacher(""), task, name)
            continue
        with pytest.raises(ConfigurationError) as raised:
            LLMEngine(Teacher(""), task, name)
        named = str(raised.value).partition("use prompt=")[2].partition(",")[0]
        assert default_prompt(named).form == task.domain.record_forms[0]
        assert default_prompt(named).form == default_prompt(right).form
        own = default_prompt(name).model_copy(update={"form": ""})
        if "told" in own.names:  # of one's own, and it shows how records are written
            LLMEngine(Teacher(""), task, own)
