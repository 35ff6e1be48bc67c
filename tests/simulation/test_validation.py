import numpy as np
import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.simulation.fitting import fit_curves
from dataenvgym.simulation.validation import halves, held_out_errors


def test_every_run_is_in_one_half_and_the_seed_says_in_which(curves, record):
    runs = record(curves, 7)
    first, second = halves(runs, seed=0)
    assert (len(first), len(second)) == (4, 3)
    assert {t.name for t in first} | {t.name for t in second} == {t.name for t in runs}
    again, _ = halves(runs, seed=0)
    assert [t.name for t in again] == [t.name for t in first]
    assert len({tuple(sorted(t.name for t in halves(runs, seed)[0])) for seed in range(9)}) > 1


def test_one_run_cannot_be_halved(curves, record):
    with pytest.raises(ConfigurationError, match="1 runs"):
        halves(record(curves, 1))


def test_fitted_curves_beat_both_simple_predictions_on_new_runs(curves, record):
    noisy = curves.model_copy(update={"training_noise": 0.03})
    fitted_on, held_out = halves(record(noisy, 12))
    found, still, mean = held_out_errors(fit_curves(fitted_on), fitted_on, held_out)
    assert found.prediction == "learning curves"
    for simple in (still, mean):
        assert found.one_step < simple.one_step
        assert found.trajectory < simple.trajectory


def test_the_baseline_predictions_have_their_documented_values(curves, record):
    (one,), (other,) = halves(record(curves, 2))
    _, still, mean = held_out_errors(curves, [one], [other])
    before, after = other.accuracies[:-1], other.accuracies[1:]
    assert still.one_step == pytest.approx(np.sqrt(np.mean((before - after) ** 2)))
    assert still.trajectory == pytest.approx(np.sqrt(np.mean((before[0] - after) ** 2)))
    usual = one.accuracies[1:].mean(0)
    assert mean.trajectory_by_skill == pytest.approx(np.sqrt(((usual - after) ** 2).mean(0)))
