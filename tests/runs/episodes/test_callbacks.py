import sys

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.episodes import MetricsCallback, read_summary


def scalars(folder):
    """All scalar series that TensorBoard shows for `folder`: name -> [(step, value)]."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder))
    accumulator.Reload()
    return {
        name: [(event.step, round(event.value, 4)) for event in accumulator.Scalars(name)]
        for name in accumulator.Tags()["scalars"]
    }


def test_tensorboard_shows_every_iteration_once_also_of_a_resumed_run(play, tmp_path):
    board = tmp_path / "board"
    play(
        tmp_path / "run", iterations=1, callbacks=[MetricsCallback("tensorboard", directory=board)]
    )
    play(
        tmp_path / "run", iterations=2, callbacks=[MetricsCallback("tensorboard", directory=board)]
    )
    found = scalars(board)
    summary = read_summary(tmp_path / "run")
    expected = [(i.iteration, round(i.val_score, 4)) for i in summary.iterations]
    assert found["validation/score"] == expected
    assert found["records/total"] == [(0, 0.0), (1, 3.0), (2, 6.0)]
    assert found["test/score_before"] == [(2, 0.1667)]
    assert found["test/score_after"] == [(2, 0.75)]
    assert found["test/iteration"] == [(2, 2.0)]
    assert [step for step, _ in found["skill/_red_shout"]] == [0, 1, 2]
    assert [step for step, _ in found["seconds/train"]] == [0, 1, 2]


@pytest.mark.parametrize("backend", ["wandb", "mlflow"])
def test_a_tracker_that_is_not_installed_is_named_before_anything_is_evaluated(
    play, tmp_path, monkeypatch, backend
):
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ConfigurationError, match=f"pip install {backend}"):
        play(tmp_path / "run", callbacks=[MetricsCallback(backend, directory=tmp_path)])
    assert read_summary(tmp_path / "run").iterations == ()
    assert play(tmp_path / "run").status == "finished"


def test_an_unknown_tracker_is_refused_with_a_suggestion(tmp_path):
    with pytest.raises(ConfigurationError, match="Did you mean 'wandb'"):
        MetricsCallback("wandv", directory=tmp_path)
