"""`dataenvgym study` and `dataenvgym compare`, from the command to the files."""

import pytest

from dataenvgym.storage import read_json

OPTIONS = ("--name", "s", "--no-bounds", "task.n_train=20", "executor=in_process")


def test_a_study_shows_its_table_and_where_the_files_are(dataenvgym, small, folder):
    command = ("study", "agent=random,skill_list", "seed=0", *small, *OPTIONS)
    result = dataenvgym.succeeds(*command)
    assert "s: 2 of 2 episodes to run" in result.out
    assert "2/2 pocket_math: skill_list, seed 0: finished" in result.out
    assert "difference to random" in result.out
    for name in ("study.md", "curves.png", "results.json"):
        assert f"studies/s/{name}" in result.out
        assert (folder / "studies" / "s" / name).stat().st_size > 0
    again = dataenvgym(*command)
    assert "to run" not in again.out
    assert "This study is finished" in again.out
    assert "difference to random" in again.out


def test_a_study_that_may_not_fit_into_memory_is_told_by_its_plan(dataenvgym, monkeypatch, folder):
    monkeypatch.setattr("dataenvgym.studies.executors.together.free_memory", lambda: 10**8)
    options = ("executor=together", "trainer.lora_rank=600", "--plan", "--no-bounds")
    plan = dataenvgym.succeeds("study", "agent=random", "seed=0,1", *options)
    text = " ".join(plan.out.split())
    assert "warning: 2 episodes that train together need up to" in text
    assert "set executor.workers (now 16)" in text
    assert not (folder / "studies").exists()


def test_a_failed_episode_is_named_and_the_exit_code_is_1(dataenvgym, small, folder):
    clumsy = ("--strategy", "clumsy: agent=random agent._target_=my_students.Clumsy")
    result = dataenvgym("study", "agent=skill_list", *clumsy, *small, *OPTIONS)
    assert result.code == 1
    assert "1 of 2 episodes have no result" in result.err
    assert "pocket_math: clumsy, seed 0: InvalidRecordError: record 0, field output" in result.err
    assert "0*" in result.out
    states = read_json(folder / "studies" / "s" / "study.json")["episodes"]
    assert [one["status"] for one in states] == ["finished", "unfinished"]


def test_an_interrupted_study_says_so_and_the_same_command_resumes_it(dataenvgym, small, folder):
    impatient = ("--strategy", "impatient: agent=random agent._target_=my_students.Impatient")
    command = ("study", *impatient, *small, *OPTIONS, "--allow-unequal", "records")
    result = dataenvgym(*command)
    assert result.code == 130
    assert result.err == (
        "dataenvgym: interrupted. Finished work is in studies/s; the same command continues it\n"
    )
    assert dataenvgym(*command).code == 0


def test_runs_are_compared_by_name_and_written_where_asked(dataenvgym, small, folder):
    for agent in ("random", "skill_list"):
        assert dataenvgym("run", *small, f"agent={agent}", f"name={agent}").code == 0
    result = dataenvgym.succeeds("compare", "random", "skill_list", "--output", "cmp")
    assert "difference to random" in result.out
    assert "pocket_math: the noise may differ: iterations 3 there and 2 here" in result.out
    assert {p.name for p in (folder / "cmp").iterdir()} == {
        "study.md", "curves.png", "results.json",
    }  # fmt: skip
    dataenvgym.refuses(
        "there is no run 'skil_list'. Did you mean 'skill_list'", "compare", "random", "skil_list"
    )


@pytest.mark.slow
def test_a_plan_runs_nothing_and_a_pilot_makes_its_noise_model(
    dataenvgym, small, folder, monkeypatch
):
    command = ("study", "agent=random,skill_list", *small, *OPTIONS)
    monkeypatch.setattr("dataenvgym.studies.noise.SHIPPED", folder / "shipped")
    plan = dataenvgym.succeeds(*command, "seed=range(10)", "--plan")
    assert "there is no noise model of it in noise" in plan.out
    assert not (folder / "studies").exists()
    pilot = dataenvgym.succeeds(*command, "seed=range(3)", "--fit-noise", "--looking-for", "0.001")
    assert "warning: pocket_math: a difference of 0.001 in test gain" in pilot.out
    assert "noise/pocket_math.json  noise model" in pilot.out
    plan = dataenvgym.succeeds(*command, "seed=range(5)", "--plan", "--looking-for", "0.1")
    assert "smallest difference found with 80% power" in plan.out
    assert "cannot be shown with this budget: 5 seeds" in " ".join(plan.out.split())
    dataenvgym.refuses("--looking-for", *command, "--looking-for", "little")
