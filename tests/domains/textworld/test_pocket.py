"""Pocket text world: its problems, records and judgments, and that a student learns it."""

from itertools import combinations

import numpy as np
import pytest
from tokenizers import Tokenizer

from dataenvgym.agents import PocketEngine
from dataenvgym.domains.textworld.domain import audit
from dataenvgym.domains.textworld.pocket import (
    POCKET_TEXTWORLD,
    SKILLS,
    PocketTextworldTask,
)
from dataenvgym.records import Message
from dataenvgym.records.plans import Assignment
from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.runs.episodes import run_episode
from dataenvgym.students.pocket import student_path
from dataenvgym.tasks.pocket import PocketFamily, families
from dataenvgym.tasks.source import SPLITS

SMALL = {"n_train": 60, "n_validation": 60, "n_test": 60}


@pytest.fixture(scope="module")
def task():
    return PocketTextworldTask(**SMALL)


@pytest.fixture(scope="module")
def records(task):
    return list(
        PocketEngine(task).generate(
            [Assignment(4, skill=s) for s in SKILLS], None, np.random.default_rng(0)
        )
    )


def test_the_audit_finds_nothing(task):
    found = audit(task)
    assert found.violations == []
    assert found.tried["problems"] == 180


def test_questions_are_read_again_and_splits_share_no_operands(task):
    operands = {}
    for split in SPLITS:
        of_split = task.on(split).instances
        assert {i.skill for i in of_split} == set(SKILLS)
        operands[split] = {
            " ".join(sorted(POCKET_TEXTWORLD.operands_in(i.instruction))) for i in of_split
        }
        for instance in of_split:
            again = POCKET_TEXTWORLD.instance(instance.instruction, id=instance.id)
            assert (again.skill, again.data) == (instance.skill, instance.data)
    assert not any(operands[one] & operands[other] for one, other in combinations(SPLITS, 2))


def test_no_other_family_reads_its_questions(task):
    others: list[PocketFamily] = [f for f in families() if f.name != POCKET_TEXTWORLD.name]
    assert len(others) >= 6
    assert not [f.name for f in others for i in task.instances if f.read(i.instruction)]


def test_a_thing_is_in_either_room_so_that_a_student_must_look(task):
    places = [
        list(i.data["order"]).index(i.data["things"][thing])
        for i in task.on("train").instances
        if i.skill in ("search", "fetch")
        for thing in i.data["goal"]
    ]
    assert 0.2 < np.mean(places) < 0.8


def test_records_are_right_conversations_and_wrong_actions_are_judged(task, records):
    domain = task.domain
    assert len(records) == 4 * len(SKILLS)
    assert all(domain.judge_record(record) for record in records)
    for record in records:
        *before, last = record.messages
        wrong = record.model_copy(
            update={"messages": (*before, last.model_copy(update={"content": "Action: look"}))}
        )
        assert domain.judge_record(wrong) is False
    other = record.model_copy(
        update={"messages": (Message(role="user", content="Hello."), record.messages[-1])}
    )
    assert domain.judge_record(other) is None
    flown = domain.conversation(task.instances[0], ["Action: fly"])
    assert "is not possible here" in flown.transcript[-1].content


def test_its_words_are_tokens_of_its_student(task, records):
    folder = student_path(PocketTextworldTask().student)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    longest = max(
        len(tokenizer.encode(message.content)) for record in records for message in record.messages
    )
    assert longest < 24
    replies = {m.content for r in records for m in r.messages if m.role == "assistant"}
    most = max(len(tokenizer.encode(reply)) for reply in replies)
    assert most < PocketTextworldTask().sampling.max_tokens


@pytest.mark.slow
def test_a_student_learns_it(tmp_path):
    sizes = ["task.n_validation=60", "task.n_test=12", "agent.records_per_iteration=300"]
    config = compose(["task=pocket_textworld", *sizes])
    assert config.student.path == "pocket-social-v1"
    summary = run_episode(build_environment(config, tmp_path), build_agent(config), iterations=1)
    assert summary.val_score_gain >= 0.2
