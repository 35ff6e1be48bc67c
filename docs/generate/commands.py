"""Reference of the commands, read from the parser of the command line."""

from __future__ import annotations

import argparse

from dataenvgym.cli.commands import add_commands

INTRO = """\
# Commands

Made from the command line's own parser. `dataenvgym COMMAND --help` prints the same.

`KEY=VALUE` changes the configuration: [all options](options.md). Commands exit with 0 when done, 1
if what they did failed, 2 if the input was wrong, and 130 or 143 if they were interrupted. `--json`
prints what a command shows as JSON, alone on stdout: `dataenvgym summary DIR --json | jq`.

"""


def commands_page() -> str:
    """The page as Markdown: a table of the commands, then a section for each."""
    parser = argparse.ArgumentParser(prog="dataenvgym")
    commands = add_commands(parser, argparse.ArgumentParser)
    table = ["| command | what it does |", "|---|---|"]
    table += [
        f"| [`{name}`](#{name}) | {cell(sentence(command.description))} |"
        for name, command in commands.items()
    ]
    sections = [_section(name, command) for name, command in commands.items()]
    return INTRO + "\n".join(table) + "\n\n" + "\n".join(sections)


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("$", "&#36;")


def sentence(text: str | None) -> str:
    """Text that begins with a capital letter."""
    return f"{text[0].upper()}{text[1:]}" if text else ""


def _section(name: str, command: argparse.ArgumentParser) -> str:
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    usage = " ".join(command.format_usage().removeprefix("usage: ").split())
    lines = [f"## {name}", "", sentence(command.description), "", "```text", usage, "```", ""]
    lines += ["| argument | meaning |", "|---|---|"]
    lines += [_row(action) for action in command._actions]
    if command.epilog:
        lines += ["", "```text", command.epilog.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _row(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    value = value if isinstance(value, str) else " ".join(value)
    if action.option_strings:
        takes = "" if action.nargs == 0 else f" {value or action.dest.upper()}"
        shown = ", ".join(f"`{option}{takes}`" for option in action.option_strings)
    else:
        shown = f"`{value or action.dest}`" + (" ..." if action.nargs in ("*", "+") else "")
    text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    return f"| {shown.replace('|', chr(92) + '|')} | {cell(sentence(text % {'prog': ''}))} |"
