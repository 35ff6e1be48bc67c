"""`task.sources` as people type it."""

import pytest

from dataenvgym.config import compose
from dataenvgym.config.composition import overlay
from dataenvgym.errors import ConfigurationError


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["={validation: a, test: b}"], {"validation": "a", "test": "b"}),
        ([".validation=a", ".test=b"], {"validation": "a", "test": "b"}),
        (["=a", ".test=b"], {"train": "a", "validation": "a", "test": "b"}),
        (["=validation:a", "=test:b"], {"validation": "a", "test": "b"}),  # {...,...} in a shell
        (["=a", "=b"], "b"),
    ],
)
def test_sources_are_one_or_one_for_each_split(overrides, expected):
    config = compose(["task=math_jsonl", *(f"task.sources{o}" for o in overrides)])
    assert config.task.sources == expected


def test_sources_in_braces_replace_those_of_the_task_and_one_split_replaces_its_own(monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    assert compose(["task=gsm8k", "task.sources={validation: a}"]).task.sources == {
        "validation": "a"
    }
    changed = compose(["task=gsm8k", "task.sources.validation=a"]).task.sources
    assert (changed.train, changed.validation) == ("/data/gsm8k/train.jsonl", "a")
    assert compose(["task=humaneval", "task.sources.test=b"]).task.sources.test == "b"


def test_sources_of_a_composed_configuration_are_changed_in_the_same_way():
    config = compose(["task=math_jsonl", "task.sources=a"])
    assert overlay(config, ["task.sources.test=b"]).task.sources.test == "b"
    assert config.task.sources == "a"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("task.sources=[a", "cannot be read"),
        *(
            (f"task.sources{value}", "two kinds of quotes: 'task.sources=\"a,b.jsonl\"'")
            for value in ("=a,b.jsonl", "=[a,b]", "=test:/x/a,b", ".test=a,b")
        ),
        ("task.sources.tset=a", "Did you mean 'task.sources'"),
        ("task.n_test=1", "there is no option 'task.n_test'"),
    ],
)
def test_invalid_sources_are_refused(override, expected):
    with pytest.raises(ConfigurationError, match=expected.replace("[", r"\[")):
        compose(["task=math_jsonl", "task.sources=a", override])


def test_a_quoted_path_may_have_a_comma():
    config = compose(["task=math_jsonl", "task.sources='a,b'", 'task.sources.test="c,d"'])
    assert config.task.sources == {"train": "a,b", "validation": "a,b", "test": "c,d"}


def test_a_task_without_sources_has_no_such_option():
    with pytest.raises(ConfigurationError, match=r"there is no option 'task\.sources\.test'"):
        compose(["task.sources.test=a"])
