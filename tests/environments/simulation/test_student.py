import numpy as np
import pytest

from dataenvgym.environments.simulation import SimulatedStudent
from dataenvgym.environments.simulation.curves import repeated


def test_evaluation_noise_is_seen_and_does_not_move_the_student(curves):
    student = SimulatedStudent(curves, n_instances=20)
    student.reset(np.random.default_rng(0))
    seen = np.array([student.evaluate() for _ in range(2000)])
    assert student.accuracies.tolist() == list(curves.base)
    assert seen.mean(0) == pytest.approx(np.array(curves.base), abs=0.01)
    assert seen[:, 2].std() == pytest.approx(np.sqrt(0.25 / 20), rel=0.1)
    assert np.allclose(seen * 20, np.round(seen * 20))


def test_replay_preserves_earlier_skills(curves):
    paths = []
    for replay in (0, 50):
        student = SimulatedStudent(curves, replay=replay)
        student.reset(np.random.default_rng(0))
        student.teach(np.array([0, 100, 0, 0]))
        for _ in range(5):
            student.teach(np.array([100, 0, 0, 0]))
        paths.append(student.accuracies)
    assert paths[1][1] > paths[0][1]
    assert student.taught.tolist() == [500, 100, 0, 0]  # repeated ones are not counted again


def test_replayed_records_have_the_shares_of_the_taught_ones():
    assert repeated(np.array([300.0, 100, 0]), 100).tolist() == [75, 25, 0]
    assert repeated(np.array([3.0, 1, 0]), 100).tolist() == [3, 1, 0]
    assert repeated(np.zeros(3), 100).tolist() == [0, 0, 0]
