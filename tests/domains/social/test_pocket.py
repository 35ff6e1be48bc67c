"""Pocket social: scenes that are played, gold records, and records that are judged."""

from collections import Counter

import numpy as np
import pytest

from dataenvgym.agents import Assignment, PocketEngine
from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.social.procedural_skills import SKILLS
from dataenvgym.environments import RecordChecks
from dataenvgym.records import ChatDatum, SupervisedDatum
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.social.social_scenes import says

SMALL = {"n_train": 48, "n_validation": 48, "n_test": 48}


@pytest.fixture(scope="module")
def task():
    return PocketSocialTask(**SMALL)


def written(task, per_skill=2):
    plan = [Assignment(per_skill, skill=skill) for skill in SKILLS]
    return list(PocketEngine(task).generate(plan, None, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def records(task):
    return written(task)


def test_gold_replies_earn_everything_and_silence_and_talk_nothing(task):
    assert {task.domain.gold_conversation(i).reward for i in task.instances} == {1.0}
    for silence in ("[none]", "", "?", "No.", "No deal.", "[action] waits", "{}", "I withdraw"):
        assert {done.reward for done in task.evaluate(says(silence))} == {0.0}, silence


LIES = (
    "It is a lie that {}", "I never say: {}", '"{}"', "{} Not!", "{} I am joking.",
    "Is it true? {}", "{}?", "No: {}", "{}\n{}", "My friend says {}", "**Not** {}",
)  # fmt: skip


@pytest.mark.parametrize("skill", SKILLS)
def test_a_lie_around_the_gold_message_earns_what_silence_earns(task, skill):
    """Of the last gold message; the ones before it only prepare it."""
    for instance in [i for i in task.instances if i.skill == skill]:
        *before, last = task.domain.gold_replies(instance)
        mark, space, words = last.rpartition("] ") if last.startswith("[") else ("", "", last)

        def score(text, instance=instance, before=before):
            return task.attempt(says(*before, text, "Hm."), [instance])[0].reward

        assert score(last) == 1.0
        earned = float(mark == "[leave")  # leaving is an act, whatever is said with it
        for lie in LIES:
            assert score(mark + space + lie.format(words, words)) == earned, lie


@pytest.mark.parametrize("rules", ["sotopia", "epo"])
def test_scenes_with_a_full_prompt_have_gold_records_in_the_forms_that_it_names(rules):
    task = SocialTask(scenes="procedural", n_procedural=160, rules=rules)
    for record in written(task, 1):
        problem = task.problem_of(record)
        assert record.provenance.skill == problem.skill
        assert task.domain.judge_record(record)
        conversation = getattr(record, "conversation", None) or record.prompt
        assert conversation[0] == task.domain.prompt(problem)[0]
    for instance in task.instances:
        gold = task.domain.gold_conversation(instance)
        assert gold.reward == 1.0
        shown, said, *_ = (message.content for message in gold.transcript)
        if instance.skill in ("open_high", "open_low"):
            assert said.startswith("[action] offer" if rules == "sotopia" else "I say"), said
        if instance.skill in ("share_fairly", "announce"):
            assert "- Say it in a message of its own: T" in shown


def test_the_engines_records_are_the_gold_conversations_of_the_environment(task, records):
    assert len(records) == 2 * len(SKILLS)
    kinds = Counter(type(record) for record in records)
    assert kinds == {SupervisedDatum: 2 * 12, ChatDatum: 2 * 4}
    problems = [task.problem_of(record) for record in records]
    for record, problem in zip(records, problems, strict=True):
        assert task.domain.gold_record(problem).model_dump(exclude={"provenance"}) == (
            record.model_dump(exclude={"provenance"})
        )
        assert task.domain.judge_record(record)


def test_a_record_on_an_evaluated_scene_is_refused_in_any_phrasing(task, records):
    family, checks = task.domain.family, RecordChecks(task)
    assert len(checks.check(records).accepted) == len(records)
    leaks = []
    for instance in task.instances[:16]:
        exercise = family.read(instance.instruction)
        others = [p for p in family.phrasings[exercise.skill] if p != exercise.phrasing]
        reworded = family.reworded(exercise, others[0])
        provenance = records[0].provenance
        leaks += [family.record(e, task.domain, provenance) for e in (exercise, reworded)]
    assert not checks.check(leaks).accepted


def test_a_record_is_judged_by_its_result(task, records):
    judge = task.domain.judge_record
    high = next(r for r in records if r.provenance.skill == "open_high")
    assert judge(high.model_copy(update={"output": "I say 1 euros."})) is False
    assert judge(high.model_copy(update={"output": "[leave] Goodbye."})) is False
    assert judge(high.model_copy(update={"instruction": "Who are you?"})) is None
    firm = next(r for r in records if r.provenance.skill == "hold_firm")
    last = firm.messages[-1].model_copy(update={"content": "[leave] Goodbye."})
    assert judge(firm.model_copy(update={"messages": (*firm.messages[:-1], last)})) is False


def test_a_strategist_of_the_student_is_asked_and_followed(task):
    """The speaker knows the gold move once it is advised anything at all."""

    def speaks(conversation):
        assert "(Strategy: hold)" in conversation[-1].content
        question = conversation[0].content.split("\n\n")[0]
        return task.domain.family.find(question)[0].replies[len(conversation) // 2]

    speaker = ScriptedPredictor(speaks)
    advised = PocketSocialTask(**SMALL, role="strategist", others={"speaker": speaker})
    assert all(c.reward == 1.0 for c in advised.evaluate(says("Strategy: hold")))
    prompt = advised.domain.prompt(advised.instances[0])
    assert "Strategy: ..." in prompt[0].content
    assert advised.domain.judge_record(written(task, 1)[0]) is None  # it would have to be asked


# --- procedural scenes for any student ----------------------------------------------------------


def test_the_same_scenes_come_with_the_usual_introduction():
    task = SocialTask("procedural", n_procedural=160)
    assert [len(task.on(s).instances) for s in ("train", "validation", "test")] == [64, 48, 48]
    first = task.domain.prompt(task.instances[0])[0].content
    assert first.startswith("You are Ann.")
    assert "Your goal: " in first
    records = written(task, 1)
    assert len(RecordChecks(task).check(records).accepted) == len(records)
    leaks = [task.domain.gold_record(instance) for instance in task.instances[:16]]
    assert not RecordChecks(task).check(leaks).accepted


def test_a_model_may_play_the_others_in_procedural_scenes():
    options = {"partner": "model", "others": {"partner": says("[leave] Goodbye.")}}
    task = SocialTask("procedural", n_procedural=160, **options)
    instance = next(i for i in task.instances if i.skill == "open_high")
    (completed,) = task.attempt(says("Hello."), [instance])
    assert (completed.error, completed.reward) == (None, 0.0)
