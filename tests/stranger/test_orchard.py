"""The package of a stranger works as the pages promise (`orchard`, by its own `pyproject.toml`).

It uses only what `docs/write_your_own.md` and `docs/add_a_domain.md` name. A change that breaks it
breaks packages of other people: change it only together with these pages.
"""

import json
import os
import shutil
import sys
import tomllib
from importlib import invalidate_caches
from pathlib import Path

import gymnasium
import pytest

from dataenvgym import register_environments
from dataenvgym.cli.main import main
from tests.processes import python

HERE = Path(__file__).parent
GROUPS = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["entry-points"]
CALL = '<tool_call>{"name": "weigh", "arguments": {"fruit": "apple"}}</tool_call>'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the installed package, as pip leaves it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(HERE / "orchard", folder / "orchard")
    (info := folder / "orchard-0.1.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: orchard\nVersion: 0.1\n")
    with (info / "entry_points.txt").open("w") as file:
        for group, points in GROUPS.items():
            file.writelines([f"[{group}]\n", *(f"{n} = {v}\n" for n, v in points.items())])
    return folder


@pytest.fixture
def installed(site, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    known = set(gymnasium.registry)
    register_environments()
    yield tmp_path
    for name in set(gymnasium.registry) - known:
        del gymnasium.registry[name]
    for name in [name for name in sys.modules if name.partition(".")[0] == "orchard"]:
        del sys.modules[name]
    invalidate_caches()


def summary_of(folder):
    (run,) = (folder / "runs").iterdir()
    return json.loads((run / "summary.json").read_text())


def scores_of(summary):
    return [iteration["val_score"] for iteration in summary["iterations"]]


LOOK = """
import gymnasium
import dataenvgym
from dataenvgym.cli.main import main

environment = gymnasium.make("orchard/Scales-v0")
print(environment.reset(seed=0)[0][0].content)
for group in "agent policy engine quality skills teacher environment predictor task".split():
    assert main(["list", f"agent/{group}" if group in ("policy", "engine") else group]) == 0
main(["--help"])
"""
NOT_LISTED = {"dataenvgym.task_environments", "dataenvgym.commands"}


def test_each_class_and_command_of_the_package_is_listed(site, tmp_path):
    (tmp_path / "look.py").write_text(LOOK)
    environment = os.environ | {"PYTHONPATH": str(site)}
    shown = python(tmp_path / "look.py", cwd=tmp_path, timeout=250, env=environment)
    assert shown.returncode == 0, shown.stderr
    for value in (v for g in GROUPS if g not in NOT_LISTED for v in GROUPS[g].values()):
        assert f"From orchard: {value.replace(':', '.')}" in shown.stdout
    assert "Basket 57: what do 59 of apple weigh?" in shown.stdout
    assert "harvest" in shown.stdout


def test_the_environment_lets_a_student_weigh_and_scores_its_answer(installed):
    environment = gymnasium.make("orchard/Scales-v0")
    environment.reset(seed=1, options={"instance_id": "42"})
    conversation, reward, over, _, _ = environment.step(CALL)
    assert (conversation[-1].role, reward, over) == ("tool", 0.0, False)
    *_, reward, over, _, info = environment.step(str(44 * int(conversation[-1].content)))
    assert (reward, over, info["was_correct"]) == (1.0, True, 1.0)


def test_an_agent_of_the_package_teaches_its_student_its_task_and_continues(installed, capsys):
    run = ["run", "task=orchard", "agent=picker", "+agent.most=4", "predictor=helper"]
    run += ["environment=skill_list"]
    assert main([*run, "episode.iterations=1"]) == 0
    assert main([*run, "episode.iterations=3"]) == 0
    summary = summary_of(installed)
    assert scores_of(summary) == [0.0, 0.3, 0.65, 1.0]
    assert [i["n_records"] for i in summary["iterations"]] == [0, 4, 4, 4]
    assert summary["iterations"][-1]["named_scores"]["weighed"] == 1.0
    assert "finished: validation 0.000 -> 1.000" in capsys.readouterr().out


def test_its_policy_engine_check_and_environment_work_with_ours(installed):
    parts = ["agent/policy=in_turn", "agent/engine=grower", "agent.name=mine", "quality=ripe"]
    parts += ["environment=priced", "+environment.price=0.1"]
    run = ["run", "task=orchard", "agent=skill_list", "agent.records_per_iteration=20"]
    assert main([*run, *parts, "predictor=helper", "episode.iterations=1"]) == 0
    last = summary_of(installed)["iterations"][-1]
    assert (last["dropped"], last["n_records"], last["val_score"]) == ({"green": 12}, 6, 0.3)


def test_its_teacher_writes_records_for_our_engine_and_its_labels_group_the_report(installed):
    run = ["run", "task=orchard", "agent=open_ended", "agent/engine=llm", "teacher=neighbor"]
    run += ["predictor=helper", "agent.records_per_iteration=1", "episode.iterations=1"]
    assert main([*run, "skills=first_letters"]) == 0
    by_skill = summary_of(installed)["iterations"][1]["val_score_by_skill"]
    assert by_skill == {"a": 0.0, "p": 0.5}


def test_a_failed_call_and_a_speaker_of_the_package_are_counted_apart(installed, capsys):
    options = ["predictor=helper", "+predictor.deaf=pear"]
    options += ["task.others.owner=orchard.student.make_owner"]
    assert main(["eval", "task=orchard", *options]) == 0
    shown = capsys.readouterr().out
    overall = next(line.split() for line in shown.splitlines() if line.startswith("all  "))
    assert overall[1:7] == ["0.000", "0.000", "1.000", "0.000", "20", "7"]
    assert "7 infrastructure, 13 student" in shown


def test_its_world_passes_the_audit_and_its_problems_are_scored(installed, capsys):
    shutil.copy(HERE / "cellar.jsonl", installed)
    world = "orchard.world.Cellar"
    assert main(["worlds", "audit", world, "--tasks", "cellar.jsonl"]) == 0
    task = [f"task.world={world}", "task.sources=cellar.jsonl"]
    assert main(["eval", "task=world", *task, "predictor=orchard.student.make_porter"]) == 0
    assert "0.500" in capsys.readouterr().out


def test_its_command_runs(installed, capsys):
    assert main(["harvest", "40"]) == 0
    assert capsys.readouterr().out.strip().isdecimal()
