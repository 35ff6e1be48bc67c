import os
from pathlib import Path

import numpy as np
import pytest

from dataenvgym.adaptation import WritesEdits
from dataenvgym.domains.knowledge.environment import Passage, passage_of
from dataenvgym.domains.knowledge.pocket import PocketKnowledgeTask
from dataenvgym.domains.knowledge.self_edits import SelfEditEngine, train_sequences
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments.overlap import EvaluatedProblems
from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.events import hearing_warnings
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records import CompletedTaskInstance, TextDatum
from dataenvgym.records.plans import Assignment
from dataenvgym.runs.config import build_task, compose
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.teachers.teacher import StudentTeacher

T = Passage("T", "{passage}")
LIST = "Sure:\n1. A\n2. B"
SIZES = {"n_train": 40, "n_validation": 10, "n_test": 10}


@pytest.fixture(scope="module")
def task():
    return PocketKnowledgeTask(**SIZES)


def writer(text=LIST):
    """A student that writes this, and the prompts that it gets."""
    asked = []

    def write(conversation):
        asked.append(conversation[-1].content)
        return text(len(asked)) if callable(text) else text

    return ScriptedPredictor(write), asked


def generate(engine, *plan, student=None, seed=0):
    return engine.generate(plan, student or writer()[0], np.random.default_rng(seed))


# --- sequences ---


def test_lines_are_headed_by_the_title_without_the_preamble_and_the_passage_comes_last():
    assert train_sequences(LIST, T) == ["T\n1. A", "T\n2. B", "T\n{passage}"]
    assert train_sequences("First: A\n\n 2. B ", T) == ["T\nFirst: A", "T\n2. B", "T\n{passage}"]
    assert train_sequences(LIST, T, append_passage=False) == ["T\n1. A", "T\n2. B"]


def test_segments_are_divided_at_three_dashes_only():
    edit = "A\nB\n---\n\n C \n---\n"
    assert train_sequences(edit, T, "segments") == ["T\nA\nB", "T\nC", "T\n{passage}"]
    assert train_sequences(edit, T, "lines") == ["T\nA", "T\nB", "T\nC", "T\n{passage}"]


def test_questions_stay_with_their_answers():
    edit = "What is A?\nAnswer: B\nQuestion 2: What is C?\nAnswer: D\nof E"
    assert train_sequences(edit, T) == [
        "T\nQuestion 1: What is A?\nAnswer: B",
        "T\nQuestion 2: What is C?\nAnswer: D\nof E",
        "T\n{passage}",
    ]
    assert train_sequences(edit, T, "segments") == [f"T\n{edit}", "T\n{passage}"]
    assert train_sequences("Question 1: A\nQuestion 2: B", T)[0] == "T\nQuestion 1: A"


# --- the engine ---


def test_the_student_writes_from_the_passages_in_the_published_words(task):
    student, asked = writer()
    records = generate(SelfEditEngine(task, samples=2), Assignment(40), student=student)
    assert all(isinstance(record, TextDatum) for record in records)
    problems = task.on("train").instances
    passage = next(i.data["passage"] for i in problems if i.data["title"] == "Tavo")
    assert (
        "Let's read the following passage and produce a list of implications derived directly or "
        f"indirectly from the content.\n\nPassage:\nTavo\n{passage}\n\nImplications:\n"
    ) in asked
    texts = [record.text for record in records]
    assert f"Tavo\n{passage}" in texts
    assert "Tavo\n1. A" in texts
    assert len(texts) == len(set(texts)) == 3 * 8  # two equal edits of each person
    assert len(asked) == 2 * 8


@pytest.mark.parametrize(
    ("style", "words"),
    [
        ("long_implications", "a long list of implications"),
        ("very_long_implications", "a very long list of implications"),
        ("rewrite", "rewrite it in a few different ways"),
        ("self_qa", "question-answer format"),
    ],
)
def test_every_style_has_a_prompt(task, style, words):
    student, asked = writer()
    generate(SelfEditEngine(task, style=style, samples=1), Assignment(5), student=student)
    assert words in asked[0]
    assert asked[0].endswith("Question 1: " if style == "self_qa" else ":\n")


def test_the_arm_without_edits_gives_each_passage_once_and_ends(task):
    engine = SelfEditEngine(task, style="passage")
    records = generate(engine, Assignment(5))
    assert engine.fit.writes
    again = SelfEditEngine(task, style="passage")
    again.load_state_dict(engine.state_dict())
    rest = generate(again, Assignment(99), seed=1)
    assert len({record.text for record in (*records, *rest)}) == 5 + 3
    assert not again.fit.writes
    with pytest.raises(ConfigurationError, match="append_passage=true"):
        SelfEditEngine(task, style="passage", append_passage=False)


def test_the_arm_without_the_passage_learns_only_edits(task):
    engine = SelfEditEngine(task, append_passage=False, samples=1)
    texts = {record.text.partition("\n")[2] for record in generate(engine, Assignment(99))}
    assert texts == {"1. A", "2. B"}


def test_an_examples_passage_comes_first_and_records_name_the_skill(task):
    wrong = next(i for i in task.instances if i.data["title"] == "Merin")
    done = CompletedTaskInstance(instance=wrong, transcript=(), reward=0.0, was_correct=False)
    plan = Assignment(3, skill="pets", examples=(done,))
    records = generate(SelfEditEngine(task, samples=1), plan)
    assert [record.text.partition("\n")[0] for record in records] == ["Merin"] * 3
    assert {record.provenance.skill for record in records} == {"pets"}


