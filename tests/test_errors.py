import pytest

from dataenvgym.errors import ConfigurationError, check_at_least


def test_the_first_option_below_its_least_value_is_named():
    check_at_least(1, samples=1, tries=2.5)
    with pytest.raises(ConfigurationError, match="tries is 0"):
        check_at_least(1, samples=1, tries=0, rounds=-1)
    with pytest.raises(ConfigurationError, match=r"^floor is nan, expected"):
        check_at_least(0, floor=float("nan"))
