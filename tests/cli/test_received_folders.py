"""Every command on a folder from somebody else, with traps in each section of its configuration."""

import re
import sys
from argparse import ArgumentParser
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from dataenvgym.cli.commands import add_commands

TRAP = "from pathlib import Path\nPath('SPRUNG').touch()\ndef Trap(**values): ...\n"
SECTIONS = ("task", "student", "predictor", "trainer", "agent", "environment", "quality", "skills",
            "teacher", "judge", "executor", "store", "episode", "_target_", "anything")  # fmt: skip
TYPED = ("task.n_test=null", "judge.rubric=null", "metrics=[accuracy]")
BUILDING = {
    "attribute": [("run",)],
    "eval": [("--run", "run"), ("name=evaluation",)],
    "rescore": [("evaluation",)],
    "run": [("name=run",)],
}
WITH_OPTIONS = {
    "eval": [("--run", "run", "--dry"), ("--run", "run", "task.n_test=null")],
    "rescore": [("evaluation", typed) for typed in TYPED],
    "run": [("name=run", "--dry")],
}
"""The same with options, which need not be tried with a trap in each section."""
READING = {
    "compare": [("run", "run"), ("evaluation", "evaluation")],
    "summary": [("evaluations",)],
    "report": [("run",)],
    "show": [("run",)],
    "export": [("run", "--output", "exported")],
    "doctor": [()],
    "pareto": [("evaluations/evaluation",)],
}
"""The commands that read the folder of a run or an evaluation."""
CONFIGURATIONS = ("runs/run/config.yaml", "evaluations/evaluation/config.yaml")
OTHERS = {
    "adapt",
    "generate",
    "prepare",
    "serve",
    "serve-adaptation",
    "study",
    "list",
    "config",
    "new",
    "worlds",
    "external",
    "serve-world",
}


@pytest.fixture
def received(dataenvgym, folder, small, as_received):
    """The current folder, with a run and an evaluation, and modules beside them."""
    options = ("student=simulated", "task=pocket_math", *small[2:])
    assert dataenvgym("run", *options, "name=run").code == 0
    assert dataenvgym("eval", *options[:4], "name=evaluation").code == 0
    as_received()
    (folder / "trap.py").write_text(TRAP)
    return folder


def lay_trap(path: Path, section: str, trap: dict[str, object]) -> None:
    config = OmegaConf.load(path)
    old = config.get(section)
    config[section] = trap["_target_"] if section == "_target_" else {**(old or {}), **trap}
    path.write_text(OmegaConf.to_yaml(config))


@pytest.mark.slow
def test_no_command_runs_what_a_received_folder_names(dataenvgym, received):
    commands = add_commands(ArgumentParser(), ArgumentParser)
    assert {*BUILDING, *READING, *OTHERS} == {*commands}, (
        "say whether the new command reads a stored folder"
    )
    trap = {"_target_": "trap.Trap", "inner": {"_target_": "trap.Trap"}}  # the inner is built first
    files = [received / file for file in CONFIGURATIONS]
    texts = [file.read_text() for file in files]
    # what builds a section may refuse one before it reaches the next; what only reads builds none
    for sections in (*((section,) for section in SECTIONS), SECTIONS):
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
            for section in sections:
                lay_trap(file, section, trap)
        stored = [*(BUILDING if len(sections) == 1 else READING).items()]
        if sections[0] in ("task", "judge", "agent", "_target_"):
            stored += WITH_OPTIONS.items()
        for command, arguments in ((c, a) for c, calls in stored for a in calls):
            result = dataenvgym(command, *arguments)
            assert not (received / "SPRUNG").exists(), (sections, command, arguments)
            assert find_spec("trap") is None, (sections, command, arguments)
            assert result.code in (0, 2), (sections, command, arguments, result.err)


def test_a_store_in_an_evaluation_is_refused(dataenvgym, received):
    for store in (
        {"_target_": "os.system", "command": "touch SPRUNG"},
        {"_target_": "dataenvgym.records.store.open_store", "where": "redis://127.0.0.1:9"},
    ):
        lay_trap(received / CONFIGURATIONS[1], "store", store)
        result = dataenvgym("rescore", "evaluation")
        assert result.code == 2
        assert re.search(r"store\.\w+ is .* --trust", result.err)
    assert not (received / "SPRUNG").exists()


