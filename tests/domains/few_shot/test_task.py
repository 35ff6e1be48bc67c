import json
from collections import Counter

import pytest

from dataenvgym.domains.few_shot.problem import key_of
from dataenvgym.domains.few_shot.task import FewShotTask
from dataenvgym.errors import (
    BrokenFileError,
    ConfigurationError,
    InvalidInstanceError,
    UnparsableAnswerError,
)
from dataenvgym.runs.config import build_task, compose
from tests.domains.few_shot.puzzles import drawn, folder_of

SEAL = {
    "validation": (
        *("44f52bb0", "4be741c5", "5582e5ca", "5614dbcf", "5bd6f4ac", "6150a2bd", "67e8384a"),
    ),
    "test": ("358ba94e", "59341089", "66e6c45b", "68b67ca3", "903d1b4a", "af24b4cc"),
}
"""Some of the filtered tasks of its published files, whose keys are these ids."""


ONE = {"input": [[1]], "output": [[1]]}


def tasks_of(instances):
    return {i.id.rsplit("/", 1)[-1].rsplit("-", 1)[0] for i in instances}


# --- ARC itself ---


def test_all_of_arc_loads_with_skills_of_several_categories(arc_problems):
    folders = Counter(i.id.split("/")[1] for i in arc_problems)
    assert folders == {"training": 416, "evaluation": 419}
    assert len(tasks_of(arc_problems)) == 800
    assert {i.category for i in arc_problems} == {"same size", "smaller", "larger", "other sizes"}
    assert len({i.skill for i in arc_problems}) == 11


@pytest.mark.slow
def test_the_configured_task_tests_on_the_evaluation_tasks(arc):
    task = build_task(compose(["task=few_shot"]))
    parts = {split: task.on(split).instances for split in ("train", "validation", "test")}
    assert len(parts["test"]) == 419
    keys = {split: {key_of(i.instruction) for i in part} for split, part in parts.items()}
    assert not keys["train"] & keys["validation"]
    assert not (keys["train"] | keys["validation"]) & keys["test"]
    assert 0.1 < len(parts["validation"]) / len(parts["train"]) < 0.16


def test_the_published_ids_of_seal_select_its_tasks(arc, tmp_path):
    ids = tmp_path / "ids.json"
    published = {id: {"train": [], "test": []} for ids in SEAL.values() for id in ids}
    ids.write_text(json.dumps(published))
    task = FewShotTask({"validation": arc / "training", "test": arc / "evaluation"}, ids=ids)
    for split, expected in SEAL.items():
        assert tasks_of(task.on(split).instances) == {*expected}


# --- files ---


