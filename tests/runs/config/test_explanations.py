"""Errors on wrong input have the override as it was typed, and what was expected."""

import pytest

from dataenvgym.cli.main import main
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose

CASES = [
    ("student=hf", "^student.path must be given, such as student.path=VALUE: there is no default$"),
    ("agent.copies=3", r"no option 'agent\.copies'\. \(A new one takes a plus: \+agent\.copies=3"),
    ("seed=abc", "seed is 'abc', expected a whole number like 0"),
    ("seed=null", "seed is null, expected a whole number"),
    ("seed=[1,2]", r"seed is \[1, 2\], expected a whole number"),
    ("trainer.learning_rate=fast", "is 'fast', expected a number like 0.001"),
    ("foo/bar=x", "no group 'foo/bar'.*The groups are: agent"),
    ("task=", "there is no task=. The options of task are"),
    ("seed=[1", r"'seed=\[1' cannot be read"),
    ("name={a: 1", "cannot be read"),
    ("runs_dir=${seed", "cannot be read"),
    ("seed=int(3", "cannot be read"),
    ("name='a", "cannot be read"),
    ("seed==1", "cannot be read"),
    ("name=a=b", "two kinds of quotes: 'name="),
    ("seed=${sead}", "'sead' not found.*Did you mean 'seed'"),
    ("seed=${nope:1}", "'seed=.*Unsupported interpolation"),
    ("seed=${seed}", "'seed=.*Recursive"),
    ("runs_dir=${oc.env:NOPE_}", "runs_dir: the environment variable NOPE_ is not set; set it"),
    ("~seed", "seed cannot be left out"),
    ("~agent", "agent cannot be left out"),
    ("+agent=gold", r"\+agent=gold does not fit"),
    ("+seed.x=1", "seed is 0, a value without parts, so 'seed.x' cannot be set"),
    ("agent=gold,random", "no agent=gold,random.*The options of agent are"),
    ("seed=0,1", "is not a single value. Several values are for a study"),
    ("agent@x=gold", "agent@x=gold does not fit"),
    ("agent.engine=gold", "agent.engine is 'gold', expected options by name"),
    ("teacher.model=x", "no option 'teacher.model'"),
    ("task.sources=x", "no option 'task.sources'"),
    ("quality.checks=[3]", r"quality.checks=\[3\] does not fit"),
    ("agent.policy=3", r"agent.policy is 3, expected options by name like .{,90}$"),
]


@pytest.mark.parametrize(("override", "expected"), CASES, ids=[case[0] for case in CASES])
def test_errors_give_the_value_and_a_solution(override, expected):
    with pytest.raises(ConfigurationError, match=expected) as info:
        compose([override])
    for word in ("Interpolation", "full_key", "defaults list", "object_type", "Hydra", "hydra"):
        assert word not in str(info.value)


def test_a_removed_value_that_is_needed_later_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--dry", "~episode.iterations"]) == 2
    said = capsys.readouterr().err
    assert "(episode.iterations). Leave out what removes" in said
    assert "Traceback" not in said
    assert "omegaconf" not in said.lower()
    main(["run", "--dry", "--debug", "~episode.iterations"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1\n", r"not valid YAML: .*agent/own.yaml., line 2, column 1"),
        (
            "a: 1\na: 2\n",
            r"not valid YAML: .*duplicate key a in .*agent/own.yaml., line 2, column 1",
        ),
        ("- 1\n", r"agent/own.yaml has a list or a single value, expected options by name"),
        ("x: ${nope_}\n", "agent.x cannot .*'nope_' not found"),
    ],
)
def test_your_own_malformed_file_is_named(tmp_path, text, expected):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "own.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match=expected) as info:
        compose(["agent=own"], config_dir=tmp_path)
    assert "Could not" not in str(info.value)


@pytest.mark.parametrize("named", ["policy: edg", "gone"])
def test_a_file_whose_defaults_name_no_option_is_named_with_the_option(tmp_path, named):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "own.yaml").write_text(f"defaults:\n  - {named}\n  - _self_\n")
    expected = f"agent/own.*'agent/{named.replace(': ', '/')}'"
    with pytest.raises(ConfigurationError, match=expected):
        compose(["agent=own"], config_dir=tmp_path)
