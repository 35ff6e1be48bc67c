import numpy as np
import pytest
from pydantic import ValidationError

from dataenvgym.domains.math.pocket import SKILLS
from dataenvgym.environments.simulation import LearningCurves, read_curves, write_curves
from dataenvgym.environments.simulation.curves import with_noise
from dataenvgym.errors import ConfigurationError


def test_a_taught_skill_goes_towards_its_asymptote_ever_slower(curves):
    counts = np.array([50.0, 0, 0, 0])
    path = [np.array(curves.base)]
    for _ in range(4):
        path.append(curves.transition(path[-1], counts))
    gains = np.diff([a[0] for a in path])
    assert (gains > 0).all()
    assert (np.diff(gains) < 0).all()
    assert path[-1][0] < curves.asymptote[0]


def test_a_record_helps_its_own_skill_most_then_its_category_then_the_others(curves):
    values = {"base": 0.2, "asymptote": 0.8, "rate": 1.0, "forgetting": 0.0}
    alike = curves.model_copy(update={name: (value,) * 4 for name, value in values.items()})
    after = alike.transition(np.array(alike.base), np.array([100.0, 0, 0, 0]))
    assert after[0] > after[1] > after[2] == after[3] > 0.2


def test_untaught_skills_are_forgotten_down_to_their_floor(curves):
    untaught = curves.model_copy(update={"within": 0.0, "across": 0.0})
    state = np.array(curves.base)
    after = untaught.transition(state, np.array([100.0, 0, 0, 0]))
    assert after[3] < state[3]
    for _ in range(200):
        after = untaught.transition(after, np.array([1000.0, 0, 0, 0]))
    assert after[3] == pytest.approx(0.45)
    assert after[2] == 0.5  # its forgetting is 0


def test_many_students_advance_at_once_and_training_on_nothing_changes_nothing(curves):
    states, counts = np.random.default_rng(0).random((2, 7, 4))
    counts[0] = 0
    together = curves.transition(states, counts * 100)
    alone = [curves.transition(s, c * 100) for s, c in zip(states, counts, strict=True)]
    assert together == pytest.approx(np.array(alone))
    assert together[0] == pytest.approx(states[0])


def test_noise_is_largest_in_the_middle_and_stays_in_bounds():
    many = np.tile([0.0, 0.05, 0.5, 1.0], (4000, 1))
    noisy = with_noise(many, 0.1, np.random.default_rng(0))
    assert noisy[:, 2].std() == pytest.approx(0.1, rel=0.1)
    assert 0 < noisy[:, 1].std() < 0.06
    assert (noisy[:, [0, 3]] == [0, 1]).all()
    assert noisy.min() >= 0
    assert noisy.max() <= 1


def test_curves_survive_a_file_and_those_of_pocket_math_ship_with_the_package(curves, tmp_path):
    write_curves(tmp_path / "mine.json", curves)
    assert read_curves(tmp_path / "mine.json") == curves
    shipped = read_curves("pocket_math")
    assert set(shipped.skills) == set(SKILLS)
    assert shipped.n_runs > 0
    assert np.mean(shipped.base) == pytest.approx(0.63)  # as measured on the pocket student


def test_unknown_curves_are_refused_by_name(tmp_path):
    with pytest.raises(ConfigurationError, match="mean 'pocket_math'"):
        read_curves("pocket_maths")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="has no learning curves"):
        read_curves(tmp_path / "other.json")


def test_curves_need_one_value_a_skill(curves):
    with pytest.raises(ValidationError, match="rate"):
        LearningCurves.model_validate({**curves.model_dump(), "rate": (1.0,)})
    with pytest.raises(ValidationError, match="same name"):
        LearningCurves.model_validate({**curves.model_dump(), "skills": ("a", "a", "b", "c")})