def test_each_test_of_a_task_is_a_problem_and_all_are_in_one_split(tmp_path):
    task = FewShotTask(folder_of(tmp_path / "many", 20, tests=3))
    parts = [tasks_of(task.on(split).instances) for split in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [16, 2, 2]
    assert len(set().union(*parts)) == 20
    assert len(task.instances) == 6
    first, second, _ = task.instances[:3]
    assert (first.id[-2:], second.id[-2:]) == ("-0", "-1")
    assert first.data["demonstrations"] == second.data["demonstrations"]


def test_kaggles_challenges_get_their_outputs_from_the_solutions(tmp_path):
    tasks = {f"t{seed}": drawn(seed, tests=2) for seed in range(3)}
    solutions = {id: [test.pop("output") for test in t["test"]] for id, t in tasks.items()}
    path = tmp_path / "arc_challenges.json"
    path.write_text(json.dumps(tasks))
    with pytest.raises(UnparsableAnswerError, match="solutions"):
        _ = FewShotTask(path).whole().instances
    (tmp_path / "arc_solutions.json").write_text(json.dumps(solutions))
    instances = FewShotTask(path).whole().instances
    assert [i.id for i in instances[:3]] == [
        f"arc_challenges/{name}" for name in ("t0-0", "t0-1", "t1-0")
    ]
    expected = "\n".join(" ".join(map(str, row)) for row in solutions["t0"][1])
    assert instances[1].answer == expected


@pytest.mark.parametrize("solutions", ["{", '{"t0": []}', '["t0"]', '{"t0": [[[1]], 3]}'])
def test_solutions_that_do_not_fit_are_refused(solutions, tmp_path):
    (tmp_path / "challenges.json").write_text(json.dumps({"t0": drawn(0, tests=2)}))
    (tmp_path / "solutions.json").write_text(solutions)
    with pytest.raises((InvalidInstanceError, BrokenFileError), match="solutions"):
        _ = FewShotTask(tmp_path / "challenges.json").whole().instances


def test_a_file_with_one_task_loads(tmp_path):
    folder_of(tmp_path, 1)
    (one,) = FewShotTask({"validation": tmp_path / "task00.json"}).instances
    assert one.id == "task00/task00-0"
    row = json.dumps({"id": "mine", **drawn(0)})
    for name, id in (("task00.json", "task00/mine-0"), ("rows.jsonl", "mine-0")):
        (tmp_path / name).write_text(row)
        (one,) = FewShotTask({"validation": tmp_path / name}, ids=["mine"]).instances
        assert one.id == id


def test_a_dataset_may_have_its_pairs_as_columns(tmp_path):
    task = drawn(0)
    columns = {f: [p[f] for p in task["train"]] for f in ("input", "output")}
    (tmp_path / "a.json").write_text(json.dumps({**task, "train": columns}))
    (one,) = FewShotTask({"validation": tmp_path}).instances
    assert one.data["demonstrations"] == task["train"]


@pytest.mark.parametrize(
    ("task", "match"),
    [
        ({"train": [ONE]}, "test: Field required"),
        ({"train": [], "test": [ONE]}, "train is "),
        ({"train": [{"input": [[1]]}], "test": [ONE]}, "output: Field"),
        ({"train": [ONE], "test": [{"output": [[1]]}]}, "input: Field"),
        ({"train": [ONE | {"input": [[1], [1, 2]]}], "test": [ONE]}, "row 2 has 2 cells"),
        ({"train": [ONE | {"output": [[1] * 31]}], "test": [ONE]}, "grid is 1 x 31"),
        ({"train": [ONE], "test": [ONE | {"output": [[10]]}]}, "is 10, expected"),
        ({"train": {"input": [[[1]]] * 2, "output": [[[1]]]}, "test": [ONE]}, "train"),
        ({"train": {"input": 3, "output": 4}, "test": [ONE]}, "train"),
        ([1], "a JSON object"),
    ],
)
def test_a_malformed_task_is_refused_with_its_file(task, match, tmp_path):
    (tmp_path / "odd.json").write_text(json.dumps(task))
    with pytest.raises(InvalidInstanceError, match=rf"odd\.json.*{match}"):
        _ = FewShotTask({"validation": tmp_path}).instances


# --- ids ---


def test_ids_come_as_a_list_or_as_a_file(small, tmp_path):
    wanted = ["task03", "task05"]
    for text in ("task03\ntask05\n", json.dumps(wanted), json.dumps({id: {} for id in wanted})):
        (tmp_path / "ids").write_text(text)
        task = FewShotTask(small, ids=str(tmp_path / "ids"))
        assert tasks_of(task.whole().instances) == {*wanted}
    config = compose(["task=few_shot", f"task.sources={small}", "task.ids=[task03,task05]"])
    assert tasks_of(build_task(config).whole().instances) == {*wanted}


def test_an_id_of_digits_is_text_on_the_command_line_too(tmp_path):
    folder_of(tmp_path / "a", 1)
    (tmp_path / "a" / "task00.json").rename(tmp_path / "a" / "59341089.json")
    config = compose(["task=few_shot", f"task.sources={tmp_path / 'a'}", "task.ids=[59341089]"])
    assert tasks_of(build_task(config).whole().instances) == {"59341089"}


def test_an_id_that_no_source_has_is_refused(small):
    with pytest.raises(ConfigurationError, match="mean 'task03'"):
        _ = FewShotTask(small, ids=["task03", "task3"]).whole().instances


@pytest.mark.parametrize("ids", ["no_such_file.txt", [], [7.0], "folder"])
def test_other_ids_are_refused(ids, small, tmp_path):
    with pytest.raises(ConfigurationError, match="ids is"):
        FewShotTask(small, ids=tmp_path if ids == "folder" else ids)


# --- options ---


def test_views_are_of_evaluated_problems_only(small):
    task = FewShotTask(small, views=8)
    plain = FewShotTask(small)
    for split, times in (("train", 1), ("validation", 8), ("test", 8)):
        assert len(task.on(split).instances) == times * len(plain.on(split).instances)
    assert task.share() == plain.share()


def test_the_same_problem_in_another_place_is_kept_out_of_training(tmp_path):
    folder_of(tmp_path / "a", 6)
    folder_of(tmp_path / "b", 2)
    task = FewShotTask({"train": tmp_path / "a", "test": tmp_path / "b"})
    assert len(task.on("train").instances) == 4
