import json
from collections import Counter

import pytest

from dataenvgym.domains.math.task import MathTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, UnparsableAnswerError
from dataenvgym.tasks.rows import HubDataset
from dataenvgym.tasks.scoring import answers_equal
from dataenvgym.tasks.source import SPLITS
from tests.fakes import Knowing, Student


def write(path, answers, *, questions=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    asked = questions or [f"Aufgabe {k}: wie viel ist {k} + {k}?" for k in range(len(answers))]
    rows = [
        {"question": question, "answer": f"Rechnung …\n#### {answer}"}
        for question, answer in zip(asked, answers, strict=True)
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def ids(task, split):
    return [instance.id for instance in task.on(split).instances]


def test_one_file_is_divided_among_the_splits_without_rest_or_overlap(tmp_path):
    task = MathTask(write(tmp_path / "all.jsonl", range(100)))
    parts = [ids(task, split) for split in SPLITS]
    assert [*map(len, parts)] == [80, 10, 10]
    assert set().union(*parts) == {f"all-{k}" for k in range(1, 101)}
    assert parts[0] == sorted(parts[0], key=lambda i: int(i.split("-")[1]))


def test_the_same_problem_never_lands_in_two_splits(tmp_path):
    questions = [f"Was ist {k // 4} + 1?" + " " * (k % 4) for k in range(200)]
    task = MathTask(write(tmp_path / "all.jsonl", range(200), questions=questions))
    keys = [{i.instruction.strip() for i in task.on(split).instances} for split in SPLITS]
    assert sum(map(len, keys)) == len(set().union(*keys)) == 50


def test_splits_that_share_a_file_divide_it_and_a_file_of_one_split_stays_whole(tmp_path):
    train = write(tmp_path / "train.jsonl", range(40))
    test = write(tmp_path / "test.jsonl", range(30))
    task = MathTask(
        {"train": train, "validation": train, "test": test},
        fractions={"train": 0.75, "validation": 0.25, "test": 0.5},
    )
    assert [len(ids(task, split)) for split in SPLITS] == [30, 10, 30]
    assert not set(ids(task, "train")) & set(ids(task, "validation"))


def test_files_of_the_same_name_keep_their_ids_apart(tmp_path):
    parts = ("train", "test")
    task = MathTask({split: write(tmp_path / split / "data.jsonl", range(2)) for split in parts})
    for split in parts:
        assert ids(task, split) == [f"{split}/data-1", f"{split}/data-2"]


def test_a_limit_takes_a_seeded_sample_in_the_order_of_the_file(tmp_path):
    path = write(tmp_path / "all.jsonl", range(100))
    whole, some = MathTask({"test": path}), MathTask({"test": path}, limit=10)
    sample = ids(some, "test")
    assert len(sample) == 10
    assert sample == [i for i in ids(whole, "test") if i in sample] != ids(whole, "test")[:10]
    assert set(sample) < set(ids(MathTask({"test": path}, limit=20), "test"))


def test_an_unparsable_gold_is_refused_at_load_time_naming_the_file_and_the_line(tmp_path):
    path = write(tmp_path / "bad.jsonl", ["1", "2", "\\frac{1}{", "4"])
    with pytest.raises(UnparsableAnswerError, match=r"jsonl:3 .*bad-3"):
        MathTask({"test": path}).load("test")


def test_math_folders_and_formats_can_be_given(tmp_path):
    folder = tmp_path / "MATH" / "algebra"
    folder.mkdir(parents=True)
    for k in range(3):
        row = {"problem": f"${k}$?", "solution": f"$\\boxed{{{k}}}$", "type": "Algebra"}
        (folder / f"{k}.json").write_text(json.dumps(row | {"level": "Level 1"}))
    task = MathTask({"test": tmp_path / "MATH"}, name="math", format="math", split="test")
    assert [i.answer for i in task.instances] == ["0", "1", "2"]
    done = task.evaluate(Knowing({"$0$?": 0, "$1$?": 1, "$2$?": 5}))
    report = task.generate_performance_report(done)
    assert [(s.category, s.skill) for s in report.skills] == [("Algebra", "Algebra (Level 1)")]
    assert report.accuracy == pytest.approx(2 / 3)


def test_a_source_may_be_a_mapping_that_names_a_dataset():
    task = MathTask({"dataset": "openai/gsm8k", "config": "main"})
    assert task.source.places["test"] == HubDataset(dataset="openai/gsm8k", config="main")
    only = MathTask({"test": {"dataset": "a/b"}})
    assert only.source.places == {"test": HubDataset(dataset="a/b")}


def test_impossible_options_are_refused(tmp_path):
    path = write(tmp_path / "t.jsonl", [1])
    with pytest.raises(ConfigurationError, match="valid"):
        MathTask({"valid": path})
    with pytest.raises(ConfigurationError, match="for train"):
        MathTask({"train": path}).load("test")
    with pytest.raises(InvalidInstanceError, match="no instances"):
        ids(MathTask(path), "test")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3 + 4", "3 - 4", False),
        ("3 − 4", "3 - 4", False),  # noqa: RUF001
        ("Compute 3+4.", "compute  3 + 4", True),
        ("a well-known fact", "a well known fact", True),
        ("2 < 3", "2 > 3", False),
    ],
)
def test_signs_tell_problems_apart(tmp_path, one, other, same):
    task = MathTask(write(tmp_path / "t.jsonl", [1]))
    assert (task.domain.overlap_key(one) == task.domain.overlap_key(other)) is same


