"""Parses the command line; the commands and their arguments are in `commands`.

The arguments of some commands are overrides of the configuration, `KEY=VALUE`. An error suggests
what was meant: an override for a flag (`--iterations 3`), a flag for an override (`run=RUN`).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from dataenvgym.cli.commands import add_commands
from dataenvgym.errors import ConfigurationError, did_you_mean

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
        parser.error(
            f"there is no command {words[0]!r}.{did_you_mean(words[0], sorted(commands))} "
            f"The commands are: {', '.join(commands)}."
        )
    arguments, rest = parser.parse_known_args(argv)
    command = commands.get(getattr(arguments, "command", None) or "", parser)
    overrides = getattr(arguments, "overrides", None)
    # argparse stops filling a list at the first option; later words belong to it too
    for word in rest:
        if word.startswith("-") or overrides is None:
            hint = did_you_mean(word.split("=")[0], list(command._option_string_actions))
            if overrides is not None and word.startswith("-"):
                hint = _override_meant(word, argv, arguments.command) or hint
            command.error(f"there is no argument {word!r}.{hint}")
        overrides.append(word)
    if overrides is not None:
        arguments.overrides = _joined(overrides)
        _refuse_arguments(arguments.overrides, command)
    return arguments


def _override_meant(flag: str, argv: Sequence[str], command: str) -> str:
    """Say which override an unknown flag was meant for, such as `--iterations 3`; "" if none."""
    from dataenvgym.config.composition import compose, options_by_group
    from dataenvgym.config.overrides import keys_of

    def last(option: str) -> str:
        return option.rsplit(".", 1)[-1]

    typed, equals, value = flag.partition("=")
    key = typed.lstrip("-").replace("-", "_")
    if key in (*options_by_group(), "model"):
        target = key
    else:
        name = {"eval": "eval", "rescore": "eval", "adapt": "adapt"}.get(command, "config")
        try:
            known = list(keys_of(compose(allow_missing=True, name=name)))
        except ConfigurationError:
            return ""
        found = [o for o in known if last(o) == key] or [o for o in known if f"{last(o)}s" == key]
        if not found and len(key) > 2:  # `--records` for agent.records_per_iteration
            found = [option for option in known if last(option).startswith(f"{key}_")]
        if not found:
            return ""
        target = min(found, key=lambda option: (option.count("."), known.index(option)))
    following = list(argv)[list(argv).index(flag) + 1 :]
    if not equals and following and "=" not in following[0] and not following[0].startswith("--"):
        value = following[0]
    meant = f"{target}={value or 'VALUE'}"
    return f" Values of the configuration have no dashes: KEY=VALUE, here {meant}"


def _refuse_arguments(overrides: Sequence[str], command: argparse.ArgumentParser) -> None:
    """Refuse `run=RUN` where the command has an argument `--run` and there is no such option."""
    from dataenvgym.config.composition import compose, options_by_group

    for text in overrides:
        key, _, value = text.partition("=")
        flag = f"--{key.replace('_', '-')}"
        action = command._option_string_actions.get(flag)
        if action is None or key in options_by_group():
            continue
        if not any(key in compose(allow_missing=True, name=name) for name in ("config", "eval")):
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
