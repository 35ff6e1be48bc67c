import pytest

from dataenvgym.environments.iterations import aim_reached
from dataenvgym.environments.skill_tree import SkillTree
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.instantiation import check_arguments


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "accumlate"),
        ("replay", "10"),
        ("max_records", -1),
        ("target_score", float("nan")),
        ("similarity", 7.0),
        ("gate", True),
        ("gate", float("nan")),
        ("generations_per_training", 0),
    ],
)
def test_an_impossible_option_is_refused_by_its_key(name, value):
    with pytest.raises(ConfigurationError, match=f"environment.{name}"):
        check_arguments(SkillTree, {name: value}, "environment")


def test_an_episode_ends_only_at_its_target_score_or_its_budget():
    assert not aim_reached(1.0, 10**6, None, None)
    assert not aim_reached(0.79, 99, 0.8, 100)
    assert aim_reached(0.8, 0, 0.8, 100)
    assert aim_reached(0.0, 100, 0.8, 100)
