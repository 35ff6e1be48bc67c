"""The configured tasks, loaded by name; the hub is a fake at the network level."""

import io
import json

import pytest

pytest.importorskip("datasets", reason="needs the extra [datasets]")

IDS = """
import json, sys
from dataenvgym.config import build_task, compose
for overrides in sys.argv[1:]:
    task = build_task(compose(json.loads(overrides)))
    splits = [split for split in ("train", "validation", "test") if split in task.splits]
    print(json.dumps({split: [i.id for i in task.on(split).instances] for split in splits}))
"""
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def f(x):\n    '''Half of x.'''\n",
    "entry_point": "f",
    "canonical_solution": "    return x / 2\n",
    "test": "import numpy\ndef check(candidate):\n    assert candidate(3) == 1.5\n",
}
MBPP = {
    "task_id": 2,
    "code": "def add(x):\n    return x + 1\n",
    "prompt": "Write a function to add one.",
    "source_file": "",
    "test_imports": [],
    "test_list": ["assert add(1) == 2"],
    "test": "import numpy\nassert add(2) == 3\n",
}


def lines(*rows):
    return "\n".join(map(json.dumps, rows)).encode()


def parquet(*rows):
    """A repository with one Parquet file for its split `test`, as EvalPlus publishes its sets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    card = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: test\n"
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), data)
    return {
        "README.md": f"{card}    path: data/test-*\n---\n".encode(),
        "data/test-00000-of-00001-5973903632b82d40.parquet": data.getvalue(),
    }


def ids(hub, *tasks):
    """For each task, a list of overrides: the ids of the instances in each split."""
    done = hub.run(IDS, *map(json.dumps, tasks))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


APPS = {
    "solutions": json.dumps(["print(int(input()) + 1)"]),
    "input_output": json.dumps({"inputs": ["1\n"], "outputs": ["2\n"]}),
    "difficulty": "interview",
    "url": "",
    "starter_code": "",
}
LIVECODEBENCH = {
    "question_id": "abc301_a",
    "question_content": "Add one.",
    "contest_date": "2025-01-04T00:00:00",
    "starter_code": "",
    "public_test_cases": json.dumps([{"input": "1", "output": "2", "testtype": "stdin"}]),
    "private_test_cases": "[]",
    "metadata": "{}",
}


def test_each_set_is_read_from_the_files_of_its_repository(hub):
    rows = [APPS | {"id": k, "question": f"Add one. ({k})"} for k in range(9)]
    hub.repositories["codeparrot/apps"] = {
        "README.md": b"",
        "apps.py": b"raise SystemExit",
        "train.jsonl": lines(*rows),
        "test.jsonl": lines(rows[0], APPS | {"question": "?"}),
    }
    hub.repositories["livecodebench/code_generation_lite"] = {
        "code_generation_lite.py": b"raise SystemExit",
        "test6.jsonl": lines(LIVECODEBENCH),  # the newest one
        "test5.jsonl": lines(LIVECODEBENCH | {"question_id": "older"}),
    }
    hub.repositories["evalplus/humanevalplus"] = parquet(HUMANEVAL)
    hub.repositories["evalplus/mbppplus"] = parquet(MBPP)
    hub.repositories["openai/openai_humaneval"] = parquet(HUMANEVAL | {"task_id": "HumanEval/9"})
    by_name = "task.sources={validation: {dataset: openai/openai_humaneval, split: test}}"
    tasks = (["task=apps"], ["task=livecodebench"], ["task=humaneval_plus"], ["task=mbpp_plus"])
    apps, livecodebench, *others = ids(hub, *tasks, ["task=humaneval", by_name])
    assert len(apps["train"]) == 8
    assert len(apps["validation"]) == 1
    assert apps["test"] == ["apps-test-1", "apps-test-2"]
    assert livecodebench == {"validation": ["abc301_a"]}
    assert [parts["validation"] for parts in others] == [
        ["HumanEval/0"],
        ["2"],
        ["HumanEval/9"],
    ]
