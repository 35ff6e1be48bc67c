"""Whole studies, with a student by rule."""

import shlex

import pytest

from dataenvgym.cli.main import parse_arguments
from dataenvgym.errors import ConfigChangedError, ConfigurationError, RunDirectoryError
from dataenvgym.storage import read_json, write_json
from dataenvgym.studies.plan import plan_study
from dataenvgym.studies.results import measure_run
from dataenvgym.studies.study import Study, run_study
from dataenvgym.workspace import locked

GRID = ("agent=random,skill_list", "seed=0,1")


def runs(folder, name="s"):
    return sorted(p.name for p in (folder / "studies" / name / "runs").iterdir())


def times(folder, name="s"):
    root = folder / "studies" / name / "runs"
    return {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()}


def numbers(results):
    """All runs of `results.json` without their times."""
    return [
        {name: value for name, value in seed.items() if name != "seconds"}
        for one in results["tasks"][0]["strategies"]
        for seed in one["seeds"]
    ]


def test_a_study_is_a_folder_of_ordinary_runs_with_table_plot_and_numbers(studied, folder):
    results = studied
    directory = folder / "studies" / "s"
    assert {p.name for p in directory.iterdir()} == {
        "study.json", "runs", "results.json", "curves.png", "study.md",
    }  # fmt: skip
    # two strategies and the ceiling with two seeds each, and one floor
    assert len(runs(folder)) == 7
    assert read_json(directory / "results.json") == results.model_dump(mode="json")
    (task,) = results.tasks
    assert [(one.name, one.role) for one in task.strategies] == [
        ("random", "strategy"), ("skill_list", "strategy"), ("gold", "ceiling"),
    ]  # fmt: skip
    assert [one.seed for one in task.strategies[0].seeds] == [0, 1]
    assert task.floor.deterministic
    assert task.floor.n_runs == 7
    summary = read_json(directory / "runs" / task.strategies[0].seeds[0].run / "summary.json")
    first = task.strategies[0].seeds[0]
    assert first.test_after == summary["test_score_after"]
    assert list(first.val_scores) == [i["val_score"] for i in summary["iterations"]]
    assert first.val_gain > 0
    assert results.baseline == "random"
    assert "gold (not a ceiling)" in (directory / "study.md").read_text()
    assert all(e["status"] == "finished" for e in read_json(directory / "study.json")["episodes"])


@pytest.mark.slow
def test_the_ceiling_gets_all_gold_data_with_any_record_budget(small, folder):
    limits = ["environment.max_records=20", "agent.records_per_iteration=10"]
    found = run_study(["agent=random", *small[:5], *small[6:], *limits], name="s")
    random, gold = found.tasks[0].strategies
    assert random.measures["records"].mean == 20
    assert gold.measures["records"].mean > 15  # 20 less those that are like evaluation problems
    config = (folder / "studies" / "s" / "runs" / gold.seeds[0].run / "config.yaml").read_text()
    assert "max_records: null" in config


def test_a_pressure_leaves_the_records_of_the_ceiling_alone(folder):
    plan = plan_study(["task=pocket_math,teach/traps", "agent=random"])
    spared = {
        (c.task, c.role) for c in plan.cells if c.config.task.get("pressure_on_records") is False
    }
    assert spared == {("teach/traps", "ceiling")}


def test_bounds_have_their_own_engine_with_any_experiment(monkeypatch, folder):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    plan = plan_study(["experiment=dataenvgym_math_gemma2_2b", "agent=random"])
    engines = {cell.role: cell.config.agent.engine._target_ for cell in plan.cells}
    assert engines == {
        "floor": "dataenvgym.agents.NoEngine",
        "strategy": "dataenvgym.agents.LLMEngine",
        "ceiling": "dataenvgym.agents.GoldEngine",
    }
    assert {cell.task for cell in plan.cells} == {"math"}
    assert plan.name.startswith("math")


