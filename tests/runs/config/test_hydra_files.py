"""Base files: shared by the options of a group, but not options themselves."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.commented_yaml import annotated_yaml
from dataenvgym.runs.config.composition import overlay
from dataenvgym.runs.config.groups import (
    content_of,
    is_base,
    layers,
    options_by_group,
    read_with_bases,
    sources_by_group,
)
from dataenvgym.runs.config.run_directory import open_run
from dataenvgym.runs.evaluation.evaluated_run import compose_for_run

FILES = sources_by_group()
BASES = [(group, name) for group, files in FILES.items() for name in files if is_base(name)]
MOST_REPEATED = 4
"""Lines of values that two files of a group may have in common."""


def of_values(file: Path) -> Counter[str]:
    """The lines of a file that set something."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return Counter(line for line in lines if ":" in line[:-1] and line[0] not in "#-")


def pairs() -> Iterator[tuple[Path, Path]]:
    for group, files in FILES.items():
        if not group.startswith(("prompt", "experiment")):  # texts; presets, each read as a whole
            yield from combinations([f for f in files.values() if isinstance(f, Path)], 2)


def test_two_files_of_a_group_repeat_few_lines_beyond_their_base():
    repeated = {
        f"{one.parent.name}: {one.stem}, {other.stem}": (of_values(one) & of_values(other)).total()
        for one, other in pairs()
    }
    assert {pair: n for pair, n in repeated.items() if n > MOST_REPEATED} == {}


@pytest.mark.parametrize(("group", "name"), BASES)
def test_a_base_is_not_an_option_but_options_extend_it(group, name):
    assert name not in options_by_group()[group]
    used = [layers(option, FILES[group]) for option in options_by_group()[group]]
    used += [content_of(source).get("defaults", ()) for source in FILES[group].values()]
    assert any(name in each or f"{name}@_here_" in each for each in used)
    with pytest.raises(ConfigurationError, match=f"no {group}={name}") as caught:
        compose([f"{group}={name}"])
    assert not re.search(r"[ ']_", str(caught.value))


@pytest.fixture
def own(tmp_path):
    """A folder with a task and a base of the user's own."""
    (tmp_path / "own" / "task").mkdir(parents=True)
    (tmp_path / "own" / "task" / "_mine.yaml").write_text(
        "# My base\n_target_: dataenvgym.domains.math.task.MathTask   # my class\n"
        "limit: 5   # a few\n"
    )
    (tmp_path / "own" / "task" / "mine.yaml").write_text(
        "# Mine\ndefaults:\n  - _mine\n  - _self_\n\n"
        "name: mine\nformat: math\nsources: ${name}.jsonl\nsampling:\n  max_tokens: 7\n"
    )
    return tmp_path / "own"


def test_your_own_task_can_extend_our_bases_and_your_own(own):
    task = compose(["task=mine", "name=x"], config_dir=own).task
    assert (task.limit, task.sampling.max_tokens) == (5, 7)
    assert (task.sources, task.sampling.temperature, task.chunk_size) == ("x.jsonl", 0.0, 128)
    assert {"mine"} == options_by_group(own)["task"].keys() - options_by_group()["task"].keys()


def test_a_file_is_read_with_all_its_bases_and_its_references(own):
    read = read_with_bases("mine", sources_by_group(own)["task"])
    assert (read["sources"], read["limit"], read["format"]) == ("${name}.jsonl", 5, "math")
    assert "defaults" not in read


def test_every_value_is_printed_with_the_comment_of_its_file_or_class(own):
    text = annotated_yaml(["task=mine"], config_dir=own)
    lines = text.splitlines()
    assert "  threads: 4  # how many task environments step at the same time" in lines
    assert "# task=mine: Mine" in lines
    assert "My base" not in text


def test_classes_in_your_own_base_need_no_trust(own, tmp_path, as_received):
    config = compose(["task=custom", "task._target_=mine.Task", f"runs_dir={tmp_path}", "name=r"])
    with open_run(config) as run:
        as_received()
        with pytest.raises(ConfigurationError, match=r"task\._target_"):
            compose_for_run(str(run), [])
        (own / "task" / "mine.yaml").write_text("_target_: mine.Task\n")
        assert compose_for_run(str(run), [], config_dir=own)[0].task._target_ == "mine.Task"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["={validation: a, test: b}"], {"validation": "a", "test": "b"}),
        ([".validation=a", ".test=b"], {"validation": "a", "test": "b"}),
        (["=a", ".test=b"], {"train": "a", "validation": "a", "test": "b"}),
        (["=validation:a", "=test:b"], {"validation": "a", "test": "b"}),  # {...,...} in a shell
        (["=a", "=b"], "b"),
        (["='a,b'", '.test="c,d"'], {"train": "a,b", "validation": "a,b", "test": "c,d"}),
    ],
)
def test_sources_are_one_or_one_for_each_split(overrides, expected):
    config = compose(["task=math_jsonl", *(f"task.sources{o}" for o in overrides)])
    assert config.task.sources == expected
    assert overlay(config, ["task.sources.test=e"]).task.sources.test == "e"


def test_sources_in_braces_replace_those_of_the_task_and_one_split_replaces_its_own(monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")
    assert compose(["task=gsm8k", "task.sources={validation: a}"]).task.sources == {
        "validation": "a"
    }
    changed = compose(["task=gsm8k", "task.sources.validation=a"]).task.sources
    assert (changed.train, changed.validation) == ("/data/gsm8k/train.jsonl", "a")
    assert compose(["task=humaneval", "task.sources.test=b"]).task.sources.test == "b"
