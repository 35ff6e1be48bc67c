from dataclasses import replace

import numpy as np
import pytest

from dataenvgym.environments.simulation.fitting import (
    Recordings,
    fit_curves,
    halves,
    held_out_errors,
    one_step,
    whole_trajectory,
)
from dataenvgym.errors import ConfigurationError


def test_curves_are_found_again_in_the_runs_that_they_made(curves, record):
    found = fit_curves(record(curves, 12))
    assert found.base == curves.base
    assert found.skills == curves.skills
    assert found.n_runs == 12
    assert found.asymptote[:3] == pytest.approx(curves.asymptote[:3], abs=0.1)
    new = Recordings.of(record(curves, 20)[12:])
    for predict in (one_step, whole_trajectory):
        error = predict(found.transition, new) - new.outcomes
        assert np.sqrt(np.mean(error**2)) < 0.015


def test_the_training_noise_is_found_again(curves, record):
    for noise in (0.0, 0.08):
        noisy = curves.model_copy(update={"training_noise": noise})
        assert fit_curves(record(noisy, 12)).training_noise == pytest.approx(noise, abs=0.025)


def test_a_run_that_ended_early_counts_as_far_as_it_went(curves, record):
    short, whole = record(curves, 2)
    cut = replace(short, counts=short.counts[:2], accuracies=short.accuracies[:3])
    recordings = Recordings.of([cut, whole])
    assert recordings.counts.shape == (2, 5, 4)
    assert np.isnan(recordings.outcomes[0, 2:]).all()
    assert np.isfinite(recordings.outcomes[1]).all()
    assert fit_curves([cut, whole]).n_runs == 2


def test_every_run_is_in_one_half_and_the_seed_says_in_which(curves, record):
    runs = record(curves, 7)
    first, second = halves(runs, seed=0)
    assert (len(first), len(second)) == (4, 3)
    assert {t.name for t in first} | {t.name for t in second} == {t.name for t in runs}
    again, _ = halves(runs, seed=0)
    assert [t.name for t in again] == [t.name for t in first]
    with pytest.raises(ConfigurationError, match="1 runs"):
        halves(runs[:1])
    assert len({tuple(sorted(t.name for t in halves(runs, seed)[0])) for seed in range(9)}) > 1


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
    assert mean.trajectory == pytest.approx(np.sqrt(np.mean((usual - after) ** 2)))
