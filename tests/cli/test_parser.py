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


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("eval run=abc", "run is an argument of the command, not an option: --run abc"),
        ("eval seed=1 limit=3", "not an option: --limit 3"),
        ("run fresh=true", "not an option: --fresh"),
        ("study studies_dir=x", "not an option: --studies-dir x"),
    ],
)
def test_an_argument_typed_as_an_override_is_said_as_a_flag(dataenvgym, folder, arguments, meant):
    dataenvgym.refuses(f"{meant}\n", *arguments.split())


def test_an_option_of_the_same_name_as_an_argument_is_taken(dataenvgym, folder):
    assert "name: mine" in dataenvgym("config", "name=mine").out
    result = dataenvgym("study", "name=mine", "seed=x")  # which a study refuses, for its reason
    assert "is an argument" not in result.err
