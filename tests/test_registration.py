import gymnasium

import dataenvgym  # noqa: F401 - registers the ids
from dataenvgym.registration import ENTRY_POINTS, register_environments


def test_importing_the_package_registers_every_id():
    assert "dataenvgym/Math-v0" in ENTRY_POINTS
    for name, entry_point in ENTRY_POINTS.items():
        assert gymnasium.spec(name).entry_point == entry_point


def test_registering_twice_changes_nothing_and_warns_of_nothing(recwarn):
    register_environments()
    assert not recwarn.list
