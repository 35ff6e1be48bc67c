import bz2
import gzip
import json
import lzma
import random
import sys
from functools import partial

import pytest
from pydantic import ValidationError

from dataenvgym.domains.math.task import MathTask
from dataenvgym.errors import BrokenFileError, ConfigurationError, InvalidInstanceError
from dataenvgym.storage import read_json, read_jsonl
from dataenvgym.tasks.rows import HubDataset, read_rows, source_name

OBJECTS = [{"question": "2 + 3 = ?"}, {"question": "Größe 日本"}]
LINES = "\n".join(json.dumps(o, ensure_ascii=False) for o in OBJECTS)


def test_a_jsonl_file_has_one_object_a_line_and_empty_lines_do_not_shift_the_numbers(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text(f"{LINES}\n\n{LINES}\n", encoding="utf-8")
    rows = list(read_rows(path))
    assert [row.values for row in rows] == OBJECTS * 2
    assert [row.id for row in rows] == ["train-1", "train-2", "train-4", "train-5"]
    assert rows[2].where == f"{path}:4"


def test_a_packed_file_and_one_with_a_byte_order_mark_read_the_same(tmp_path):
    packed, marked = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl"
    packed.write_bytes(gzip.compress(LINES.encode()))
    marked.write_text(LINES.replace("\n", "\r\n"), encoding="utf-8-sig")
    for path in (packed, marked):
        assert [row.values for row in read_rows(path)] == OBJECTS
    assert next(read_rows(packed)).id == "a-1"


def test_a_packed_file_that_is_damaged_is_refused_by_name_and_never_read_in_part(tmp_path):
    rng = random.Random(0)
    rows = [{"question": f"{rng.random()} + {k} = ?"} for k in range(50)]
    text = "\n".join(map(json.dumps, rows)).encode()
    whole = gzip.compress(text, mtime=0)
    flipped = [bytes([*whole[:at], whole[at] ^ (1 << rng.randrange(8)), *whole[at + 1 :]])
               for at in rng.sample(range(len(whole)), 150)]  # fmt: skip
    cut = [whole[: rng.randrange(len(whole))] for _ in range(30)]
    path = tmp_path / "damaged.jsonl.gz"
    refusals = []
    for data in (*cut, *flipped, text, whole + text, bz2.compress(text), lzma.compress(text)):
        path.write_bytes(data)
        try:
            assert [row.values for row in read_rows(path)] == rows
        except InvalidInstanceError as error:
            refusals.append(str(error))
    assert all(str(path) in refusal for refusal in refusals)
    assert len(refusals) > 170  # a flipped bit in the header is harmless
    for data in (whole[:-9], text, b""):
        path.write_bytes(data)
        with pytest.raises(InvalidInstanceError, match=r"damaged\.jsonl\.gz"):
            _ = MathTask({"test": path}, question_field="question").on("test").instances
    path.write_bytes(gzip.compress(text[:999]) + gzip.compress(text[999:]))  # as `cat` makes it
    assert [row.values for row in read_rows(path)] == rows


def test_a_json_file_has_an_array_or_one_object_per_line(tmp_path):
    path = tmp_path / "all.json"
    path.write_text(json.dumps(OBJECTS, indent=1), encoding="utf-8-sig")
    assert [row.values for row in read_rows(path)] == OBJECTS
    path.write_text("".join(f"{json.dumps(values)}\n" for values in OBJECTS))
    assert [row.values for row in read_rows(path)] == OBJECTS
    assert next(read_rows(path)).id == "all-1"
    path.write_text(json.dumps({"a": [1]}))
    assert [row.values for row in read_rows(path)] == [{"a": [1]}]
    path.write_text("3")
    with pytest.raises(InvalidInstanceError, match="expected an array"):
        list(read_rows(path))


def test_a_folder_has_one_problem_per_file_at_any_depth_in_a_fixed_order(tmp_path):
    for name, values in (("b/1", OBJECTS[0]), ("a/10", OBJECTS[1]), ("a/2", OBJECTS[0])):
        file = tmp_path / "MATH" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    rows = list(read_rows(tmp_path / "MATH"))
    assert [row.id for row in rows] == ["MATH/a/10", "MATH/a/2", "MATH/b/1"]
    assert rows[0].values == OBJECTS[1]


def test_rows_that_cannot_be_read_are_refused_by_name(tmp_path):
    path = tmp_path / "bad.jsonl"
    for line, complaint in (("{oops", "not valid JSON"), ("[1, 2]", "expected a JSON object")):
        path.write_text(f'{{"a": 1}}\n{line}\n')
        with pytest.raises(InvalidInstanceError, match=rf"bad\.jsonl:2: .*{complaint}"):
            list(read_rows(path))
    with pytest.raises(ConfigurationError, match="no file or folder"):
        read_rows(tmp_path / "absent.jsonl")
    (tmp_path / "rows.csv").write_text("a,b")
    with pytest.raises(ConfigurationError, match=r"expected \.jsonl"):
        read_rows(tmp_path / "rows.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match=r"holds no \.json file"):
        list(read_rows(tmp_path / "empty"))


def test_a_dataset_is_loaded_by_name_through_the_datasets_library(tmp_path):
    pytest.importorskip("datasets", reason="needs the extra [datasets]")
    folder = tmp_path / "my-gsm"
    folder.mkdir()
    (folder / "test.jsonl").write_text(LINES, encoding="utf-8")
    rows = list(read_rows(HubDataset(dataset=str(folder), split="test")))
    assert [row.values for row in rows] == OBJECTS
    assert rows[1].id == "my-gsm-test-2"
    absent = HubDataset(dataset=str(tmp_path / "absent"), split="test")
    with pytest.raises(ConfigurationError, match="loaded"):
        list(read_rows(absent))


def test_files_of_a_dataset_are_found_in_its_cache_without_the_network(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="needs the extra [datasets]")
    repository = tmp_path / "datasets--my--set"
    (snapshot := repository / "snapshots" / "abc" / "more").mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    (snapshot.parent / "a.jsonl").write_text(LINES)
    (snapshot / "b.jsonl.gz").write_bytes(gzip.compress(LINES.encode()))
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(
        hub, "hf_hub_download", partial(hub.hf_hub_download, cache_dir=str(tmp_path))
    )
    rows = read_rows(HubDataset(dataset="my/set", files=("a.jsonl", "more/b.jsonl.gz")))
    assert [(row.id, row.where, row.values) for row in rows] == [
        (f"set-{name}-{n}", f"my/set/{file}:{n}", OBJECTS[n - 1])
        for name, file in (("a", "a.jsonl"), ("b", "more/b.jsonl.gz"))
        for n in (1, 2)
    ]
    with pytest.raises(ConfigurationError, match=r"'b.jsonl' of dataset"):
        list(read_rows(HubDataset(dataset="my/set", files=("b.jsonl",))))


def test_files_replace_a_split():
    with pytest.raises(ValidationError, match="config or"):
        HubDataset(dataset="my/set", files=("a.jsonl",), split="test")
    assert source_name(HubDataset(dataset="my/set", files=("a.jsonl", "b.jsonl.gz"))) == "set-a+b"


def test_without_the_datasets_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigurationError, match="pip install datasets"):
        list(read_rows(HubDataset(dataset="openai/gsm8k", config="main")))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigurationError, match="huggingface_hub"):
        list(read_rows(HubDataset(dataset="codeparrot/apps", files=("train.jsonl",))))


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "folder/a.json"])
def test_a_file_in_another_encoding_is_called_that(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    place = path if name.startswith("a") else path.parent
    text = LINES.split("\n")[1] if place != path else f"{LINES}\n"
    for encoding, expected in (
        ("utf-16", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("cp1252", "Latin-1"),
    ):
        path.write_bytes(text.replace("日本", "é").encode(encoding))
        with pytest.raises(InvalidInstanceError, match=f"in {expected}, .* iconv"):
            list(read_rows(place))
        with pytest.raises(BrokenFileError, match=f"in {expected}, .* iconv"):
            list(read_jsonl(path) if path.suffix == ".jsonl" else [read_json(path)])
    for damaged in (b"\0" * 20, '{"a": "é'.encode()[:-1], b"{"):
        path.write_bytes(damaged)
        with pytest.raises(InvalidInstanceError, match="not valid JSON"):
            list(read_rows(place))