def test_a_ceiling_without_accepted_records_is_an_error_and_not_a_result(studied, small, folder):
    study = Study(plan_study([*GRID, *small], name="s"))
    (cell,) = (c for c in study.plan.cells if (c.role, c.seed) == ("ceiling", 1))
    summary = read_json(cell.directory / "summary.json")
    for one in summary["iterations"]:
        one.update(n_records=0, n_records_total=0, dropped={"evaluation_overlap": 5})
    write_json(cell.directory / "summary.json", summary)
    (task,) = study.finish().tasks
    assert [[run.seed for run in one.seeds] for one in task.strategies] == [[0, 1], [0, 1], [0]]
    ((missing, reason),) = study.missing()
    assert missing is cell
    assert "train split was accepted (15 evaluation_overlap dropped)" in reason
    assert study.unfinished() == []


def test_runs_on_other_records_are_told_apart(studied, folder):
    runs = folder / "studies" / "s" / "runs"
    hashes = {
        one.name: {measure_run(runs / seed.run, iterations=2).records_hash for seed in one.seeds}
        for one in studied.tasks[0].strategies
    }
    assert [len(hashes[name]) for name in ("random", "skill_list", "gold")] == [2, 2, 1]
    assert not any("identical" in warning for warning in studied.warnings)


def test_errors_are_counted_by_cause_and_a_student_with_more_of_them_is_named(small, folder):
    (folder / "failing.py").write_text(
        "from my_students import MyStudent\n"
        "from dataenvgym.interfaces import Failure\n\n\n"
        "class Failing(MyStudent):\n"
        "    def predict(self, conversations, sampling=None):\n"
        "        first, *others = super().predict(conversations, sampling)\n"
        "        return [Failure(reason='cut off') if self.records else first, *others]\n"
    )
    failing = [*small, "predictor._target_=failing.Failing", "episode.iterations=1"]
    results = run_study(["agent=random", "seed=0", *failing], name="f", bounds=False)
    (one,) = results.tasks[0].strategies
    assert one.errors == {"infrastructure": 2}
    assert results.tasks[0].floor.errors == {}
    assert "no teaching 0; random 2 infrastructure" in results.warnings[0]


def test_the_expected_time_is_that_of_episodes_of_the_same_strategy(studied, small, folder):
    more = Study(plan_study(["agent=random,open_ended", "seed=0,1,2", *small], name="s"))
    for one, seconds in (("random", 30.0), ("gold", 300.0)):
        for run in (folder / "studies" / "s" / "runs").glob(f"pocket_math-{one}-*"):
            summary = read_json(run / "summary.json")
            for iteration in summary["iterations"]:
                iteration["seconds"]["total"] = seconds / len(summary["iterations"])
            write_json(run / "summary.json", summary)
            (run / "events.jsonl").unlink()
            if one == "gold":  # a torn log stops nothing
                (run / "events.jsonl").write_bytes(b'{"event": "ph')
    expected = more.expected_time()
    assert round(expected.seconds) == 330  # one seed of random, one of gold
    assert expected.unknown == ["pocket_math: open_ended"]
    assert str(expected).startswith("about 6 min, not counting pocket_math: open_ended")
    words = ["agent=random,open_ended", "seed=0,1,2", *small[:-1]]  # in processes
    assert Study(plan_study(words, name="s", workers=2)).expected_time().seconds < expected.seconds


def test_missing_reports_and_curves_of_finished_runs_are_written_again(studied, small, folder):
    one, other, *_ = sorted((folder / "studies" / "s" / "runs").iterdir())
    before = (one / "report.md").read_bytes()
    (one / "report.md").unlink()
    (other / "curve.png").unlink()
    run_study([*GRID, *small], name="s")
    assert (one / "report.md").read_bytes() == before
    assert (other / "curve.png").exists()


def test_a_finished_study_runs_nothing_again(studied, small, folder):
    before = times(folder)
    assert run_study([*GRID, *small], name="s") == studied
    assert times(folder) == before


def test_more_seeds_and_strategies_extend_a_study(studied, small, folder):
    before = times(folder)
    more = ["agent=random,skill_list,open_ended", "seed=1,0", *small]
    results = run_study(more, name="s", bounds=False)
    assert len(runs(folder)) == 7 + 2
    assert {p: t for p, t in times(folder).items() if p in before} == before
    assert [len(one.seeds) for one in results.tasks[0].strategies] == [2, 2, 2]
    assert results.tasks[0].strategies[0].seeds == studied.tasks[0].strategies[0].seeds


