import pytest

from dataenvgym.environments.iterations import aim_reached
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.errors import ConfigurationError


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"mode": "accumlate"}, "mode"),
        ({"replay": -1}, "replay"),
        ({"replay": "10"}, "replay"),
        ({"max_records": 1.5}, "max_records"),
        ({"target_score": float("nan")}, "target_score"),
        ({"similarity": 7.0}, "similarity"),
        ({"max_records": -1}, "max_records"),
    ],
)
def test_an_invalid_option_raises_with_the_value_and_what_is_expected(options, name):
    with pytest.raises(ConfigurationError) as caught:
        TeachingOptions(**options)
    assert f"{name} is {options[name]!r}, expected " in str(caught.value)


def test_an_episode_ends_only_at_its_target_score_or_its_budget():
    assert not aim_reached(1.0, 10**6, None, None)
    assert not aim_reached(0.79, 99, 0.8, 100)
    assert aim_reached(0.8, 0, 0.8, 100)
    assert aim_reached(0.0, 100, 0.8, 100)
