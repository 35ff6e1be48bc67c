"""Base files: shared by the options of a group, but not options themselves."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from dataenvgym.config import compose
from dataenvgym.config.annotated import annotated_yaml
from dataenvgym.config.bases import is_base, read_with_bases
from dataenvgym.config.composition import files_by_group, options_by_group
from dataenvgym.config.run_directory import open_run
from dataenvgym.errors import ConfigurationError
from dataenvgym.evaluation_runs.evaluated_run import compose_for_run

FILES = files_by_group()
BASES = [(group, name) for group, files in FILES.items() for name in files if is_base(name)]
MOST_REPEATED = 4
"""Lines of values that two files of a group may have in common."""


def of_values(file: Path) -> Counter[str]:
    """The lines of a file that set something."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return Counter(line for line in lines if ":" in line[:-1] and line[0] not in "#-")


def pairs() -> Iterator[tuple[Path, Path]]:
    for group, files in FILES.items():
        if group not in ("prompt", "experiment"):  # texts; and presets, each read as a whole
            yield from combinations(files.values(), 2)


def test_two_files_of_a_group_repeat_few_lines_beyond_their_base():
    repeated = {
        f"{one.parent.name}: {one.stem}, {other.stem}": (of_values(one) & of_values(other)).total()
        for one, other in pairs()
    }
    assert {pair: n for pair, n in repeated.items() if n > MOST_REPEATED} == {}


@pytest.mark.parametrize(("group", "name"), BASES)
def test_a_base_is_not_an_option_but_options_extend_it(group, name):
    assert name not in options_by_group()[group]
    texts = [file.read_text() for file in FILES[group].values()]
    assert any(re.search(rf"^  - (/\S+/)?{name}(@\S+)?$", text, re.MULTILINE) for text in texts)
    with pytest.raises(ConfigurationError, match=f"there is no {group}={name}") as caught:
        compose([f"{group}={name}"])
    assert not re.search(r"[ ']_", str(caught.value))


@pytest.fixture
def own(tmp_path):
    """A folder with a task and a base of the user's own."""
    (tmp_path / "own" / "task").mkdir(parents=True)
    (tmp_path / "own" / "task" / "_mine.yaml").write_text(
        "# My base\ndefaults:\n  - _math\n  - _self_\n\n"
        "_target_: mine.Task   # my class\nlimit: 5   # a few\n"
    )
    (tmp_path / "own" / "task" / "mine.yaml").write_text(
        "# Mine\ndefaults:\n  - _mine\n  - _self_\n\n"
        "name: mine\nformat: math\nsources: ${name}.jsonl\nsampling:\n  max_tokens: 7\n"
    )
    return tmp_path / "own"


def test_your_own_task_can_extend_our_bases_and_your_own(own):
    task = compose(["task=mine", "name=x"], config_dir=own).task
    assert (task._target_, task.limit, task.sampling.max_tokens) == ("mine.Task", 5, 7)
    assert (task.sources, task.sampling.temperature, task.chunk_size) == ("x.jsonl", 0.0, 128)
    assert {"mine"} == options_by_group(own)["task"].keys() - options_by_group()["task"].keys()


def test_a_file_is_read_with_all_its_bases_and_its_references(own):
    read = read_with_bases("mine", files_by_group(own)["task"])
    assert (read["sources"], read["limit"], read["chunk_size"]) == ("${name}.jsonl", 5, 128)
    assert "defaults" not in read
    (own / "task" / "list.yaml").write_text("- a\n")
    assert read_with_bases("list", files_by_group(own)["task"]) == {}


def test_every_value_of_a_base_is_printed_with_its_comment_in_an_option(own):
    text = annotated_yaml(["task=mine"], config_dir=own)
    lines = text.splitlines()
    assert "  _target_: mine.Task  # my class" in lines
    assert "  limit: 5  # a few" in lines
    assert "  threads: 4  # task environments that run at the same time" in lines
    assert "# task=mine: Mine" in lines
    assert "My base" not in text


def test_comments_of_bases_that_are_put_elsewhere_are_printed(own):
    (own / "agent").mkdir()
    (own / "agent" / "_own.yaml").write_text("# Base\nsize: 3   # how much\n")
    (own / "agent" / "mine.yaml").write_text(
        "# @package _global_\n# Mine\ndefaults:\n  - /agent/_own@agent\n  - _self_\n"
        "agent:\n  _target_: my.Agent\n"
    )
    assert "  size: 3  # how much" in annotated_yaml(["agent=mine"], config_dir=own).splitlines()
    text = annotated_yaml(["trainer=llama_factory", "trainer/deepspeed=zero2"])
    assert OmegaConf.create(text).trainer.deepspeed.bf16 == {"enabled": "auto"}


def test_classes_in_your_own_base_need_no_trust(own, tmp_path):
    config = compose(["task=custom", "task._target_=mine.Task", f"runs_dir={tmp_path}", "name=r"])
    with open_run(config) as run:
        with pytest.raises(ConfigurationError, match=r"task\._target_"):
            compose_for_run(str(run), [])
        assert compose_for_run(str(run), [], config_dir=own)[0].task._target_ == "mine.Task"
