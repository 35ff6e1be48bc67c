"""The reference of the configuration has every group, option, key, default and comment."""

import re
from functools import cache

import yaml

from dataenvgym.runs.config.commented_yaml import read_comments
from dataenvgym.runs.config.groups import content_of, is_base, sources_by_group
from docs.generate.options import option_pages

OPTIONS = [
    (group, name, file)
    for group, files in sources_by_group().items()
    for name, file in files.items()
]
option_pages = cache(
    option_pages
)  # takes seconds, which a process without these tests does not need


def plain(text: str) -> str:
    """Text without what only Markdown needs."""
    text = re.sub(r"\\([*|])", r"\1", text).replace("&lt;", "<").replace("&#36;", "$")
    return " ".join(text.split())


def anchor(group: str, name: str) -> str:
    return f"{group}-{name}".replace("/", "-")


def section(group: str, name: str) -> str:
    page = option_pages()[f"reference/config/{group.partition('/')[0]}.md"]
    (found,) = re.findall(rf"{{#{anchor(group, name)}}}\n(.*?)(?=\n##|\Z)", page, re.DOTALL)
    return str(found)


def test_each_option_is_in_the_reference_with_its_keys_and_comments():
    for group, name, file in OPTIONS:
        text = plain(section(group, name))
        comments = read_comments(file)
        for comment in (*comments.head, *comments.about.values()):
            assert " ".join(comment.split()) in text, f"{group}={name}: {comment}"
        content = content_of(file) or {}
        for key in content:
            assert key == "defaults" or re.search(rf"`(\w+\.)*{key}[`.]", text), (
                f"{group}={name} {key}"
            )


def test_the_overview_links_each_option_and_no_base():
    overview = option_pages()["reference/options.md"]
    for group, name, _ in OPTIONS:
        link = f"[`{name}`](config/{group.partition('/')[0]}.md#{anchor(group, name)})"
        assert (link in overview) == (not is_base(name)), link


def test_defaults_are_shown_as_yaml():
    text = section("trainer", "in_process")
    assert "| `trainer.lora_rank` | `16` |" in text
    assert (
        "| `trainer.extra` | `{}` | more options of LLaMA-Factory by name, written unchanged |"
        in text
    )
    assert "| `task.sources.test` | `${oc.env:DATAENVGYM_DATA}/gsm8k/test.jsonl` |" in section(
        "task", "gsm8k"
    )


def test_an_option_links_its_bases_and_names_its_choices():
    text = section("agent", "skill_list")
    assert "Builds on [`_skill_list`](#agent-_skill_list)." in text
    assert "[`agent/policy=skill_list`](agent.md#agent-policy-skill_list)" in text
    assert "[`environment=skill_list`](environment.md#environment-skill_list)" in text


def test_the_overview_has_the_whole_default_configuration_and_the_options_of_evaluations():
    overview = option_pages()["reference/options.md"]
    block = re.findall(r"```yaml\n(.*?)```", overview, re.DOTALL)[-1]
    assert yaml.safe_load(block)["episode"]["iterations"] == 5
    assert "| `judge.scale` | `[0.0, 10.0]` |" in overview