def test_passages_that_were_edited_least_come_first(task):
    engine = SelfEditEngine(task, samples=1)
    titles = [
        {record.text.partition("\n")[0] for record in generate(engine, Assignment(12), seed=seed)}
        for seed in range(2)
    ]
    assert len(titles[0]) == len(titles[1]) == 4
    assert not titles[0] & titles[1]


def test_samples_of_one_passage_are_drawn_anew(task, tiny_student):
    from dataenvgym.students.predictors import InProcessPredictor

    student = InProcessPredictor(tiny_student, threads=1)
    engine = SelfEditEngine(task, samples=3, max_tokens=6, prompt={"user": "{passage}"})
    passage = Passage("T", "A is B.")
    edits = engine.write([passage], student, seed=1)
    assert len({*map(tuple, edits)}) == 3
    assert engine.write([passage], student, seed=1) == edits
    assert engine.write([passage], student, seed=2) != edits


def test_failed_and_empty_edits_are_counted_and_left_out(task):
    answers = {1: Failure(reason="busy"), 2: Reply(text=" "), 3: Reply(text="1. A")}
    student, _ = writer(lambda n: answers[(n - 1) % 3 + 1])
    warned = []
    with hearing_warnings(warned.append):
        edits = SelfEditEngine(task, samples=3).write([T], student, seed=0)
    assert edits == [["T\n1. A", "T\n{passage}"]]
    assert "2 of 3 self-edits are missing: 1 failed and 1 are empty" in warned[0]
    student, _ = writer(lambda n: Failure(reason="busy"))
    with pytest.raises(PredictionError, match="self-edits was"):
        SelfEditEngine(task).write([T], student, seed=0)


def test_passages_without_any_edit_do_not_end_the_call_until_several_fail_in_a_row(task):
    busy = Failure(reason="busy")
    warned = []
    student, asked = writer(lambda n: LIST if n == 3 else busy)
    with hearing_warnings(warned.append):
        records = generate(SelfEditEngine(task, samples=1), Assignment(8), student=student)
    assert len(records) == 3
    assert len(asked) == 6
    assert sum("passages are skipped: none of 1 self-edits" in str(one) for one in warned) == 5
    student, asked = writer(lambda n: busy)
    with pytest.raises(PredictionError, match="busy"):
        generate(SelfEditEngine(task, samples=1), Assignment(8), student=student)
    assert len(asked) == 3


def test_a_spent_budget_keeps_what_is_written(task):
    student, _ = writer()
    engine = SelfEditEngine(task, StudentTeacher(student, max_requests=4), samples=1)
    assert len(generate(engine, Assignment(6), Assignment(6), Assignment(6))) >= 6
    with pytest.raises(BudgetSpentError):
        generate(engine, Assignment(6))


@pytest.mark.slow
def test_the_page_says_how_many_passages_of_squad_the_overlap_check_drops():
    if "DATAENVGYM_DATA" not in os.environ:
        pytest.skip("needs the folder DATAENVGYM_DATA")
    squad = build_task(compose(["task=squad"]))
    instances = [i for split in ("train", "validation") for i in squad.on(split).instances]
    passages = {passage_of(instance) for instance in instances}
    overlap = EvaluatedProblems(squad).overlap()
    texts = [text for passage in passages for text in train_sequences("", passage)]
    n_dropped = sum(TextDatum(text=text) in overlap for text in texts)
    page = " ".join((Path(__file__).parents[3] / "docs/knowledge.md").read_text().split())
    assert f"of the {len(passages):,} passages" in page
    assert f"in SQuAD, {n_dropped} share 13 words" in page


def test_a_task_without_passages_is_refused():
    engine = SelfEditEngine(PocketMathTask(**SIZES))
    with pytest.raises(ConfigurationError, match="knowledge"):
        engine.prepare()


# --- adaptation ---


def test_a_context_is_a_passage_with_the_questions_of_the_split(task):
    engine = SelfEditEngine(task)
    assert isinstance(engine, WritesEdits)
    contexts = engine.contexts(task.on("validation").instances)
    asked = [question.id for context in contexts for question in context.questions]
    assert sorted(asked) == sorted(i.id for i in task.on("validation").instances)
    for context in contexts:
        assert len({question.data["passage"] for question in context.questions}) == 1
        assert context.id.startswith(context.questions[0].data["title"])
    ids = {context.id for context in engine.contexts(task.on("train").instances)}
    assert {context.id for context in contexts} <= ids
    (prompt,) = engine.edit_prompt(contexts[0])
    assert contexts[0].questions[0].data["passage"] in prompt.content


def test_an_edit_is_trained_as_its_sequences_and_an_empty_one_has_failed(task):
    engine, rng = SelfEditEngine(task), np.random.default_rng()
    context = engine.contexts(task.instances)[0]
    title, passage = (context.questions[0].data[name] for name in ("title", "passage"))
    edit = engine.read_edit(context, LIST, rng)
    assert [r.text for r in edit.records] == [
        *(f"{title}\n1. A", f"{title}\n2. B", f"{title}\n{passage}")
    ]
    assert (edit.options, edit.failure) == ({}, "")
    alone = engine.read_edit(context, None, rng)
    assert [record.text for record in alone.records] == [f"{title}\n{passage}"]
    empty = engine.read_edit(context, " \n", rng)
    assert (empty.records, empty.failure) == ((), "it is empty")
    bare = SelfEditEngine(task, append_passage=False).read_edit(context, "---", rng)
    assert (bare.records, bare.failure) == ((), "it has no text to train on")
    with pytest.raises(ConfigurationError, match="learns"):
        SelfEditEngine(task, style="passage").edit_prompt(context)
