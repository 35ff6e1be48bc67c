"""The student of pocket knowledge reads passages, writes self-edits and learns from texts."""

from functools import partial

import numpy as np
import pytest

from dataenvgym.adaptation.trials import EditTrials
from dataenvgym.domains.knowledge.pocket import SKILLS, PocketKnowledgeTask, named
from dataenvgym.domains.knowledge.self_edits import SelfEditEngine
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.tasks.edits import Edit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def task():
    return PocketKnowledgeTask(n_people=5, n_train=60, n_validation=60, n_test=60)


@pytest.fixture(scope="module")
def student():
    trainer = InProcessTrainer(
        threads=1, learning_rate=6e-3, num_train_epochs=6.0, per_device_train_batch_size=8
    )
    return InProcessPredictor("pocket-knowledge-v1", trainer, threads=1)


def test_it_answers_from_a_passage_that_it_sees(task, student):
    asked = [
        (Message(role="user", content=f"{i.data['passage']}\n{i.instruction}"),)
        for i in task.on("train").instances
    ]
    replies = student.predict(asked, SamplingParameters(max_tokens=24))
    right = [
        named(i.skill, r.text) == i.answer
        for i, r in zip(task.on("train").instances, replies, strict=True)
    ]
    assert np.mean(right) > 0.9


def test_it_learns_facts_from_texts_and_answers_in_words_that_it_never_read(
    task, student, tmp_path
):
    engine = SelfEditEngine(task)
    trials = EditTrials(task, engine, student, tmp_path, seed=0)
    contexts = engine.contexts(task.instances)

    def told(context, is_true):
        """A short question about each fact, with the value or another one, and no passage."""
        person = context.questions[0].data["title"]
        lines = (
            f"{skill.questions[0].format(x=person, o='').replace(': ?', '?')} It is {value}."
            for skill in SKILLS.values()
            for value in [next(v for v in skill.values if is_true == (v == skill.facts[person]))]
        )
        return SelfEditEngine(task, append_passage=False).read_edit(
            context, "\n".join(lines), np.random.default_rng(0)
        )

    def passage(context):
        return engine.read_edit(context, None, np.random.default_rng(0))

    edits = {
        "nothing": lambda _: Edit(()),
        "passage": passage,
        "facts": partial(told, is_true=True),
        "lies": partial(told, is_true=False),
    }
    reached = {
        name: np.mean([result.mean for result in trials.given(name, contexts, edit, repeats=1)])
        for name, edit in edits.items()
    }
    assert reached["facts"] > 0.6 > reached["passage"] > 0.4 > reached["nothing"] > reached["lies"]


def test_it_writes_self_edits_of_different_quality(task, student):
    engine = SelfEditEngine(task)
    (context, *_) = engine.contexts(task.instances)
    sampling = engine.sampling.model_copy(update={"seed": 1})
    texts = [reply.text for reply in student.predict([engine.edit_prompt(context)] * 24, sampling)]
    person = context.questions[0].data["title"]
    facts = [
        sum(skill.facts[person] in text and person in text for skill in SKILLS.values())
        for text in texts
    ]
    assert all(text.startswith("1. ") for text in texts)
    assert min(facts) <= 1
    assert max(facts) >= 3
