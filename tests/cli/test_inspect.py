"""`dataenvgym report`, `show` and `export` reach the right run with the right options."""

import os

import pytest
from omegaconf import OmegaConf

from dataenvgym.runs.config import compose


def test_show_prints_the_selected_records_and_transcripts(dataenvgym, run):
    everything = dataenvgym("show", "r", "--limit", "50")
    wrong = dataenvgym("show", "r", "--wrong", "--iteration", "1", "--skill", "sum")
    assert everything.code == wrong.code == 0
    assert "descending" in everything.out
    assert "descending" not in wrong.out


def test_show_draws_the_answers_with_a_seed(dataenvgym, run):
    first, drawn, again, other = (
        dataenvgym("show", "r", "--limit", "3", *seed).out.partition("instances:")[2]
        for seed in ((), ("--seed", "0"), ("--seed", "0"), ("--seed", "1"))
    )
    assert drawn == again
    assert drawn not in (first, other)


def test_export_writes_records_to_a_new_folder(dataenvgym, run, folder):
    dataenvgym.refuses("no run 'rr'. Did you mean 'r'?", "export", "--output", "records", "rr")
    assert dataenvgym("export", "r", "--output", "records").code == 0
    assert (folder / "records" / "README.md").exists()
    assert dataenvgym("export", "r", "--output", "records").code == 2


def test_config_prints_the_composed_configuration_which_can_be_read_back(dataenvgym, folder):
    result = dataenvgym.succeeds("config", "agent=random", "seed=3")
    assert OmegaConf.create(result.out) == compose(["agent=random", "seed=3"])
    assert "${" not in dataenvgym("config", "seed=3", "--resolve").out


@pytest.mark.parametrize(
    ("of", "given"),
    [
        ("eval", ["task=pocket_code"]),
        ("adapt", ["experiment=seal_knowledge_pocket"]),
        ("adapt", ["task=pocket_few_shot"]),
        ("continual", ["task=pocket_knowledge"]),
        ("continual", ["experiment=seal_knowledge_pocket"]),
    ],
)
def test_config_prints_that_of_other_commands_too(dataenvgym, of, given):
    printed = dataenvgym.succeeds("config", "--explain", "--of", of, *given).out
    own = (
        []
        if of == "eval"
        else ["agent/engine=grid_self_edit" if "few" in given[0] else "agent/engine=self_edit"]
    )
    assert OmegaConf.create(printed) == compose([*given, *own], name=of)
    assert all(line.count("#") for line in printed.splitlines() if line.startswith("seeds:"))


def test_show_lists_the_teachers_calls_or_says_that_there_are_none(dataenvgym, run):
    dataenvgym.refuses("no teacher was asked in this run", "show", "r", "--calls")
    dataenvgym.refuses("leave out --iteration", "show", "r", "--calls", "--iteration", "1")


def test_the_same_command_writes_a_damaged_summary_again(dataenvgym, run, small, folder):
    path = folder / "runs" / "r" / "summary.json"
    whole = path.read_text()
    path.write_text("")
    for command in (["show", "r"], ["compare", "r"], ["report", "r"]):
        result = dataenvgym.refuses("summary.json is damaged", *command)
        assert "the command that began the run, or run_episode, writes it again" in result.err
    assert dataenvgym("run", *small, "name=r").code == 0
    assert path.read_text() == whole


def test_without_a_run_those_that_there_are_are_listed(dataenvgym, folder):
    for number in range(12):
        path = folder / "runs" / f"r{number}"
        (path / "iterations").mkdir(parents=True)
        (path / "environment.json").write_text("{}")
        os.utime(path, (number, number))
    (folder / "runs" / "not_a_run").mkdir()
    result = dataenvgym("report")
    assert result.code == 2
    listed = ", ".join(f"r{number}" for number in range(11, 1, -1))
    assert result.err.endswith(f"the latest first: {listed}, ...\n")
