"""Sets limits on its own process and becomes the command: the start of every `unsafe_local` run.

    python -I -S local_start.py RESOURCE=AMOUNT ... -- command argument ...

It uses only the standard library, and is a separate program, so that no code of ours runs between a
fork and an exec in a process that may have threads.
"""

from __future__ import annotations

import os
import resource
import signal
import sys


def main() -> None:
    """Set the limits and become the command; exit with 127 if the program does not exist."""
    split = sys.argv.index("--")
    for name in [name for name in dir(resource) if name.startswith("RLIMIT_")]:
        # not the limits of the user's shell
        hard = resource.getrlimit(getattr(resource, name))[1]
        soft = 8 * 2**20 if name == "RLIMIT_STACK" else hard
        resource.setrlimit(getattr(resource, name), (soft, hard))
    os.umask(0o022)
    for setting in sys.argv[1:split]:
        name, _, amount = setting.partition("=")
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = int(amount) if hard == resource.RLIM_INFINITY else min(int(amount), hard)
        resource.setrlimit(number, (value, value))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    command = sys.argv[split + 1 :]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(127)


if __name__ == "__main__":
    main()
