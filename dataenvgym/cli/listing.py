"""`dataenvgym list` and `config`: the options that there are, and what overrides compose."""

from __future__ import annotations

import shutil
import sys
import textwrap
from argparse import Namespace
from pathlib import Path

from dataenvgym.config.annotated import annotated_yaml
from dataenvgym.config.composition import default_options, options_by_group
from dataenvgym.config.own_classes import offered
from dataenvgym.errors import ConfigurationError, did_you_mean

ORDER = ("task", "student", "predictor", "trainer", "environment", "agent", "teacher", "episode")


def list_options(arguments: Namespace) -> None:
    """One line for each id and each option; the defaults have a star."""
    import gymnasium

    groups = options_by_group(arguments.config_dir)
    ids = sorted(name for name in gymnasium.registry if name.startswith("dataenvgym/"))
    wanted = arguments.group
    if wanted is not None and wanted not in (*groups, "ids"):
        raise ConfigurationError(
            f"there is no group {wanted!r}.{did_you_mean(wanted, [*groups, 'ids'])} "
            f"The groups are: {', '.join([*groups, 'ids'])}."
        )
    defaults = default_options()
    for group in sorted(groups, key=_place):
        if wanted in (None, group):
            print(f"{group}=")
            for name, file in sorted(groups[group].items()):
                star = "*" if defaults.get(group) == name else " "
                print(_line(f" {star} {name:15} {first_comment(file)}"))
            for offer in offered(group).values():
                if offer.name not in groups[group]:
                    print(_line(f"   {offer.name:15} From {offer.package}: {offer.target}"))
            print()
    if wanted in (None, "ids"):
        print("gymnasium.make(...)")
        for name in ids:
            print(f"   {name}")
        print()
    if wanted is None:
        print("* is the default. Choose with GROUP=NAME: dataenvgym run agent=random")
        print("Where there is `custom`: also a class of yours, agent=my_module.MyAgent")


def show_configuration(arguments: Namespace) -> None:
    """Print the configuration that overrides compose, as YAML with its comments."""
    text = annotated_yaml(
        arguments.overrides, config_dir=arguments.config_dir, resolve=arguments.resolve
    )
    print(text, end="")


def _line(text: str) -> str:
    """An option's line; in a terminal, in lines as wide as that."""
    if not sys.stdout.isatty():
        return text
    width, indent = shutil.get_terminal_size().columns, " " * 19
    whole = textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(whole)


def first_comment(file: Path) -> str:
    """The first line of a YAML file, if it is a comment (but for Hydra's `# @package`)."""
    with file.open(encoding="utf-8") as stream:
        lines = (line.strip() for line in stream)
        line = next((line for line in lines if not line.startswith("# @")), "")
    return line.removeprefix("#").strip() if line.startswith("#") else ""


def _place(group: str) -> tuple[int, str]:
    section = group.partition("/")[0]
    return (ORDER.index(section) if section in ORDER else len(ORDER), group)
