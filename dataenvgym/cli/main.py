"""The console script `dataenvgym`: runs a command, and turns errors into exit codes.

0    success
1    the run (or evaluation) failed
2    an impossible request: a typo, or a configuration that does not fit
130  interrupted; the message names the folder that the same command continues
143  the same, by SIGTERM or because the terminal was closed
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from dataenvgym.cli.parser import parse_arguments
from dataenvgym.errors import (
    AdapterError,
    ConfigurationError,
    DataEnvGymError,
    DatasetFormatError,
    InvalidInstanceError,
    RunDirectoryError,
    UnparsableAnswerError,
    UnsupportedStageError,
)
from dataenvgym.secrets import keep_secrets_of, redacted_output
from dataenvgym.storage import FULL

OK, FAILED, USER_ERROR, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

USER_ERRORS = (
    AdapterError,
    ConfigurationError,
    DatasetFormatError,
    InvalidInstanceError,
    RunDirectoryError,
    UnparsableAnswerError,
    UnsupportedStageError,
)

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
        with _sigterm_interrupts():
            module, _, function = arguments.function.partition(":")
            getattr(import_module(module), function)(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt as how:
        code = TERMINATED if isinstance(how, _Terminated) else INTERRUPTED
        return _end(code, _interrupted(how, fresh=getattr(arguments, "fresh", False)))
    except BrokenPipeError:  # the reader of our output closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except USER_ERRORS as error:
        if arguments.debug:
            traceback.print_exc()
        return _end(USER_ERROR, str(error))
    except DataEnvGymError as error:
        if arguments.debug:
            traceback.print_exc()
        return _end(FAILED, f"{arguments.command} failed: {error}")
    except OSError as error:
        if error.errno not in (*_NO_PLACE, *FULL) or error.filename is None or arguments.debug:
            traceback.print_exc()
        ways = getattr(arguments, "output_options", "")
        way_out = f"If it belongs to the output, choose another folder ({ways}); " if ways else ""
        return _end(
            USER_ERROR if error.errno in _NO_PLACE else FAILED,
            f"{arguments.command} failed: {error.filename or 'a file'}: {error.strerror or error}. "
            f"{way_out}--debug shows where it was",
        )
    except Exception as error:  # noqa: BLE001  a bug anywhere must give the right exit code
        return _unexpected(error, arguments.command, debug=arguments.debug)
    return OK


def _unexpected(error: Exception, command: str, *, debug: bool) -> int:
    """Report a bug, in the user's code or ours, with its traceback."""
    from dataenvgym.config.explanations import explain_missing, is_foreign

    if is_foreign(error) and not debug:
        return _end(USER_ERROR, explain_missing(error))
    traceback.print_exc()
    return _end(FAILED, f"{command} failed: {type(error).__name__}: {error}")


def _interrupted(interrupt: KeyboardInterrupt, *, fresh: bool) -> str:
    """Say where the finished part is, and how to continue; see `workspace.noting_interrupt`."""
    if not (folders := getattr(interrupt, "__notes__", ())):
        return "interrupted"
    command = "the same command without --fresh" if fresh else "the same command"
    return f"interrupted. Finished work is in {folders[-1]}; {command} continues it"


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
    from dataenvgym.episodes.texts import plain  # an error may quote what a model wrote

    print(plain(f"dataenvgym: {message}"), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
