"""The console script `dataenvgym`: parses its arguments, runs a command, turns errors into codes.

0    success
1    the run (or evaluation) failed
2    an impossible request: a typo, or a configuration that does not fit
130  interrupted; the message names the folder that the same command continues
143  the same, by SIGTERM or because the terminal was closed
"""

from __future__ import annotations

import argparse
import errno
import inspect
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NoReturn

from dataenvgym.cli.commands import add_commands
from dataenvgym.cli.console import present, quieten
from dataenvgym.errors import (
    AdapterError,
    BrokenFileError,
    ConfigurationError,
    DataEnvGymError,
    DatasetFormatError,
    InvalidInstanceError,
    RunDirectoryError,
    UnparsableAnswerError,
    UnsupportedStageError,
    did_you_mean,
)
from dataenvgym.events import keep_secrets_of, redacted_output
from dataenvgym.storage import FULL

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
        parser.error(f"there is no command {words[0]!r}.{did_you_mean(words[0], sorted(commands))}")
    arguments, rest = parser.parse_known_args(argv)
    command = commands.get(getattr(arguments, "command", None) or "", parser)
    several = getattr(arguments, "words", None)
    # argparse stops filling a list at the first option; later words belong to it too
    for word in rest:
        if word.startswith("-") or several is None:
            hint = did_you_mean(word.split("=")[0], list(command._option_string_actions))
            if several == "overrides":
                hint += " Values of the configuration have no dashes: KEY=VALUE"
            command.error(f"there is no argument {word!r}.{hint}")
        getattr(arguments, several).append(word)
    return arguments


OK, FAILED, USER_ERROR, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

USER_ERRORS = (
    AdapterError, BrokenFileError, ConfigurationError, DatasetFormatError, InvalidInstanceError,
    RunDirectoryError, UnparsableAnswerError, UnsupportedStageError,
)  # fmt: skip

_NO_PLACE = (errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS)
"""errno values that mean an unusable folder."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    keep_secrets_of(" ".join(argv))
    with redacted_output():
        return _main(argv)


def _main(argv: Sequence[str]) -> int:
    try:
        arguments = parse_arguments(argv)
    except SystemExit as ending:
        return int(ending.code or OK)
    if arguments.version:
        from dataenvgym import __version__

        print(f"dataenvgym {__version__}")
        return OK
    if arguments.command is None:
        return _main(["--help"])
    try:
        quieten()
        with _sigterm_interrupts():
            function = arguments.function
            names = inspect.signature(function).parameters
            call = partial(function, **{name: getattr(arguments, name) for name in names})
            if hasattr(arguments, "json"):
                present(call, as_json=arguments.json)
            else:
                call()
        sys.stdout.flush()
    except KeyboardInterrupt as how:
        code = TERMINATED if isinstance(how, _Terminated) else INTERRUPTED
        if not (folders := getattr(how, "__notes__", ())):  # see `workspace.noting_interrupt`
            return _end(code, "interrupted")
        again = " without --fresh" if getattr(arguments, "fresh", False) else ""
        finished = f"Finished work is in {folders[-1]}; the same command{again} continues it"
        return _end(code, f"interrupted. {finished}")
    except BrokenPipeError:  # the reader of our output closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except DataEnvGymError as error:
        if arguments.debug:
            traceback.print_exc()
        if isinstance(error, USER_ERRORS):
            return _end(USER_ERROR, str(error))
        return _end(FAILED, f"{arguments.command} failed: {error}")
    except OSError as error:
        if error.errno not in (*_NO_PLACE, *FULL) or error.filename is None or arguments.debug:
            traceback.print_exc()
        return _end(
            USER_ERROR if error.errno in _NO_PLACE else FAILED,
            f"{arguments.command} failed: {error.filename or 'a file'}: {error.strerror or error}. "
            "--debug shows where it was",
        )
    except Exception as error:  # noqa: BLE001  a bug anywhere must give the right exit code
        traceback.print_exc()
        return _end(FAILED, f"{arguments.command} failed: {type(error).__name__}: {error}")
    return OK


_ENDING = (signal.SIGTERM, signal.SIGHUP)


class _Terminated(KeyboardInterrupt):
    """Interrupted by SIGTERM, or because the terminal was closed."""


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that our child processes end."""

    def interrupt(number: int, frame: object) -> None:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(code: int, message: str) -> int:
    from dataenvgym.runs.documents import plain  # an error may quote what a model wrote

    print(plain(f"dataenvgym: {message}"), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
