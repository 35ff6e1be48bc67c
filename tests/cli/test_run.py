"""`dataenvgym run`, from the command to the files."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dataenvgym.storage import read_json, read_jsonl
from tests.processes import MAIN, environment, python


def only_run(folder: Path) -> Path:
    (directory,) = (folder / "runs").iterdir()
    return directory


def test_a_run_shows_how_the_student_gets_better_and_where_the_files_are(dataenvgym, small, folder):
    result = dataenvgym.succeeds("run", *small)
    directory = only_run(folder)
    summary = read_json(directory / "summary.json")
    assert summary["status"] == "finished"
    first, *_, last = (i["val_score"] for i in summary["iterations"])
    assert len(summary["iterations"]) == 3
    assert last > first
    assert summary["test_score_after"] is not None
    assert f"{first:.3f} -> {last:.3f}" in result.out
    for name in ("report.md", "curve.png", "summary.json"):
        assert name in result.out
        assert (directory / name).stat().st_size > 0
    assert "(with the spread of seeds, by a noise model of another setting: iter" in result.out
    assert not (directory / "log.txt").exists()


def test_a_run_is_named_by_name_or_as_in_a_study_also_between_overrides(dataenvgym, small, folder):
    assert dataenvgym("run", *small[:3], "--name", "my run, 1", "--plain", *small[3:]).code == 0
    assert (folder / "runs/my run, 1/summary.json").exists()
    assert "is finished" in dataenvgym("run", *small, "name='my run, 1'").out
    dataenvgym.refuses("name is 'a/b'", "run", *small, "--name", "a/b")


def test_a_finished_run_only_shows_its_report_and_writes_one_that_a_kill_prevented(
    dataenvgym, small, run
):
    before = {p: p.stat().st_mtime_ns for p in run.rglob("*")}
    result = dataenvgym("run", *small, "name=r")
    assert result.code == 0
    assert "This run is finished" in result.out
    assert {p: p.stat().st_mtime_ns for p in run.rglob("*")} == before
    (run / "curve.png").unlink()
    assert dataenvgym("run", *small, "name=r").code == 0
    assert (run / "curve.png").exists()


def test_damaged_and_lost_files_of_a_finished_run_are_named(dataenvgym, small, run):
    for name in ("test/000.jsonl", "agent/001.json"):
        path = run / name
        whole = path.read_bytes()
        path.write_bytes(b"")
        result = dataenvgym("run", *small, "name=r")
        assert result.code == 2
        assert f"{name} is damaged" in result.err.replace("\n", "")
        path.write_bytes(whole)
    assert dataenvgym("run", *small, "name=r").code == 0
    damaged = run / "iterations" / "001" / "records.jsonl"
    damaged.write_bytes(b"".join(damaged.read_bytes().splitlines(keepends=True)[:-1]))
    for command in (("run", *small, "name=r"), ("compare", "r")):
        result = dataenvgym(*command)
        assert result.code == 2
        assert "iterations/001/records.jsonl is damaged" in result.err.replace("\n", "")


def test_more_iterations_extend_a_run(dataenvgym, small, run):
    scores = [i["val_score"] for i in read_json(run / "summary.json")["iterations"]]
    assert dataenvgym("run", *small, "name=r", "episode.iterations=3").code == 0
    summary = read_json(run / "summary.json")
    assert [i["val_score"] for i in summary["iterations"]][:3] == scores
    assert len(summary["iterations"]) == 4
    dataenvgym.refuses("has done 3 iterations already", "run", *small, "name=r")


def test_a_changed_configuration_is_refused_and_fresh_starts_over(dataenvgym, small, run):
    dataenvgym.refuses(
        "predictor.wit: (not there) -> 50", "run", *small, "name=r", "+predictor.wit=50"
    )
    assert dataenvgym("run", *small, "name=r", "+predictor.wit=50", "--fresh").code == 0
    assert read_json(run / "summary.json")["iterations"][0]["val_score"] > 0.3


def test_a_typo_leaves_nothing_behind(dataenvgym, small, folder):
    for key, value in (
        ("agent", "skil_list"),
        ("agent", "my_modul.MyAgent"),
        ("environment.mode", "x"),
        ("episode.metrics", "x"),
        ("episode.iterations", "0"),
        ("agent.name", "3"),
    ):
        result = dataenvgym.refuses(key.split(".")[-1], "run", *small, f"{key}={value}")
        assert "Traceback" not in result.err
    assert "Traceback" in dataenvgym("run", "agent=rnadom", "--debug").err
    assert not (folder / "runs").exists()


def test_an_engine_that_cannot_work_on_the_task_is_refused_at_once(dataenvgym, small, folder):
    (folder / "own.jsonl").write_text('{"question": "Who?", "answer": "#### 1"}\n' * 1)
    task = ("task=math_jsonl", "task.sources={validation: own.jsonl}", "agent=open_ended")
    result = dataenvgym.refuses("task 'math' has no pocket family", "run", *small[:2], *task)
    assert "Choose agent=gold (gold answers), agent/engine=llm with a teacher" in result.err
    assert not (folder / "runs").exists()


def own_agent(name: str) -> tuple[str, ...]:
    return (f"agent._target_=my_students.{name}", "episode.iterations=3")


def continues(directory: Path, command: str = "the same command") -> str:
    folder = directory.relative_to(Path.cwd())
    return f"dataenvgym: interrupted. Finished work is in {folder}; {command} continues it\n"


@pytest.mark.parametrize(
    ("agent", "more", "code", "command"),
    [
        ("Impatient", (), 130, "the same command"),
        ("Unwanted", (), 143, "the same command"),  # by SIGTERM
        ("Hasty", ("--fresh",), 130, "the same command without --fresh"),
        ("Hasty", ("executor=processes",), 130, "the same command"),
    ],
)
def test_an_interrupted_run_says_so_and_the_same_command_resumes_it(
    dataenvgym, small, folder, agent, more, code, command
):
    before = signal.getsignal(signal.SIGTERM)
    result = dataenvgym("run", *small, *own_agent(agent), *more)
    assert (result.code, result.err) == (code, continues(only_run(folder), command))
    assert signal.getsignal(signal.SIGTERM) is before
    if agent != "Hasty":
        assert read_json(only_run(folder) / "summary.json")["status"] == "interrupted"
    if agent == "Impatient":
        assert dataenvgym("run", *small, *own_agent(agent)).code == 0
        assert len(read_json(only_run(folder) / "summary.json")["iterations"]) == 4


@pytest.mark.slow
def test_ctrl_c_at_a_real_run_names_its_folder_which_the_same_command_continues(
    dataenvgym, folder, small
):
    command = ["run", *small, *own_agent("Startled")]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, *MAIN, *command], env=environment(), **piped) as process:
        for line in process.stdout:
            if line == "the agent waits\n":
                process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert (process.returncode, said) == (130, continues(only_run(folder)))
    done = dataenvgym(*command)
    assert (done.code, done.err) == (0, "")
    assert f"run directory: runs/{only_run(folder).name}\n" in done.out
    assert "continued after 1" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["train", "generate"])
def test_a_student_that_computes_obeys_ctrl_c_before_its_next_layer_and_nothing_is_lost(
    dataenvgym, folder, small, tiny_smollm, phase
):
    sizes = [o for o in small if o.startswith(("task", "agent"))]
    student = ["student=hf", f"student.path={tiny_smollm}", "trainer.max_steps=2"]
    agent = ["agent._target_=my_students.Stopping", f"+agent.student={tiny_smollm}"]
    command = ["run", *sizes, *student, *agent, f"+agent.phase={phase}", "episode.iterations=1"]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command += ["trainer.per_device_train_batch_size=8", "task.sampling.max_tokens=8", "name=r"]
    with subprocess.Popen([sys.executable, *MAIN, *command], env=environment(), **piped) as process:
        for line in process.stdout:
            if line == "the student computes\n":
                process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert (process.returncode, said) == (130, continues(only_run(folder)))
    assert not (folder / "computed-more").exists()
    dataenvgym.succeeds(*command)
    dataenvgym.succeeds(*command[:-1], "name=whole")
    stopped, whole = (folder / "runs" / name / "iterations" / "001" for name in ("r", "whole"))
    for file in ("adapter/adapter_model.safetensors", "completed.jsonl"):
        assert (stopped / file).read_bytes() == (whole / file).read_bytes()


def test_an_agents_malformed_record_fails_the_run_in_one_line(dataenvgym, small, folder):
    result = dataenvgym("run", *small, *own_agent("Clumsy"))
    assert result.code == 1
    assert result.err.startswith("dataenvgym: run failed: record 0, field output")
    assert "field output" not in result.out  # once is enough
    assert "Traceback" not in result.err
    assert read_json(only_run(folder) / "summary.json")["status"] == "failed"


def test_a_mistake_in_your_own_code_is_shown_with_its_place(dataenvgym, small):
    result = dataenvgym("run", *small, *own_agent("Buggy"))
    assert result.code == 1
    assert "return 1 // 0" in result.err
    assert result.err.endswith(
        "run failed: ZeroDivisionError: integer division or modulo by zero\n"
    )


def test_scores_go_to_tensorboard_where_asked(dataenvgym, small, folder):
    pytest.importorskip("tensorboard", reason="needs the extra [tensorboard]")
    assert dataenvgym("run", *small, "episode.metrics=tensorboard").code == 0
    assert list((only_run(folder) / "tensorboard").iterdir())


@pytest.mark.slow
def test_the_real_student_runs_in_a_process_of_its_own_without_a_word_on_stderr(folder, small):
    sizes = [o for o in small if not o.startswith("predictor")]
    options = ["predictor.threads=1", "trainer.max_steps=2", "episode.iterations=1", "name=r"]
    done = python(*MAIN, "run", *sizes, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "validation" in done.stdout
    assert (folder / "runs" / "r" / "iterations" / "001" / "adapter").is_dir()


def test_a_full_disk_error_names_the_file(dataenvgym, small, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for command in (("run", *small), ("eval", *small[:4], "evaluations_dir=runs")):
        result = dataenvgym(*command, "name=r")
        assert result.code == 1
        assert "Traceback" not in result.err
        assert "runs/r/config.yaml: No space left on device" in result.err


def test_a_folder_of_runs_that_cannot_be_is_refused(dataenvgym, small, folder):
    (folder / "taken").write_text("a file")
    result = dataenvgym.refuses("taken", "run", *small, "runs_dir=taken")
    assert "Traceback" not in result.err


def test_a_student_is_taught_on_several_tasks_and_each_has_its_score(dataenvgym, folder):
    sizes = {"n_train": 10, "n_validation": 8, "n_test": 6}
    tasks = [f"task.tasks.{t}.{k}={n}" for t in ("pocket_math", "pocket_code")
             for k, n in sizes.items()]  # fmt: skip
    student = ("predictor=custom", "predictor._target_=my_students.MyStudent")
    chosen = ("task.tasks=[pocket_math,pocket_code]", *tasks, *student, "agent=gold")
    result = dataenvgym("run", *chosen, "episode.iterations=1", "name=both", "--plain")
    assert result.code == 0, result.err
    summary = read_json(folder / "runs" / "both" / "summary.json")
    report = read_json(folder / "runs" / "both" / "iterations" / "001" / "iteration.json")["report"]
    assert report["n"] == 16
    parts = [report["scores"][name] for name in ("pocket_math", "pocket_code")]
    assert report["score"] == pytest.approx(sum(parts) / 2)
    assert summary["iterations"][1]["val_score"] == report["score"]
    assert {skill["category"] for skill in report["skills"]} == {"pocket_math", "pocket_code"}
    records = list(read_jsonl(folder / "runs" / "both" / "iterations" / "001" / "records.jsonl"))
    assert {"def" in row["record"]["output"] for row in records} == {True, False}
