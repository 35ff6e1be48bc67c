"""Public data sets are fetched into the folder of the data, or named."""

import gzip

import pytest

from dataenvgym.storage import read_jsonl, write_jsonl

ROWS = [{"question": "1 + 1?", "answer": "#### 2"}, {"question": "2 + 2?", "answer": "#### 4"}]


@pytest.fixture
def hub(folder, monkeypatch):
    """A folder `mine` that `datasets` reads like a data set of the hub, and a `data.yaml`."""
    (folder / "mine").mkdir()
    write_jsonl(folder / "mine" / "train.jsonl", ROWS)
    write_jsonl(folder / "mine" / "test.jsonl", ROWS[:1])
    (folder / "data.yaml").write_text(
        "mine:\n"
        "  mine/all.jsonl: [{dataset: mine, split: train}, {dataset: mine, split: test}]\n"
        "  mine/test.jsonl.gz: {dataset: mine, split: test}\n"
        "far: {far/x.jsonl: {dataset: no_such/set, split: dev}, far/y: the folder y of z.org}\n"
    )
    monkeypatch.setenv("DATAENVGYM_DATA", str(folder / "data"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_OFFLINE", True, raising=False)
    monkeypatch.setenv("HF_HOME", str(folder / "cache"))
    return folder


def test_files_are_written_once_and_used_by_tasks(dataenvgym, hub):
    result = dataenvgym("prepare", "mine", "--config-dir", ".")  # its library shows progress
    assert result.code == 0
    whole, packed = hub / "data" / "mine" / "all.jsonl", hub / "data" / "mine" / "test.jsonl.gz"
    assert [line.split(": ")[1] for line in result.out.splitlines()] == ["3 rows", "1 row"]
    assert list(read_jsonl(whole)) == [*ROWS, ROWS[0]]
    assert gzip.decompress(packed.read_bytes()).count(b"\n") == 1
    before = packed.read_bytes()
    packed.unlink()
    again = dataenvgym.succeeds("prepare", "mine", "--config-dir", ".")
    assert "all.jsonl: there already" in again.out
    assert packed.read_bytes() == before
    assert "mine          there" in dataenvgym.succeeds("prepare", "--config-dir", ".").out


def test_what_cannot_be_fetched_is_named_with_its_place(dataenvgym, hub):
    result = dataenvgym("prepare", "far", "mine", "--config-dir", ".")
    assert result.code == 2
    assert f"{hub}/data/far/x.jsonl: the rows of no_such/set (dev)" in result.err
    assert f"{hub}/data/far/y: the folder y of z.org" in result.err
    assert (hub / "data" / "mine" / "all.jsonl").exists()
    assert not (hub / "data" / "far").exists()


def test_mistakes_are_named(dataenvgym, hub, monkeypatch):
    dataenvgym.refuses("Did you mean 'gsm8k'", "prepare", "gsm9k")
    listed = dataenvgym.succeeds("prepare").out
    assert "math          missing" in listed
    (hub / "data.yaml").write_text("mine: {a.jsonl: {datset: x}}\n")
    dataenvgym.refuses("a.jsonl", "prepare", "mine", "--config-dir", ".")
    (hub / "data.yaml").write_text("- mine\n")
    dataenvgym.refuses("data.yaml", "prepare", "mine", "--config-dir", ".")
    monkeypatch.delenv("DATAENVGYM_DATA")
    dataenvgym.refuses("DATAENVGYM_DATA is not set", "prepare", "gsm8k")
