"""Parses the command line; the arguments of each command are in `commands`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from dataenvgym.cli.commands import add_commands
from dataenvgym.errors import did_you_mean

_NO_VALUE = re.compile(r"^argument ([\w/ -]+): ignored explicit argument .*")


class Parser(argparse.ArgumentParser):
    """An argument parser with short errors and suggestions."""

    def error(self, message: str) -> NoReturn:
        message = _NO_VALUE.sub(r"\1 takes no value", message)
        self.exit(2, f"{self.prog}: {message}\nTry `{self.prog} --help`.\n")


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of one call; exit with 2 if they are wrong."""
    parser = Parser(
        prog="dataenvgym",
        description="A gym for agents that teach: train a student on what an agent writes.",
        epilog=(
            "first steps:\n"
            "  dataenvgym doctor                 installed and missing parts\n"
            "  dataenvgym run                    an agent teaches a small student, on a CPU\n"
            "  dataenvgym list                   agents, tasks, students to choose from\n"
            "  dataenvgym new agent my_agent     your own agent to begin with"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = [word for word in argv if not word.startswith("-")]
    commands = add_commands(parser, Parser, words[0] if words else None)
    if words[:1] == ["help"]:
        argv, words = [*words[1:], "--help"], words[1:]
    if words and words[0] not in commands:
        names = sorted(commands)
        parser.error(
            f"there is no command {words[0]!r}.{did_you_mean(words[0], names)} "
            f"The commands are: {', '.join(commands)}."
        )
    arguments, rest = parser.parse_known_args(argv)
    command = commands.get(getattr(arguments, "command", None) or "")
    # argparse stops filling a list at the first option; later words belong to it too
    for word in rest:
        if word.startswith("-") or not hasattr(arguments, "overrides"):
            options = list(getattr(command or parser, "_option_string_actions", {}))
            hint = did_you_mean(word.split("=")[0], options)
            if hasattr(arguments, "overrides"):
                hint = _hint_of_overrides(word, argv, arguments.command) or hint
            (command or parser).error(f"there is no argument {word!r}.{hint}")
        arguments.overrides.append(word)
    if hasattr(arguments, "overrides"):
        arguments.overrides = _joined(arguments.overrides)
        _refuse_arguments(arguments.overrides, command or parser)
    return arguments


def _hint_of_overrides(word: str, argv: Sequence[str], command: str) -> str:
    """Say what to type instead of an unknown flag; "" without a suggestion."""
    from dataenvgym.cli.flags import as_override

    name = "eval" if command in ("eval", "rescore") else "config"
    if not word.startswith("-") or (meant := as_override(word, argv, name=name)) is None:
        return ""
    return f" Values of the configuration have no dashes: KEY=VALUE, here {meant}"


def _refuse_arguments(overrides: Sequence[str], command: argparse.ArgumentParser) -> None:
    """Refuse `run=RUN` where the command has an argument `--run` and there is no such option."""
    from dataenvgym.cli.flags import is_option

    for text in overrides:
        key, _, value = text.partition("=")
        flag = f"--{key.replace('_', '-')}"
        action = command._option_string_actions.get(flag)
        if action is not None and not is_option(key):
            meant = flag if action.nargs == 0 else f"{flag} {value}"
            command.error(f"{key} is an argument of the command, not an option: {meant}")


def _joined(words: Sequence[str]) -> list[str]:
    """Join words that a shell separated: `KEY={a:`, `1,`, `b:`, `2}`."""
    joined: list[str] = []
    i = 0
    while i < len(words):
        ends = range(i + 1, len(words) + 1)
        end = next((n for n in ends if _is_closed(" ".join(words[i:n]))), i + 1)
        joined.append(" ".join(words[i:end]))
        i = end
    return joined


def _is_closed(text: str) -> bool:
    """True if the value closes every bracket that it opens, or does not begin with one."""
    _, _, value = text.partition("=")
    if not value.startswith(("{", "[")):
        return True
    return value.count("{") <= value.count("}") and value.count("[") <= value.count("]")
