import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.records import Model
from dataenvgym.storage import (
    hash_files,
    publishing,
    read_json,
    read_jsonl,
    read_model,
    read_models,
    remove_folder,
    write_json,
    write_jsonl,
    write_text,
)


class RowOfFile(Model):
    seed: int


def test_json_and_lines_come_back_as_they_were(tmp_path):
    values = [{"ü": [1, None, "世界\n"]}, "x", 3.5]
    write_json(tmp_path / "deep" / "one.json", values)
    assert read_json(tmp_path / "deep" / "one.json") == values
    assert write_jsonl(tmp_path / "lines.jsonl", iter(values)) == 3
    assert list(read_jsonl(tmp_path / "lines.jsonl")) == values
    write_json(tmp_path / "model.json", [RowOfFile(seed=2**70)])
    assert read_json(tmp_path / "model.json") == [{"seed": 2**70}]


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "lines.jsonl"
    write_jsonl(path, [1])

    def failing():
        yield 2
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        write_jsonl(path, failing())
    assert list(read_jsonl(path)) == [1]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "adapter"

    def fail_half_way() -> None:
        with publishing(target) as folder:
            write_text(folder / "half", "x")
            raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []
    for content in ("one", "two"):
        with publishing(target) as folder:
            write_text(folder / "whole", content)
            assert not (target / "whole").exists() or content == "two"
    assert (target / "whole").read_text() == "two"


def test_the_hash_depends_on_names_and_contents_only(tmp_path):
    def folder(name: str, **files: str) -> Path:
        for file, content in files.items():
            write_text(tmp_path / name / file, content)
        return tmp_path / name

    one, same = folder("one", a="1", b="2"), folder("two", b="2", a="1")
    assert hash_files(one) == hash_files(same)
    assert hash_files(one) != hash_files(folder("three", a="2", b="1"))
    assert hash_files(one) != hash_files(folder("four", a="1", c="2"))


def test_several_threads_may_write_the_same_file(tmp_path):
    def write(i: int) -> None:
        for _ in range(12):
            write_json(tmp_path / "a.json", [i] * 1000)
            write_jsonl(tmp_path / "a.jsonl", [i] * 1000)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    for values in (read_json(tmp_path / "a.json"), [*read_jsonl(tmp_path / "a.jsonl")]):
        assert len(values) == 1000
        assert len(set(values)) == 1
    assert len(list(tmp_path.iterdir())) == 2


def test_a_removed_folder_is_gone_and_so_are_leftovers_of_a_killed_removal(tmp_path):
    (tmp_path / ".run.removed" / "old").mkdir(parents=True)
    (tmp_path / "run" / "deep").mkdir(parents=True)
    (tmp_path / "run" / "deep" / "file").write_text("x")
    remove_folder(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_reported_with_the_file(tmp_path, monkeypatch, number):
    def full(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    for write in (write_json, write_jsonl):
        with pytest.raises(OSError, match=r"file\.json") as caught:
            write(tmp_path / "file.json", [1])
        assert caught.value.filename == str(tmp_path / "file.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read", [read_model, read_models])
@pytest.mark.parametrize("content", [None, "{", '{"seed": "many"}', "[]", "\xff", '{"seed":'])
def test_a_file_that_is_no_model_is_named_with_its_fault_and_a_way_out(tmp_path, read, content):
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"x\.json.*; remove it"):
        read(path, RowOfFile, "remove it", ConfigurationError)


def test_a_file_of_models_comes_back_and_a_wrong_line_is_named(tmp_path):
    path = tmp_path / "x.jsonl"
    write_jsonl(path, [RowOfFile(seed=1), RowOfFile(seed=2)])
    assert [one.seed for one in read_models(path, RowOfFile)] == [1, 2]
    path.write_text(path.read_text() + '{"seed": null}\n')
    with pytest.raises(RunDirectoryError, match=r"line 3.*seed"):
        read_models(path, RowOfFile)
