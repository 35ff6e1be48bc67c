"""The composed configuration with its comments."""

import pytest
from omegaconf import OmegaConf

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.commented_yaml import annotated_yaml, read_comments

RICH = (
    *("agent/engine=llm", "skills=discovered", "quality=strict", "trainer=llama_factory"),
    *("trainer/deepspeed=zero2", "teacher=openai", "task=gsm8k", "experiment=qwen3_8b_one_gpu"),
)


TEXTS = ["a\n", " a\n b", "a\n\n", "\n", "a:\n# b\n\n\n"]


@pytest.mark.parametrize(
    "overrides",
    [(), RICH, ("task.sampling.seed=7", 'name="a # b: c"')]
    + [(f"task.system_prompt='{text}'", "task.template='{instruction}\n\n'") for text in TEXTS],
)
def test_the_printed_configuration_reads_back_as_the_same(overrides):
    text = annotated_yaml(overrides)
    assert OmegaConf.create(text) == compose(overrides, allow_missing=True)


def test_comments_of_files_and_docstrings_of_classes_are_above_and_after_their_keys():
    text = annotated_yaml(RICH)
    for line in (
        "seed: 0  # all random choices derive from it",
        "  model: ???  # its name on the server; for Azure, that of the deployment",
        "      samples: 0  # tries besides the greedy answer",
        "  # agent/engine=llm: A language model writes the records: needs a teacher, such",
        "# trainer/devices=one_gpu: The first GPU",
    ):
        assert line in text.splitlines()
    comments = [line for line in text.splitlines() if "#" in line]
    assert len(comments) > 80
    assert all(len(line) <= 80 for line in comments)
    assert "override /student" not in text


def test_references_are_kept_or_resolved():
    assert "\n  seed: ${seed}" in annotated_yaml(["seed=3"])
    assert OmegaConf.create(annotated_yaml(["seed=3"], resolve=True)).agent.seed == 3
    with pytest.raises(ConfigurationError, match="Missing"):
        annotated_yaml(["teacher=openai"], resolve=True)


FILE = """# @package trainer
# The head
# goes on
defaults:
  - other   # not a key
  - _self_

# above a
a: 'x # y'   # behind a
             # and on
b:
  c: |
    # no comment
    d: no key
  e: 1  # behind e
"""


def test_comments_are_read_by_key(tmp_path):
    (tmp_path / "a.yaml").write_text(FILE)
    comments = read_comments(tmp_path / "a.yaml")
    assert (comments.package, comments.head) == ("trainer", ["The head", "goes on"])
    assert comments.about == {"a": "above a behind a and on", "b.e": "behind e"}
