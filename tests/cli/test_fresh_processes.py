"""One command of each kind in a process of its own: nothing may depend on an earlier import."""

import argparse
from concurrent.futures import ThreadPoolExecutor

import pytest

from dataenvgym.cli.commands import add_commands
from tests.cli.conftest import MY_STUDENTS
from tests.processes import MAIN, environment, python

pytestmark = pytest.mark.slow

SCRIPTED = ("predictor=custom", "predictor._target_=my_students.MyStudent")
FEW = ("task.n_validation=6", "task.n_test=6")
SMALL = (*SCRIPTED, *FEW, "agent.records_per_iteration=6", "episode.iterations=1", "--plain")
FIRST = {
    "run": (*SMALL, "name=r"),
    "study": (*SMALL, "agent=random,skill_list", "seed=0", "--no-bounds", "--name=s"),
    "eval": (*SCRIPTED, *FEW, "task=pocket_orchestrate", "name=e"),
    "generate": ("prompt=question.yaml", "input=rows.jsonl", *SCRIPTED),
    "adapt": (
        *("task=pocket_knowledge", "task.n_train=8", *FEW, "task.sampling.max_tokens=4"),
        *("trainer.num_train_epochs=1", "agent.engine.max_tokens=4"),
        *("arms.names=[self_edits]", "arms.contexts=1", "name=a", "--plain"),
    ),
    "list": (),
    "config": ("agent=skill_tree",),
    "new": ("agent", "my_agent"),
    "external": ("list",),
    "prepare": (),
    "doctor": (),
    "worlds": ("audit", "wallet"),
}
"""Arguments of the smallest sensible call of each command, and of those that read the results."""
THEN = {
    "report": ("r",),
    "show": ("r",),
    "compare": (),  # with the runs of the study
    "export": ("r", "--output=records"),
    "attribute": ("r", "--iteration=1", "--by=record", "--limit=1", "--repeats=1", "--trust"),
    "summary": (),
    "rescore": ("e", "--trust"),
    "pareto": (),
}
OWN_TESTS = {"serve", "serve-world", "serve-adaptation"}  # they start them in processes


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh")
    (folder / "my_students.py").write_text(MY_STUDENTS)
    (folder / "question.yaml").write_text("user: '{question}'\n")
    (folder / "rows.jsonl").write_text('{"question": "1 + 1 = ?"}\n')

    variables = {**environment(), "DATAENVGYM_DATA": str(folder)}

    def run(command):
        name, arguments = command
        runs = folder.glob("studies/s/runs/*") if name == "compare" else ()
        return name, python(*MAIN, name, *arguments, *runs, cwd=folder, env=variables)

    with ThreadPoolExecutor(3) as pool:
        return {**dict(pool.map(run, FIRST.items())), **dict(pool.map(run, THEN.items()))}


@pytest.mark.parametrize("name", [*FIRST, *THEN])
def test_a_command_succeeds_in_a_process_of_its_own(results, name):
    done = results[name]
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout


def test_no_command_is_left_out():
    commands = add_commands(argparse.ArgumentParser(), argparse.ArgumentParser)
    assert set(commands) == {*FIRST, *THEN, *OWN_TESTS}
