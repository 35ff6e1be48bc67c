import json
import shutil

import pytest

from tools.golden.facts import FACTS, differences, parsed

RECORD = {"instruction": "Add 1 and 2.", "output": "#### 3", "provenance": {"id": "001-00000"}}


@pytest.fixture
def old(tmp_path):
    """The folder of a script with a tiny run, whose configuration has a hash."""
    iteration = tmp_path / "old/runs/math-seed0-0123abcd/iterations/001"
    (iteration / "adapter").mkdir(parents=True)
    (iteration / "records.jsonl").write_text(2 * f"{json.dumps(RECORD)}\n")
    (iteration / "adapter/adapter_model.safetensors").write_bytes(b"weights")
    (iteration / "training.yaml").write_text(f"lora_rank: 8\noutput_dir: {iteration}/adapter\n")
    report = {"score": 0.65, "n": 40}
    (iteration / "iteration.json").write_text(json.dumps({"report": report, "seconds": {"all": 1}}))
    return tmp_path / "old"


@pytest.fixture
def new(old):
    """The same run in another folder."""
    return shutil.copytree(old, old.with_name("new"))


def rewrite(folder, name, old, new):
    [path] = folder.rglob(name)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


def test_times_hashes_of_configurations_and_absolute_paths_are_not_compared(old, new):
    rewrite(new, "iteration.json", '"all": 1', '"all": 2')
    rewrite(new, "training.yaml", "/old/runs/", "/new/runs/deeper/")
    (new / "runs/math-seed0-0123abcd").rename(new / "runs/math-seed0-4567cdef")
    assert differences(old, new) == []


@pytest.mark.parametrize(
    ("name", "before", "after", "fact", "path"),
    [
        ("records.jsonl", "#### 3", "#### 4", "records taught", "runs/math-seed0/001/0/output"),
        ("iteration.json", "0.65", "0.66", "iteration", "runs/math-seed0/001/report/score"),
        ("iteration.json", "40", "40.0", "iteration", "runs/math-seed0/001/report/n"),
        ("training.yaml", "8", "16", "training options", "runs/math-seed0/001/lora_rank"),
        ("adapter_model.safetensors", "w", "W", "adapter", "runs/math-seed0/001"),
    ],
)
def test_a_changed_value_is_one_difference(old, new, name, before, after, fact, path):
    rewrite(new, name, before, after)
    [one] = differences(old, new)
    assert (one.fact, one.path) == (fact, path)
    assert one.file.endswith(name)
    if fact != "adapter":  # a checksum
        assert (one.old.strip('"'), one.new.strip('"')) == (before, after)


def test_a_fact_on_one_side_differs_or_is_compared_by_its_second_place(old, new, monkeypatch):
    iterations = new / "runs/math-seed0-0123abcd/iterations"
    (iterations / "001/records.jsonl").rename(iterations.with_name("taught-001.jsonl"))
    assert {(one.fact, one.new) for one in differences(old, new)} == {("records taught", None)}
    places = {**FACTS["records taught"], "taught-*.jsonl": parsed}
    monkeypatch.setitem(FACTS, "records taught", places)
    assert differences(old, new) == []
    run = old / "runs/math-seed0-0123abcd"
    shutil.copytree(run, run.with_name("math-seed0-4567cdef"))
    with pytest.raises(ValueError, match="0123abcd"):  # one fact in two files
        differences(old, old)