def test_the_answers_of_gsm8k_are_right_for_themselves_and_wrong_for_their_neighbors(gsm8k):
    task = MathTask({"test": gsm8k / "test.jsonl"}, name="gsm8k", split="test")
    golds = [str(i.answer) for i in task.instances]
    assert len(golds) == 1319
    questions = [i.instruction for i in task.instances]

    own = task.evaluate(Knowing(dict(zip(questions, golds, strict=True))))
    assert task.generate_performance_report(own).accuracy == 1.0

    following = golds[1:] + golds[:1]
    completed = task.evaluate(Knowing(dict(zip(questions, following, strict=True))))
    equal = [answers_equal(a, b) for a, b in zip(golds, following, strict=True)]
    assert [c.was_correct for c in completed] == equal
    assert Counter(equal)[True] < 30


@pytest.mark.parametrize(
    ("places", "fractions"),
    [
        ({"train": "a", "validation": "b", "test": "b"}, {"train": 1.0}),
        ("a", {"train": 0.0, "validation": 0, "test": 0}),
        ("a", {}),
    ],
)
def test_splits_that_share_a_file_without_a_share_of_it_are_refused(places, fractions):
    with pytest.raises(ConfigurationError, match="and test"):
        MathTask(places, fractions=fractions)


@pytest.mark.parametrize("form", ["{}", "[{}]"])
@pytest.mark.parametrize(
    ("number", "right", "wrong"),
    [
        *((str(n), n, n + 1) for n in (2**64, 2**70, -(2**63) - 1, 10**25 + 1, -(10**400))),
        *((f"{n}.0", n, n - 1) for n in (2**53 + 1, 10**30)),
        ("123456789012345678901.5", "123456789012345678901.5", "123456789012345678901.4"),
        *(("1e-400", "1e-400", "0"), ("1e22", 10**22, 10**22 + 1), ("0.25", "1/4", "0.26")),
    ],
)
def test_a_gold_answer_that_is_a_number_keeps_its_digits(tmp_path, form, number, right, wrong):
    path = tmp_path / f"p.{'jsonl' if form == '{}' else 'json'}"
    path.write_text(form.format(f'{{"question": "n?", "answer": {number}}}'))
    task = MathTask({"test": path}, split="test")
    for answer, is_right in ((right, True), (wrong, False)):
        (completed,) = task.evaluate(Student(f"#### {answer}"))
        assert completed.was_correct is is_right


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "1" * 5000])
def test_a_number_that_no_reader_holds_is_refused_with_its_line(tmp_path, number):
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"question": "n?", "answer": 1}}\n{{"question": "m?", "answer": {number}}}')
    with pytest.raises(InvalidInstanceError, match=r"p\.jsonl:2"):
        _ = MathTask({"test": path}, split="test").instances
