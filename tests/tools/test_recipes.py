"""The page of recipes can be read by `make recipes`, which notices a score out of its spread."""

import pytest

from tools.recipes import PAGE, main, recipes

SHORT = """
## 1. A simulated student

    echo begun
    dataenvgym run student=simulated predictor=simulated \\
        episode.iterations=1 name=simulated

Expect: test {value} ± .01, 1 minute on two cores.
"""


def test_the_page_has_twelve_recipes_with_one_command_each_for_at_most_45_minutes():
    found = recipes(PAGE.read_text())
    assert [one.number for one in found] == list(range(1, 13))
    for one in found:
        *before, command = one.lines
        assert command.startswith(
            ("dataenvgym run", "dataenvgym study", "dataenvgym eval", "dataenvgym adapt")
        )
        assert len(before) <= 1
        assert not any(line.startswith("dataenvgym") for line in before)
        assert one.spread >= 0.01
    assert sum(one.minutes for one in found) <= 45


@pytest.mark.slow
def test_a_score_out_of_its_spread_is_an_error(capsys):
    assert main([], SHORT.format(value="-1.0")) == 1
    assert "outside" in capsys.readouterr().out


def test_a_command_that_fails_and_a_recipe_without_one_expectation_are_errors(capsys):
    failing = SHORT.format(value=".5").replace("echo begun", "echo no such thing; exit 3")
    assert main([], failing) == 1
    assert "exit code 3: no such thing" in capsys.readouterr().out
    with pytest.raises(ValueError, match="recipe 1 has 0"):
        recipes("## 1. Nothing\n\n    dataenvgym run\n")
