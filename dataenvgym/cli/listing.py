"""`dataenvgym list` and `config`: show the options, and the composed configuration."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import Literal

from dataenvgym.errors import check_one_of
from dataenvgym.runs.config.commented_yaml import annotated_yaml, describe
from dataenvgym.runs.config.composition import chosen_options
from dataenvgym.runs.config.groups import Source, options_by_group

ORDER = ("task", "student", "predictor", "trainer", "environment", "agent", "teacher", "episode")


WIDTH = 80
"""Columns of the list if the output is not a terminal."""


def list_options(
    group: str | None = None,
    *,
    config_dir: str | None = None,
) -> None:
    """List the options to choose from.

    Args:
        group: only this group, such as agent
    """
    groups = options_by_group(config_dir)
    check_one_of([*groups, "ids"], group=group or "ids")
    width = shutil.get_terminal_size((WIDTH, 24)).columns
    sections = {each: each.partition("/")[0] for each in groups}
    places = {name: ORDER.index(of) if of in ORDER else len(ORDER) for name, of in sections.items()}
    for name in sorted(groups, key=lambda each: (places[each], each)):
        if group in (None, name):
            print(f"{name}=")
            for line in _columns(_described(name, groups[name]), width, cut=group is None):
                print(line)
            print()
    if group in (None, "ids"):
        import gymnasium

        print("gymnasium.make(...)")
        for name in sorted(name for name in gymnasium.registry if name.startswith("dataenvgym/")):
            print(f"   {name}")
        print()
    if group is None:
        print("* is the default. Choose with GROUP=NAME: dataenvgym run agent=random")
        print("A group with `custom` also takes your own class: agent=my_module.MyAgent")
        print("Full descriptions of one group: dataenvgym list agent")


def _described(group: str, sources: dict[str, Source]) -> list[tuple[str, str, str]]:
    """The star of the default (or a space), the name and the description of each option."""
    default = chosen_options().get(group)
    return [
        ("*" if name == default else " ", name, describe(source))
        for name, source in sorted(sources.items())
    ]


def _columns(options: list[tuple[str, str, str]], width: int, *, cut: bool) -> Iterator[str]:
    """The options in lines of at most `width` (if `cut`, one each): names, aligned descriptions."""
    longest = max((len(name) for _, name, _ in options), default=0)
    for star, name, text in options:
        head = f" {star} {name:{longest}}  "
        room = max(20, width - len(head))
        lines = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
        if cut and len(lines) > 1:
            lines = [textwrap.shorten(text, room, placeholder=" ...", break_on_hyphens=False)]
        yield f"{head}{lines[0]}".rstrip()
        yield from (f"{' ' * len(head)}{line}" for line in lines[1:])


def show_configuration(
    overrides: list[str],
    *,
    config_dir: str | None = None,
    of: Literal["run", "eval", "generate", "adapt", "continual"] = "run",
    resolve: bool = False,
    explain: bool = False,
) -> None:
    """Print the configuration with overrides applied.

    Examples:
      dataenvgym config task=gsm8k --explain
      dataenvgym config agent=skill_tree trainer=llama_factory > mine.yaml
      dataenvgym config --of adapt experiment=seal_knowledge_pocket

    A value that you must set is shown as ???.

    Args:
        of: the command
        resolve: values in place of references such as ${seed}
        explain: each value on a line, with its comment
    """
    name = "config" if of == "run" else of
    if name in ("adapt", "continual"):
        from dataenvgym.adaptation.running import with_engine

        overrides = [*with_engine(overrides, config_dir, name)]
    text = annotated_yaml(
        overrides, config_dir=config_dir, resolve=resolve, name=name, brief=not explain
    )
    print(text, end="")
