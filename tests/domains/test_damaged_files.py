"""A damaged or odd file of a user ends in an error of the package that can be shown as it is."""

import copy
import gzip
import json
import random
from contextlib import suppress

import pytest

from dataenvgym.domains.code.task import CodeTask
from dataenvgym.domains.few_shot.task import FewShotTask
from dataenvgym.domains.knowledge.task import KnowledgeTask
from dataenvgym.domains.math.task import MathTask
from dataenvgym.domains.tool_use.calls.task import APIBankTask, BFCLTask
from dataenvgym.errors import DataEnvGymError
from dataenvgym.students.llama_factory import read_dataset
from tests.calls_files import write_bfcl, write_dialogues
from tests.domains.code.problems import APPS, HIDDEN, LCB

ODD = (
    *(None, True, 0, -1, 1.5, 2**70, "", "x", "{}", "[", "1e400", [], {}, [None], {"a": None}),
    *([[]], [1, [2]], {"": 1}),
)
BYTES = (
    *(b"", b"[]", b"null", b"5", b'"x"', b"\xff\xfe", b"[" * 5000, b'{"a":' * 3000, b"PK\x03\x04"),
    *(b"\x1f\x8b\x08\x00", b"\n\n", b"[[]]", b"\xef\xbb\xbf"),
)
PUZZLE = {"train": [{"input": [[1]], "output": [[2]]}], "test": [{"input": [[1]], "output": [[2]]}]}
ASKED = {"question": "q?", "answers": [{"text": "word", "answer_start": 0}], "id": "1"}
CALL = {"name": "f", "arguments": {"a": 1}}


def rows(task, content, name="p.jsonl", **options):
    def write(folder):
        listed = content if isinstance(content, list) else [content]
        text = "".join(json.dumps(row) + "\n" for row in listed)
        data = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
        (folder / name).write_bytes(data)
        return lambda: task({"test": folder / name}, split="test", **options).instances

    return write


def dataset(content, **entry):
    def write(folder):
        info = {"d": {"file_name": "d.json", **entry}}
        (folder / "dataset_info.json").write_text(json.dumps(info))
        (folder / "d.json").write_text(json.dumps([content]))
        return lambda: list(read_dataset(folder, "d"))

    return write


def articles(folder):
    passage = {"context": "c", "qas": [ASKED]}
    data = {"data": [{"title": "t", "paragraphs": [passage]}]}
    (folder / "p.json").write_text(json.dumps(data))
    return lambda: KnowledgeTask({"test": folder / "p.json"}, split="test").instances


def bfcl(folder):
    written = write_bfcl(folder / "bfcl")
    return lambda: BFCLTask(written).whole().instances


def api_bank(folder):
    written = write_dialogues(folder / "api_bank")
    return lambda: APIBankTask(written).whole().instances


TURNS = [
    {"from": "human", "value": "q"},
    {"from": "function_call", "value": f"<think>hm</think>{json.dumps(CALL)}"},
    {"from": "observation", "value": "1"},
    {"from": "gpt", "value": "a"},
]
MESSAGES = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": CALL}]},
    {"role": "tool", "content": "1"},
    {"role": "assistant", "content": "a"},
]
READERS = {
    "math": rows(MathTask, {"problem": "1 + 1", "answer": 2, "type": "A", "id": "x"}),
    "packed": rows(MathTask, [{"problem": "1 + 1", "answer": 2}] * 3, "p.jsonl.gz"),
    "code": rows(CodeTask, {"instruction": "f", "entry_point": "f", "hidden": [[[1], {}, 2]]}),
    "apps": rows(CodeTask, APPS, format="apps"),
    "livecodebench": rows(
        CodeTask, LCB | {"private_test_cases": HIDDEN}, format="livecodebench"
    ),
    "knowledge": rows(KnowledgeTask, {"context": "c", "title": "t", "questions": [ASKED]}),
    "squad": articles,
    "puzzles": rows(FewShotTask, {"a": PUZZLE}, "p.json"),
    "puzzle": rows(FewShotTask, PUZZLE),
    "bfcl": bfcl,
    "api_bank": api_bank,
    "sharegpt": dataset({"m": TURNS}, formatting="sharegpt", columns={"messages": "m"}),
    "openai": dataset({"m": MESSAGES, "t": [{"name": "f"}]}, formatting="openai",
                      columns={"messages": "m", "tools": "t"}),
    "alpaca": dataset({"instruction": "a", "input": "b", "output": "c"}),
}  # fmt: skip


def places(value, path=()):
    yield path
    listed = dict(enumerate(value)) if isinstance(value, list) else value
    for key, item in listed.items() if isinstance(listed, dict) else ():
        yield from places(item, (*path, key))


def with_odd_value(data, rng):
    """JSON with one value anywhere replaced by an odd one, or taken out."""
    try:
        values = [json.loads(data)]
    except ValueError:
        values = [json.loads(line) for line in data.splitlines() if line.strip()]
    at = rng.randrange(len(values))
    path = rng.choice(list(places(values[at])))
    inner = values = copy.deepcopy(values)
    path = (at, *path)
    for key in path[:-1]:
        inner = inner[key]
    if rng.random() < 0.1:
        del inner[path[-1]]
    else:
        inner[path[-1]] = rng.choice(ODD)
    return "\n".join(map(json.dumps, values)).encode()


def damaged(data, rng):
    kind = rng.random()
    if kind < 0.7 and data:
        return with_odd_value(data, rng)
    if kind < 0.8:
        return data[: rng.randrange(len(data) + 1)]
    if kind < 0.9 and data:
        at = rng.randrange(len(data))
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    return rng.choice((*BYTES, data.decode(errors="replace").encode("utf-16")))


@pytest.mark.parametrize("reader", READERS)
def test_odd_and_damaged_files_end_in_an_error_of_the_package(tmp_path, reader):
    rng = random.Random(reader)
    read = READERS[reader](tmp_path)
    assert read()
    whole = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    for _ in range(40):
        path, data = rng.choice(list(whole.items()))
        if path.suffix == ".gz" and rng.random() < 0.5:
            path.write_bytes(gzip.compress(damaged(gzip.decompress(data), rng)))
        elif path.suffix == ".gz":
            path.write_bytes(data[: rng.randrange(len(data))] + rng.choice(BYTES))
        else:
            path.write_bytes(damaged(data, rng))
        with suppress(DataEnvGymError):
            read()
        path.write_bytes(data)
