"""A scripted teacher writes problems with tests; code that fails them gives no record."""

import json
import shutil

import numpy as np
import pytest

from dataenvgym.agents import Assignment
from dataenvgym.agents.engines.preference import PreferenceEngine
from dataenvgym.domains.code.execution_engine import ExecutionEngine
from dataenvgym.domains.code.task import CodeTask
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import SupervisedDatum
from dataenvgym.runs.config import build_agent, compose
from dataenvgym.sandbox import open_sandbox
from tests.domains.code.problems import Broken
from tests.fakes import Teacher

pytestmark = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="needs bubblewrap (Debian: bubblewrap)"
)


def written(k, *, code=None, tests=None):
    return {
        "instruction": f"Write add{k}(x), which returns x + {k}.",
        "output": code or f"def add{k}(x):\n    return x + {k}\n",
        "tests": tests
        or [f"assert add{k}(1) == {k + 1}", f"assert add{k}(-{k}) == 0", f"assert add{k}({k})"],
    }


BAD = {
    "wrong": written(1, code="def add1(x):\n    return x\n"),
    "wrong by its tests": written(2, tests=["assert add2(1) == 3", "assert add2(1) == 4"]),
    "vacuous": written(3, tests=["assert add3(1) is None or add3(1) == 4"]),
    "leaves": written(4, code="import os\ndef add4(x):\n    os._exit(0)\n"),
    "without tests": written(5) | {"tests": []},
    "calls nothing of its own": written(6, tests=["assert sum([6]) == 6"]),
    "no Python": written(7, code="def add7(x) return x"),
    "without an output": {k: v for k, v in written(8).items() if k != "output"},
    "tests that cannot be run": written(9, tests=["assert add9(lambda: 1) == 2"]),
}


def scripted(*answers):
    """Gives these records, one answer after the other, and then nothing new."""
    return Teacher(*({"records": records} for records in (*answers, *[[]] * 9)))


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "train.jsonl"
    row = {"instruction": "Write one().", "entry_point": "one", "tests": [[[], {}, 1]]}
    path.write_text(json.dumps(row | {"skill": "constants", "solution": "def one(): return 1"}))
    task = CodeTask({"train": path})
    yield task
    task.close()


def generate(engine, count, *, skill="sums"):
    return engine.generate((Assignment(count, skill=skill),), None, np.random.default_rng(0))


def test_code_that_passes_its_own_tests_becomes_a_record(task):
    fenced = written(11, code="So:\n```python\ndef add11(x):\n    return x + 11\n```")
    teacher = scripted([written(10), fenced])
    engine = ExecutionEngine(teacher, task)
    one, two = generate(engine, 2)
    assert one == SupervisedDatum(
        instruction=(
            "Write add10(x), which returns x + 10.\n\nYour code should pass these tests:\n\n"
            "assert add10(1) == 11\nassert add10(-10) == 0\nassert add10(10)"
        ),
        output="```python\ndef add10(x):\n    return x + 10\n```",
        provenance=one.provenance,
    )
    assert one.provenance.skill == "sums"
    assert two.output == "```python\ndef add11(x):\n    return x + 11\n```"
    assert task.domain.judge_record(one) is task.domain.judge_record(two) is True
    assert teacher.asked[0].startswith("Write 2 new training records.")
    record = teacher.samplings[0].json_schema["properties"]["records"]["items"]
    assert record["required"] == ["instruction", "output", "tests"]
    assert record["properties"]["tests"]["type"] == "array"


def test_the_reasons_are_counted(task):
    teacher = scripted([*BAD.values(), written(30)])
    engine = ExecutionEngine(teacher, task, batch_size=10, attempts=1)
    assert len(generate(engine, 10)) == 1
    assert engine.dropped == {"wrong": 4, "vacuous": 1, "malformed": 4}


class Counting:
    """A sandbox in which a file tells how many runs there were before."""

    def __init__(self, *, workers):
        self.box = open_sandbox(workers=workers)
        self.runs = 0

    def run(self, code=None, **options):
        files = {"runs": str(self.runs)}
        self.runs += 1
        return self.box.run(code, **options | {"files": files})

    def close(self):
        self.box.close()


def test_code_that_passes_by_chance_is_dropped(tmp_path):
    lucky = "def add1(x):\n    return x + 1 - int(open('runs').read() > '0')\n"
    task = CodeTask({"train": tmp_path / "none.jsonl"}, sandbox=Counting)
    teacher = scripted([written(1, code=lucky), written(2)])
    engine = ExecutionEngine(teacher, task, attempts=1)
    engine._problems = ()
    (record,) = generate(engine, 2)
    assert record.instruction.startswith("Write add2(x)")
    assert engine.dropped == {"wrong": 1, "malformed": 0}
    task.close()


def test_a_sandbox_that_fails_drops_records_and_says_so(task, tmp_path, caplog):
    broken = CodeTask({"train": tmp_path / "none.jsonl"}, sandbox=Broken)
    engine = ExecutionEngine(scripted([written(1)]), broken, attempts=1)
    engine._problems = ()
    assert generate(engine, 1) == []
    assert engine.dropped == {"not judged": 1, "malformed": 0}
    assert "gone" in caplog.text


def test_a_task_without_a_sandbox_is_refused():
    for task in (PocketMathTask(), None):
        with pytest.raises(ConfigurationError, match="with code"):
            ExecutionEngine(scripted(), task)


@pytest.mark.parametrize(
    ("name", "kind"), [("execution", ExecutionEngine), ("execution_preference", PreferenceEngine)]
)
def test_the_configurations_make_the_engines(name, kind, task, tmp_path):
    config = compose(
        ["task=code_jsonl", f"task.sources={tmp_path}", "agent=skill_list", f"agent/engine={name}"]
    )
    agent = build_agent(config, task=task, teacher=scripted())
    assert isinstance(agent.engine, kind)


def program(k, *, code=None, tests=None):
    return {
        "instruction": f"Read a number, write it plus {k}. Read the input from stdin.",
        "output": code or f"print(int(input()) + {k})",
        "tests": tests or [f"Input:\n1\nOutput:\n{k + 1}", f"Input: 5\nOutput: {k + 5}"],
    }


def test_programs_that_read_stdin_are_run_with_their_inputs(task):
    silent = program(2, code="input()", tests=["Input:\n1\nOutput:\n"])
    engine = ExecutionEngine(
        scripted([program(1, code="print(input())"), silent, program(3)]), task
    )
    (record,) = generate(engine, 1)
    assert record.output == "```python\nprint(int(input()) + 3)\n```"
    assert "Your code should pass these tests:\n\nInput:\n1\nOutput:\n4" in record.instruction
    assert (engine.dropped["wrong"], engine.dropped["vacuous"]) == (1, 1)


def test_problems_with_tests_can_be_solved_in_a_second_request(task):
    problems = [{k: v for k, v in written(n).items() if k != "output"} for n in (10, 11)]
    teacher = Teacher(
        {"records": problems},
        "```python\ndef add10(x):\n    return x + 10\n```",
        "def add11(x):\n    return x",
        *[{"records": []}] * 9,
    )
    engine = ExecutionEngine(
        teacher, task, "code_problems", solution_prompt="code_solution", attempts=1
    )
    (record,) = generate(engine, 2)
    assert "return x + 10" in record.output
    assert teacher.purposes == {"records", "solutions"}
    assert engine.dropped["wrong"] == 1
    first = teacher.samplings[0].json_schema["properties"]["records"]["items"]
    assert first["required"] == ["instruction", "tests"]
