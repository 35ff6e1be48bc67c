"""Rewrites of seed records: procedural ones, and those of a teacher."""

from collections import Counter

import numpy as np
import pytest

from dataenvgym.agents import Assignment, PocketRewriter, SeededEngine, TeacherRewriter
from dataenvgym.domains.math.pocket import PocketMathTask, operands_of, recognize
from dataenvgym.environments import RecordChecks
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records import SupervisedDatum
from dataenvgym.storage import write_jsonl
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.scoring import extract_final_answer
from tests import fakes

TASK = PocketMathTask(n_train=200)
SILENT = ScriptedPredictor(lambda conversation: "")


def generate(engine, *plan, seed=0):
    return engine.generate(plan, SILENT, np.random.default_rng(seed))


def seeds_by_numbers():
    return {operands_of(i.instruction): i for i in TASK.on("train").instances}


def test_with_the_same_operands_it_asks_the_same_in_other_words():
    engine = SeededEngine(PocketRewriter("same", task=TASK), TASK)
    seeds = seeds_by_numbers()
    for record in generate(engine, Assignment(8, skill="descending")):
        seed = seeds[operands_of(record.instruction)]
        assert recognize(record.instruction)[0] == recognize(seed.instruction)[0]
        assert recognize(record.instruction)[1] != recognize(seed.instruction)[1]
        assert extract_final_answer(record.output) == seed.answer


def test_with_other_operands_it_asks_in_the_same_words_and_knows_the_answer():
    engine = SeededEngine(PocketRewriter("other", task=TASK), TASK)
    records = generate(engine, Assignment(30, skill="largest"), Assignment(5, skill="sum"))
    assert Counter(r.provenance.skill for r in records) == {"largest": 30, "sum": 5}
    known = {i.instruction for i in TASK.on("train").instances}
    assert len({r.instruction for r in records} - known) > 30
    for record in records[:30]:
        largest = max(operands_of(record.instruction))
        assert int(extract_final_answer(record.output)) == largest


def test_rewrites_never_touch_an_evaluation_instance_and_are_all_different():
    records = generate(SeededEngine(PocketRewriter(task=TASK), TASK), Assignment(300))
    assert len({r.instruction for r in records}) == len(records) == 300
    assert "evaluation_overlap" not in RecordChecks(TASK).check(records).reasons


def test_seeds_take_turns_until_they_are_exhausted():
    engine = SeededEngine(PocketRewriter("same", task=TASK), TASK)
    records = generate(engine, Assignment(10, skill="sum"))  # there are ten seeds of it
    assert len({operands_of(r.instruction) for r in records}) == 10
    # three phrasings, of which the seed has one
    assert len(generate(engine, Assignment(100, skill="sum"))) == 10 * 2 - 10


def test_a_seed_with_a_wrong_answer_is_not_rewritten(tmp_path):
    rows = [
        {"instruction": "What is 20 plus 21?", "output": "#### 41"},
        {"instruction": "What is 30 plus 31?", "output": "#### 60"},
    ]
    write_jsonl(tmp_path / "seeds.jsonl", rows)
    engine = SeededEngine(PocketRewriter("same", task=TASK), TASK, path=tmp_path / "seeds.jsonl")
    assert {operands_of(r.instruction) for r in generate(engine, Assignment(4))} == {(20, 21)}


def test_seeds_that_the_rewriter_cannot_read_are_refused_at_once(tmp_path):
    write_jsonl(tmp_path / "seeds.jsonl", [{"instruction": "Who are you?", "output": "Nobody."}])
    engine = SeededEngine(PocketRewriter(task=TASK), TASK, path=tmp_path / "seeds.jsonl")
    with pytest.raises(ConfigurationError, match="seeded_teacher"):
        engine.prepare()
    SeededEngine(PocketRewriter(task=TASK), TASK).prepare()


# --- with a teacher ---


class Teacher(fakes.Teacher):
    """Rewords as `answer(instruction, output)` says."""

    def __init__(self, answer, **options):
        super().__init__(lambda text, sampling: answer(*shown(text)), **options)


def shown(request):
    instruction, output = request.split("Instruction: ")[1].split("\n\nOutput: ")
    return instruction, output.split("\n\nReply")[0]


def rewrite(instruction, output):
    return {"records": [{"instruction": instruction, "output": output}]}


SEED = SupervisedDatum(
    instruction="Ann has 3 pens and buys 4.", output="3 + 4 = 7\n#### 7", system="Be brief."
)


@pytest.mark.parametrize(
    ("instruction", "output", "is_kept"),
    [
        ("Ann buys 4 pens. She had 3.", "She has 3 + 4 = 7.\n#### 7", True),
        ("Ann buys 4 pens. She had 3.", "#### 7.0", True),
        ("Ann buys 4 pens. She had 3.", "#### 8", False),  # another answer
        ("Ann buys 4 pens. She had 3.", "seven", False),  # none that is marked
        ("Ann buys 4 pens for 2 coins. She had 3.", "#### 7", False),  # a new fact
        ("Ann buys some pens. She had 3.", "#### 7", False),  # a fact less
        (SEED.instruction, SEED.output, False),  # no rewrite
        ("  ", "#### 7", False),
    ],
)
def test_a_rewrite_is_kept_if_it_keeps_the_facts_and_the_answer(instruction, output, is_kept):
    rewriter = TeacherRewriter(Teacher(lambda i, o: rewrite(instruction, output)), TASK)
    (record,) = rewriter.rewrite([SEED], np.random.default_rng(0))
    assert (record is not None) == is_kept
    if record is not None:
        assert (record.instruction, record.output) == (instruction, output)
        assert record.system == "Be brief."


@pytest.mark.parametrize(
    "reply", [Failure(reason="500"), Reply(text="Sure! Here it is"), Reply(text='{"records": []}')]
)
def test_no_answer_is_too_bad_to_be_passed_over(reply):
    rewriter = TeacherRewriter(Teacher(lambda i, o: reply), TASK)
    assert rewriter.rewrite([SEED, SEED], np.random.default_rng(0)) == [None, None]


def reworded(instruction, output):
    return rewrite(f"Please answer: {instruction}", output)


def test_the_teacher_is_asked_again_for_malformed_rewrites():
    rng = np.random.default_rng(3)

    def unreliable(instruction, output):
        return Reply(text="!") if rng.random() < 0.4 else reworded(instruction, output)

    teacher = Teacher(unreliable)
    records = generate(SeededEngine(TeacherRewriter(teacher, TASK), TASK), Assignment(60))
    assert len(records) == 60
    assert teacher.purposes == {"rewrites"}
    assert all(r.instruction.startswith("Please answer: ") for r in records)
