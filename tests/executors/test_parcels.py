"""Folders on their way from one place to another."""

from __future__ import annotations

from dataenvgym.executors.parcels import FolderWatch, Parcel


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_parcel_makes_the_same_folder_elsewhere(tmp_path):
    write(tmp_path / "a" / "x" / "one.bin", "\0")
    write(tmp_path / "a" / "two.txt", "2")
    Parcel.of(tmp_path / "a").write(tmp_path / "b")
    assert (tmp_path / "b" / "x" / "one.bin").read_text() == "\0"
    assert (tmp_path / "b" / "two.txt").read_text() == "2"


def test_unfinished_files_stay_where_they_are(tmp_path):
    write(tmp_path / ".summary.json.tmp", "{")
    write(tmp_path / ".adapter.tmp" / "adapter_config.json", "{")
    assert Parcel.of(tmp_path).files == {}


def test_a_folder_that_is_not_there_is_empty(tmp_path):
    assert Parcel.of(tmp_path / "none").files == {}


def test_training_files_name_the_folder_that_they_are_in(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    write(here / "training.yaml", f"a: {here}/x\nb: {here}\nc: {here}2/x\n")
    write(here / "records.jsonl", f'"{here}/x"')
    Parcel.of(here).write(there)
    assert (there / "training.yaml").read_text() == f"a: {there}/x\nb: {there}\nc: {here}2/x\n"
    assert (there / "records.jsonl").read_text() == f'"{here}/x"'


def test_a_watch_tells_what_is_new_changed_and_gone(tmp_path):
    for name in ("same", "changed", "gone"):
        write(tmp_path / "a" / name, name)
    watch = FolderWatch(tmp_path / "a")
    assert watch.changes() == Parcel(watch.root, {})
    write(tmp_path / "a" / "new", "new")
    write(tmp_path / "a" / "changed", "differently")
    (tmp_path / "a" / "gone").unlink()
    changes = watch.changes()
    assert changes.files == {"new": b"new", "changed": b"differently"}
    assert changes.removed == ("gone",)
    assert watch.changes() == Parcel(watch.root, {})


def test_folders_that_have_become_empty_go(tmp_path):
    write(tmp_path / "a" / "iterations" / "001" / "adapter" / "x", "x")
    write(tmp_path / "a" / "iterations" / "y", "y")
    Parcel.of(tmp_path / "a").write(tmp_path / "b")
    Parcel("", {}, ("iterations/001/adapter/x",)).write(tmp_path / "b")
    assert [p.name for p in (tmp_path / "b" / "iterations").iterdir()] == ["y"]


def test_what_says_that_something_is_whole_comes_last(tmp_path):
    names = (
        "summary.json",
        "iterations/001/iteration.json",
        "iterations/001/completed.jsonl",
        "iterations/001/adapter/adapter_config.json",
        "iterations/001/adapter/adapter_model.safetensors",
        "environment.json",
    )
    for name in names:
        write(tmp_path / name, name)
    assert list(Parcel.of(tmp_path).files)[2:] == list(reversed(names[:4]))
