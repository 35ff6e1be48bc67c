"""The commands: functions whose signature and docstring are the command.

A parameter before `*` is a word, one after it an option `--like-this`. A default of None or False
makes it optional, a list takes several, a `Literal` is one of its words. The docstring begins with
the summary; its `Args` are the help, and the text between them stands below the help. A command
that returns a `Document` has the option --json.

The command line, its help and its reference page are made of them. Other packages add commands by
entry points `dataenvgym.commands`: the name of a command, and its function.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from annotated_types import MinLen
from pydantic import TypeAdapter, ValidationError

from dataenvgym.options import explanations
from dataenvgym.runs.documents import Document

COMMANDS = {
    "run": "run:run",
    "study": "study:study",
    "compare": "study:compare",
    "eval": "evaluate:evaluate",
    "summary": "evaluate:summary",
    "generate": "evaluate:generate_rows",
    "adapt": "adapt:adapt",
    "rescore": "evaluate:rescore",
    "attribute": "inspect:attribute",
    "report": "inspect:show_report",
    "show": "inspect:show_iteration",
    "export": "inspect:export",
    "serve": "serve:serve",
    "serve-adaptation": "serve:serve_adaptation",
    "pareto": "pareto:pareto",
    "worlds": "worlds:worlds",
    "serve-world": "worlds:serve_world",
    "list": "listing:list_options",
    "config": "listing:show_configuration",
    "new": "new:new",
    "external": "doctor:external",
    "prepare": "prepare:prepare",
    "doctor": "doctor:doctor",
}
"""Our commands, and their functions in `dataenvgym.cli`."""

_HELP = {
    "overrides": "changes to the configuration, such as agent=random",
    "config_dir": "a folder with your own YAML files",
    "fresh": "start over: remove existing files",
    "plain": "plain lines, no live display",
    "run": "the run's folder, or its name in the folder of runs",
    "runs_dir": "the folder of runs",
}
"""The help of parameters that several commands have."""

_EXCLUSIVE = (("adapter", "run"), ("dry", "floor"), ("fresh", "retry_errors"), ("by", "groups"))
"""Options that exclude each other."""


def add_commands(
    parser: argparse.ArgumentParser,
    parser_class: type[argparse.ArgumentParser],
    word: str | None = None,
) -> dict[str, argparse.ArgumentParser]:
    """Add all commands to the parser; return their parsers by name.

    Args:
        word: the command that is called. If it is one of ours, only its module is imported.
    """
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=parser_class)
    for name in (word,) if word in COMMANDS else COMMANDS:
        module, _, function = COMMANDS[str(name)].partition(":")
        _add(commands, str(name), getattr(import_module(f"dataenvgym.cli.{module}"), function))
    if word not in COMMANDS:
        for point in sorted(entry_points(group="dataenvgym.commands"), key=lambda p: p.name):
            try:
                if point.name not in COMMANDS:
                    _add(commands, point.name, point.load())
            except (ImportError, AttributeError, SyntaxError) as error:  # of another package
                print(f"dataenvgym: no command {point.name!r}: {error}", file=sys.stderr)
    return dict(commands.choices)


def _add(commands: Any, name: str, function: Callable[..., object]) -> None:
    text = re.sub(r"(?m)^(Args|Raises):\n( .*\n|\n)*", "", f"{inspect.getdoc(function)}\n")
    summary, _, more = text.partition("\n\n")
    summary = " ".join(summary.split())
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=f"{summary[0].lower()}{summary[1:]}".rstrip("."),
        description=summary,
        epilog=more.rstrip(),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--debug", action="store_true", help="show tracebacks")
    command.set_defaults(function=function, words=None)
    hints, abouts = get_type_hints(function, include_extras=True), explanations(function)
    if hints.get("return") == Document:
        command.add_argument("--json", action="store_true", help="print it as JSON")
    groups: dict[str, argparse._ActionsContainer] = {}
    parameters = inspect.signature(function).parameters.values()
    named = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    for parameter in parameters:
        one = parameter.name
        pair = next((pair for pair in _EXCLUSIVE if one in pair and {*pair} <= named), (one,))
        if len(pair) == 2 and pair[0] not in groups:
            groups[pair[0]] = command.add_mutually_exclusive_group()
        flag, options = _argument(parameter, hints[one])
        if options.get("nargs") in ("*", "+"):
            command.set_defaults(words=one)
        about = abouts.get(one) or _HELP.get(one, "")
        default = parameter.default
        if isinstance(default, str | int | float) and not isinstance(default, bool):
            about += f" (default: {default})"
        groups.get(pair[0], command).add_argument(flag, help=about.replace("%", "%%"), **options)


def _argument(parameter: inspect.Parameter, hint: Any) -> tuple[str, dict[str, Any]]:
    """The name of an argument on the command line, and how argparse gets its value."""
    name, default = parameter.name, parameter.default
    is_option = parameter.kind is parameter.KEYWORD_ONLY
    flag = f"{'-' if len(name) == 1 else '--'}{name.replace('_', '-')}" if is_option else name
    if hint is bool:
        return flag, {"action": "store_true"}
    members = [part for part in get_args(hint) if part is not NoneType]
    kind = members[0] if NoneType in get_args(hint) else hint
    takes_some = any(isinstance(bound, MinLen) for bound in getattr(kind, "__metadata__", ()))
    kind = get_args(kind)[0] if takes_some else kind
    metavar = "KEY=VALUE" if name == "overrides" else name.rpartition("_")[2].upper()
    options: dict[str, Any] = {"metavar": metavar}
    if get_origin(kind) is Literal:
        options |= {"choices": get_args(kind), "metavar": "|".join(get_args(kind))}
    elif get_origin(kind) is list:
        options |= {"action": "append"} if is_option else {"nargs": "+" if takes_some else "*"}
    elif kind is not str:
        is_float = kind is float
        options |= {
            "type": partial(_number, TypeAdapter(kind)),
            "metavar": "X" if is_float else "N",
        }
    if default is not parameter.empty:
        options["default"] = default
        options |= {} if is_option else {"nargs": "?"}
    elif is_option:
        options["required"] = True
    elif options.get("nargs") == "*":  # a list is not None, so that messages call it optional, too
        options["default"] = []
    return flag, options


def _number(adapter: TypeAdapter[Any], text: str) -> Any:
    try:
        return adapter.validate_strings(text)
    except ValidationError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.errors()[0]['msg']}") from None
