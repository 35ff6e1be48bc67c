"""`dataenvgym list` and `config`: show the options, and the composed configuration."""

from __future__ import annotations

import shutil
import textwrap
from argparse import Namespace
from collections.abc import Iterator

from dataenvgym.errors import check_one_of
from dataenvgym.runs.config.commented_yaml import annotated_yaml, describe
from dataenvgym.runs.config.composition import chosen_options
from dataenvgym.runs.config.groups import Source, options_by_group

ORDER = ("task", "student", "predictor", "trainer", "environment", "agent", "teacher", "episode")


WIDTH = 80
"""Columns of the list if the output is not a terminal."""


def list_options(arguments: Namespace) -> None:
    """Print one line for each option and each id, cut to the width; a single group in full."""
    groups = options_by_group(arguments.config_dir)
    wanted = arguments.group
    check_one_of([*groups, "ids"], group=wanted or "ids")
    width = shutil.get_terminal_size((WIDTH, 24)).columns
    sections = {group: group.partition("/")[0] for group in groups}
    places = {name: ORDER.index(of) if of in ORDER else len(ORDER) for name, of in sections.items()}
    for group in sorted(groups, key=lambda name: (places[name], name)):
        if wanted in (None, group):
            print(f"{group}=")
            for line in _columns(_described(group, groups[group]), width, cut=wanted is None):
                print(line)
            print()
    if wanted in (None, "ids"):
        import gymnasium

        print("gymnasium.make(...)")
        for name in sorted(name for name in gymnasium.registry if name.startswith("dataenvgym/")):
            print(f"   {name}")
        print()
    if wanted is None:
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


def show_configuration(arguments: Namespace) -> None:
    """Print the composed configuration as YAML with its comments."""
    overrides, folder = arguments.overrides, arguments.config_dir
    name = "config" if arguments.of == "run" else arguments.of
    if name in ("adapt", "continual"):
        from dataenvgym.adaptation.running import with_engine

        overrides = with_engine(overrides, folder, name)
    text = annotated_yaml(overrides, config_dir=folder, resolve=arguments.resolve, name=name)
    print(text, end="")