ROWS = "".join(f'{{"question": "{i} + 1 = ?", "answer": "{i + 1}"}}\n' for i in range(40))
POWERS = {
    "a program": {
        "_target_": "dataenvgym.domains.tool_use.calls.bfcl_multi_turn.BFCLMultiTurnTask",
        "checkout": "runs/run/clone",
    },
    "servers": {
        "_target_": "dataenvgym.domains.orchestrate.task.OrchestrateTask",
        "sources": "runs/run/rows.jsonl",
        "endpoints": "runs/run/servers.json",
        "retriever": "notes",
    },
    "a file": {"_target_": "dataenvgym.domains.math.task.MathTask", "sources": "/etc/passwd"},
    "a model": {"_target_": "dataenvgym.domains.math.pocket.PocketMathTask", "student": "a/b"},
    "a module": {"_target_": "dataenvgym.domains.tool_use.task.ToolUseTask", "world": "trap.World"},
    "a module of another": {
        "_target_": "dataenvgym.runs.evaluation.inspect_task.InspectTask",
        "name": "trap/task",
    },
    "a class": {"_target_": "dataenvgym.storage.remove_folder", "directory": "runs"},
    "a prompt's file": {
        "_target_": "dataenvgym.domains.social.task.SocialTask",
        "judge_prompt": "/etc/passwd",
    },
}


def test_a_received_folder_has_no_power_that_is_not_typed(dataenvgym, received):
    commands = cycle([("eval", "--run", "run"), ("rescore", "evaluation"), ("attribute", "run")])
    for power, command in zip(POWERS.values(), commands, strict=False):
        for file in CONFIGURATIONS:
            config = OmegaConf.load(received / file)
            config.task = power
            (received / file).write_text(OmegaConf.to_yaml(config))
        dataenvgym.refuses("--trust", *command)
    assert not (received / "SPRUNG").exists()


def test_a_folder_of_ones_own_may_name_what_one_typed_for_it(dataenvgym, folder, as_received):
    (folder / "rows.jsonl").write_text(ROWS)
    asked = ("student=simulated", "task=math_jsonl", "task.sources=rows.jsonl", "name=mine")
    assert dataenvgym("eval", *asked).code == 0
    assert dataenvgym("rescore", "mine").code == 0
    as_received()
    dataenvgym.refuses("task.sources is 'rows.jsonl'", "rescore", "mine")
    assert dataenvgym("rescore", "mine", "task.sources=rows.jsonl").code == 0
    assert dataenvgym("rescore", "mine", "--trust").code == 0


def test_a_run_of_ones_own_is_evaluated_and_another_is_when_its_values_are_harmless(
    dataenvgym, received
):
    file = received / CONFIGURATIONS[0]
    file.write_text(file.read_text().replace("system_prompt: ''", "system_prompt: Be brief."))
    assert "Be brief." in file.read_text()
    assert dataenvgym("eval", "--run", "run", "name=harmless").code == 0
    file.write_text(
        file.read_text().replace("sampling:", "others: {user: {model: m}}\n  sampling:")
    )
    dataenvgym.refuses("task.others.user.model", "eval", "--run", "run")
    assert dataenvgym("eval", "--run", "run", "--trust", "--dry").code == 2  # read, and not built


def test_the_current_folder_is_searched_last_and_only_for_a_class_that_the_user_names(
    dataenvgym, folder, small
):
    for name in ("gmpy2", "torch", "sympy", "tomllib_beside"):
        (folder / f"{name}.py").write_text(TRAP)
    assert dataenvgym("eval", "task=pocket_math", "--limit", "2", "--split", "test").code == 0
    assert find_spec("tomllib_beside") is None
    assert dataenvgym("eval", *small[:3], "task=pocket_math", "name=mine").code == 0
    assert sys.path[-1] == str(folder)
    assert not (folder / "SPRUNG").exists()
