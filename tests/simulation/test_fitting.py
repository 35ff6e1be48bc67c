import numpy as np
import pytest

from dataenvgym.simulation.fitting import Recordings, fit_curves, one_step, whole_trajectory


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


def test_predictions_of_the_curves_that_made_the_runs_are_exact(curves, record):
    recordings = Recordings.of(record(curves, 2))
    assert one_step(curves.transition, recordings) == pytest.approx(recordings.outcomes)
    assert whole_trajectory(curves.transition, recordings) == pytest.approx(recordings.outcomes)


def test_a_run_that_ended_early_counts_as_far_as_it_went(curves, record):
    short, whole = record(curves, 2)
    cut = type(short)(
        **{**vars(short), "counts": short.counts[:2], "accuracies": short.accuracies[:3]}
    )
    recordings = Recordings.of([cut, whole])
    assert recordings.counts.shape == (2, 5, 4)
    assert np.isnan(recordings.outcomes[0, 2:]).all()
    assert np.isfinite(recordings.outcomes[1]).all()
    assert fit_curves([cut, whole]).n_runs == 2
