"""The part of a source that is a split."""

import json

import pytest

from dataenvgym.domains.math.task import MathTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.records import TaskInstance
from dataenvgym.runs.config import build_task, compose
from dataenvgym.tasks.row_source import RowSource
from dataenvgym.tasks.rows import SourceRow


@pytest.fixture
def problems(tmp_path):
    """Writes a file of so many problems."""

    def write(name: str, n: int):
        path = tmp_path / name
        rows = [{"question": f"{name} {i} + 1 = ?", "answer": f"#### {i + 1}"} for i in range(n)]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    return write


def test_a_task_gives_the_share_of_its_source_in_a_split(problems):
    own = problems("own.jsonl", 20)
    assert MathTask(own).share() == "2 of 20 problems (validation is 10%)"
    assert MathTask(own, split="train").share() == "16 of 20 problems (train is 80%)"
    limited = MathTask(own, split="train", limit=5)
    assert limited.share() == "5 of 20 problems (train is 80%, limit is 5)"
    with pytest.raises(InvalidInstanceError, match="0 of 2 problems"):
        _ = MathTask(problems("small.jsonl", 2)).instances
    task = MathTask({"validation": problems("a.jsonl", 3), "test": problems("b.jsonl", 4)})
    assert (task.share(), task.on("test").share()) == (None, None)
    assert task.splits == ("validation", "test")


def test_a_task_with_one_source_can_be_taken_whole(problems):
    task = MathTask(problems("own.jsonl", 20))
    whole = task.whole()
    assert (len(whole.instances), whole.share()) == (20, None)
    assert {i.id for i in task.instances} < {i.id for i in whole.instances}
    assert len(task.instances) == 2
    with pytest.raises(ConfigurationError, match="choose one of validation"):
        MathTask({"validation": problems("a.jsonl", 3)}).whole()


def rows_of_pairs(path):
    """The rows of a file in which each line is a question and an answer."""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        question, answer = line.split("=")
        yield SourceRow(f"{number}", f"{path}:{number}", {"question": question, "answer": answer})


def to_problem(row):
    return TaskInstance(
        id=row.id, task="own", instruction=row.values["question"], answer=row.values["answer"]
    )


def own_source(path, **options):
    return RowSource(
        {"test": path}, to_problem, name="own", overlap_key=str.strip, rows=rows_of_pairs, **options
    )


def test_files_of_another_layout_have_rows_of_their_own_and_repeats_have_the_same_whole_text(
    tmp_path, caplog
):
    (tmp_path / "own.txt").write_text("1 + 1=2\n1 + 1=2\n")
    own_source(tmp_path / "own.txt", text_of=lambda i: f"{i.id}: {i.instruction}").load("test")
    assert not caplog.text
    found = own_source(tmp_path / "own.txt").load("test")
    assert [(i.id, i.answer) for i in found] == [("1", "2"), ("2", "2")]
    assert "1 of 2 problems repeat the question of another one, 0 with another" in caplog.text


def test_a_question_with_two_answers_and_a_repeated_id_are_named(tmp_path, caplog):
    path = tmp_path / "own.jsonl"
    answers = ["1", "2", "1", "3", "4"]
    rows = [{"problem": "a?" if n < 4 else "b?", "answer": a} for n, a in enumerate(answers)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    task = MathTask(path, name="mine").whole()
    assert len(task.instances) == 5
    (said,) = (record.message for record in caplog.records)
    assert "3 of 5 problems repeat the question of another one, 2 with another answer" in said
    assert f"first {path}:2 ('2'), which repeats {path}:1 ('1')" in said

    def read(row: SourceRow) -> TaskInstance:
        return TaskInstance(id=row.values["answer"], task="t", instruction=row.id, answer="1")

    source = RowSource({"test": path}, read, name="mine", overlap_key=str)
    with pytest.raises(InvalidInstanceError, match=r"jsonl:3.*jsonl:1"):
        source.load("test")


@pytest.fixture
def leveled(tmp_path):
    """A training file of 24 problems in four cells, and a test file."""

    def rows(name, n):
        return [
            {
                "problem": f"{name} {i} + 1 = ?",
                "solution": f"\\boxed{{{i + 1}}}",
                "level": f"Level {1 + i % 2}",
                "type": ["Algebra", "Geometry"][i // 2 % 2],
            }
            for i in range(n)
        ]

    for name, n in (("train", 24), ("test", 4)):
        text = "".join(f"{json.dumps(row)}\n" for row in rows(name, n))
        (tmp_path / f"{name}.jsonl").write_text(text)
    train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    return {"train": train, "validation": train, "test": test}


def test_a_balanced_validation_split_is_the_first_problems_of_each_cell(leveled):
    task = MathTask(leveled, balance=["level", "type"], per_cell=2, format="math")
    numbers = [i.instruction.split()[1] for i in task.instances]
    assert numbers == [str(i) for i in range(8)]  # in the order of the file
    rest = task.on("train").instances
    assert [i.instruction.split()[1] for i in rest] == [str(i) for i in range(8, 24)]
    assert len(task.on("test").instances) == 4
    assert task.share() == "8 of 24 problems (the first 2 of each cell)"
    assert task.on("train").share() == "16 of 24 problems (without the first 2 of each cell)"
    with pytest.raises(ConfigurationError, match="rest"):
        _ = MathTask(leveled["train"], balance=["level"], per_cell=1).instances


def test_only_the_file_of_the_validation_split_needs_the_fields_of_a_balance(leveled):
    leveled["test"].write_text('{"problem": "1 + 1 = ?", "answer": "2"}')
    sources = {"validation": leveled["validation"], "test": leveled["test"]}
    task = MathTask(sources, balance=["level"], per_cell=2)
    assert len(task.on("test").instances) == 1
    assert task.share() == "4 of 24 problems (the first 2 of each cell)"


def test_rows_are_chosen_from_the_command_line(leveled):
    options = [f"task.sources={leveled['test']}", "task.where={level: [Level 1]}"]
    config = compose(["task=math_jsonl", "task.format=math", *options])
    assert {i.skill for i in build_task(config).whole().instances} == {
        *("Algebra (Level 1)", "Geometry (Level 1)")
    }


def test_a_small_cell_gives_all_it_has_with_a_warning(leveled, caplog):
    sources = {"validation": leveled["test"]}
    task = MathTask(sources, balance=["level", "type"], per_cell=3, where={"level": ["Level 1"]})
    assert {i.skill for i in task.instances} == {"Algebra (Level 1)", "Geometry (Level 1)"}
    assert "2 of 2 cells of task.balance have fewer than 3 problems" in caplog.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"where": {"level": ["Level 9"]}}, "task.where keeps none of 24 rows"),
        ({"where": {"depth": [1]}}, r"field 'depth'.*that task.where or task.balance names"),
        ({"balance": ["depth"], "per_cell": 1}, "field 'depth'"),
        ({"balance": ["level"]}, "expected both, such as task.balance"),
    ],
)
def test_a_filter_or_a_balance_that_does_not_fit_the_rows_is_refused(options, said, leveled):
    with pytest.raises((ConfigurationError, InvalidInstanceError), match=said):
        _ = MathTask(leveled, **options).instances
