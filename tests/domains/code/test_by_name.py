"""The configured tasks, loaded by name; the hub is a fake at the network level."""

import io
import json

import pytest

from tests.domains.code.problems import APPS, HUMANEVAL, LCB, MBPP

pytest.importorskip("datasets", reason="needs the extra [datasets]")

IDS = """
import json, sys
from dataenvgym.runs.config import build_task, compose
for overrides in sys.argv[1:]:
    task = build_task(compose(json.loads(overrides)))
    splits = [split for split in ("train", "validation", "test") if split in task.splits]
    print(json.dumps({split: [i.id for i in task.on(split).instances] for split in splits}))
"""


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


@pytest.mark.slow
def test_each_set_is_read_from_the_files_of_its_repository(hub):
    apps = {name: value for name, value in APPS.items() if name != "problem_id"}
    rows = [apps | {"id": k, "question": f"Add one. ({k})"} for k in range(9)]
    hub.repositories["codeparrot/apps"] = {
        "README.md": b"",
        "apps.py": b"raise SystemExit",
        "train.jsonl": lines(*rows),
        "test.jsonl": lines(rows[0], apps | {"question": "?"}),
    }
    hub.repositories["livecodebench/code_generation_lite"] = {
        "code_generation_lite.py": b"raise SystemExit",
        "test6.jsonl": lines(LCB),  # the newest one
        "test5.jsonl": lines(LCB | {"question_id": "older"}),
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
        ["HumanEval/38"],
        ["7"],
        ["HumanEval/9"],
    ]