@pytest.mark.slow
def test_more_iterations_extend_its_runs_and_fewer_are_refused(small, folder):
    run_study(["agent=random", *small], name="s", bounds=False)
    more = run_study(["agent=random", *small[:-2], "episode.iterations=3", small[-1]],
                     name="s", bounds=False)  # fmt: skip
    assert len(runs(folder)) == 1
    assert len(more.tasks[0].strategies[0].curve) == 4
    with pytest.raises(ConfigChangedError, match="done"):
        run_study(["agent=random", *small], name="s", bounds=False)


@pytest.mark.slow
def test_a_failed_episode_is_missing_with_its_reason_and_is_tried_again(small, folder):
    (folder / "fault").touch()
    faulty = "faulty: agent=skill_list agent._target_=my_students.Faulty"
    arguments = {"name": "s", "strategies": [faulty], "bounds": False}
    results = run_study(["agent=random", "seed=0,1", *small], **arguments)
    random, broken = results.tasks[0].strategies
    assert len(random.seeds) == 2
    assert broken.missing == {1: "RuntimeError: out of ideas"}
    assert broken.comparisons["test_gain"].seeds == (0,)
    table = (folder / "studies" / "s" / "study.md").read_text()
    assert "faulty, seed 1: RuntimeError: out of ideas" in table
    (folder / "fault").unlink()
    results = run_study(["agent=random", "seed=0,1", *small], **arguments)
    assert results.tasks[0].strategies[1].missing == {}


def test_unfinished_episodes_are_shown_as_unfinished(small, folder):
    study = Study(plan_study([*GRID, *small], name="s", bounds=False))
    reasons = {why for o in study.results().tasks[0].strategies for why in o.missing.values()}
    assert reasons == {"not run yet"}
    assert not (folder / "studies").exists()


@pytest.mark.slow
def test_an_agent_that_takes_more_records_than_its_budget_is_found_out(small, folder):
    greedy = "greedy: agent=random agent._target_=my_students.Greedy"
    options = {"strategies": [greedy], "name": "s", "bounds": False}
    with pytest.raises(ConfigurationError, match="greedy"):
        run_study(["agent=random", *small], **options)
    results = run_study(["agent=random", *small], allow_unequal=["records"], **options)
    assert results.unequal[0].startswith("records: ")


def test_only_one_process_runs_a_study(small, folder):
    (folder / "studies" / "s").mkdir(parents=True)
    with (
        locked(folder / "studies" / "s"),
        pytest.raises(RunDirectoryError, match="writing"),
    ):
        run_study(["agent=random", *small], name="s", bounds=False)
    assert list((folder / "studies" / "s").iterdir()) == []


def test_the_default_name_has_the_common_options(folder):
    def name(*overrides):
        return plan_study(overrides, bounds=False).name

    assert name("agent=random", "seed=0") == name("agent=random,skill_list", "seed=1,2")
    assert name("agent=random") == name("agent=random", "episode.iterations=9")
    assert name("agent=random") != name("agent=random", "environment.replay=9")
    assert name() == "pocket_math"
    of_files = ["task=gsm8k,math_jsonl", "task.sources=problems.jsonl", "agent=gold"]
    assert name(*of_files).startswith("gsm8k-math_jsonl-")


def test_the_command_in_the_results_makes_the_same_study(studied, folder):
    arguments = parse_arguments(shlex.split(studied.command)[1:])
    study = Study(
        plan_study(
            arguments.overrides,
            name=arguments.name,
            strategies=arguments.strategy or (),
            bounds=not arguments.no_bounds,
        )
    )
    assert (study.plan.command, study.unfinished()) == (studied.command, [])


@pytest.mark.slow
def test_a_study_in_processes_comes_to_the_same(studied, small, folder):
    there = run_study([*GRID, *small[:-1]], name="there", workers=2)

    assert numbers(there.model_dump(mode="json")) == numbers(studied.model_dump(mode="json"))
