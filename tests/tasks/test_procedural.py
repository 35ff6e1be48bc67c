"""Problems that are drawn: as many as asked for, or an error that says so."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.source import ProceduralSource


def source(**sizes):
    """Of two skills, one of which has three questions only."""

    def draw(skill, split, rng):
        number = int(rng.integers(3 if skill == "few" else 1000))
        return f"{skill} {number}?", lambda: {"answer": str(number)}

    return ProceduralSource("t", ("few", "many"), draw, sizes=sizes)


def test_a_skill_without_more_questions_ends_the_drawing_instead_of_going_on_for_ever():
    assert len(source(validation=6).load("validation")) == 6
    with pytest.raises(ConfigurationError, match="n_test"):
        source(test=7).load("test")
