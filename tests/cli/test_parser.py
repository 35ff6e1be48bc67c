"""Unknown flags: the error shows the right form."""

import pytest


@pytest.mark.parametrize(
    "arguments",
    ["run --iterations=3 seed=1", "run --seed 1", "study --seeds 0,1", "eval --model openai/x"],
)
def test_an_option_of_the_configuration_typed_as_a_flag_is_refused(dataenvgym, folder, arguments):
    dataenvgym.refuses("have no dashes: KEY=VALUE\n", *arguments.split())


@pytest.mark.parametrize("arguments", ["run --frehs", "run -q", "report run --seed 1"])
def test_an_unknown_flag_is_named(dataenvgym, folder, arguments):
    result = dataenvgym(*arguments.split())
    assert result.code == 2
    flag = next(word for word in arguments.split() if word.startswith("-"))
    assert f"there is no argument {flag!r}." in result.err


def test_an_option_of_the_same_name_as_an_argument_is_taken(dataenvgym, folder):
    assert "name: mine" in dataenvgym("config", "name=mine").out
    result = dataenvgym("study", "name=mine", "seed=x")  # which a study refuses, for its reason
    assert "is an argument" not in result.err
