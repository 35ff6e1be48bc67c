import pytest

from dataenvgym.cli.main import main
from dataenvgym.cli.pareto import Point, front, read_point
from dataenvgym.domains.orchestrate.pocket import PocketOrchestrateTask
from dataenvgym.domains.orchestrate.policies import FixedOrchestrator
from dataenvgym.errors import ConfigurationError, FormatError
from dataenvgym.runs.evaluation.summary import summarize
from dataenvgym.storage import write_json
from dataenvgym.tasks.metrics.results import EvaluationResults


def test_the_front_has_what_nothing_beats_in_both():
    cheap, dear, bad = Point("cheap", 0.5, 1.0), Point("dear", 0.9, 5.0), Point("bad", 0.5, 2.0)
    unknown = Point("unknown", 1.0, None)
    assert front([unknown, dear, bad, cheap]) == [cheap, dear]
    assert front([Point("a", 0.5, 1.0), Point("b", 0.6, 1.0)]) == [Point("b", 0.6, 1.0)]
    assert front([unknown]) == []


@pytest.fixture
def evaluations(tmp_path):
    task = PocketOrchestrateTask(n_train=6, n_validation=30, n_test=6)
    for name, calls in {"dear": ["answer-1"], "cheap": ["answer-4"]}.items():
        report = task.generate_performance_report(task.evaluate(FixedOrchestrator(calls)))
        results = EvaluationResults(samples=1, metrics=(), report=report)
        write_json(tmp_path / name / "results.json", results)
    return tmp_path


def test_the_command_shows_the_front_and_draws_it(evaluations, capsys):
    plot = evaluations / "p.png"
    main(["pareto", f"gpt={evaluations}/dear", f"{evaluations}/cheap", "--plot", str(plot)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["cheap", "gpt"]
    assert all("on the front" in line for line in lines[2:4])
    before = plot.read_bytes()
    assert before.startswith(b"\x89PNG")
    main(["pareto", f"gpt={evaluations}/dear", f"{evaluations}/cheap", "--plot", str(plot)])
    assert plot.read_bytes() == before


def test_without_folders_all_evaluations_here_are_compared(evaluations, monkeypatch, capsys):
    monkeypatch.chdir(evaluations)
    main(["pareto"])
    assert "there are no evaluations in ./evaluations" in capsys.readouterr().err
    (evaluations / "evaluations").mkdir()
    (evaluations / "dear").rename(evaluations / "evaluations" / "dear")
    main(["pareto"])
    assert "dear" in capsys.readouterr().out


def test_by_seconds_the_same_evaluations_have_other_values(evaluations):
    assert read_point(str(evaluations / "dear"), "seconds").spent == 96
    assert read_point(str(evaluations / "dear"), "cents").spent < 1


def test_an_evaluation_of_another_format_is_refused(evaluations):
    write_json(evaluations / "dear" / "environment.json", {"format": 4})
    (evaluations / "dear" / "config.yaml").write_text("task: {}\n")
    for read in (
        lambda: read_point(f"{evaluations}/dear", "cents"),
        lambda: summarize(evaluations / "dear"),
    ):
        with pytest.raises(FormatError):
            read()


def test_a_folder_without_an_evaluation_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="FOLDER"):
        read_point(f"x={tmp_path}", "cents")
