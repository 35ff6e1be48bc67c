"""The zygote: prepares one run ahead of time, whenever its owner asks.

    main('{"control": fd, "filter": "..."}')

For each "+" on its control socket, which comes with the run's limits, it prepares one run. A run is
two processes, in new pid and mount namespaces and an unused network:

    init: process 1 of the run. It mounts, waits, and reports how the main process ended; when it
          ends, every process of the run ends. The program inside can neither signal nor trace it.
    main: drops all privileges, waits for its request, and becomes the untrusted program.

Messages to the owner on the control socket are one packet each: "ready" with a pidfd of process 1
of the whole sandbox, which ends all of it; "P" with the run's descriptors (init's pidfd, its own
socket, stdin, stdout, stderr); "E" and a text if that failed. On the run's socket: "R" with the
run's /proc, or "E" and a text; then the owner's request, as 4 bytes of length, a JSON header, and
the files' contents back to back; at the end "D" (nothing is left of the run) or "K" (the rest is
being killed), main's wait status and its largest resident size. If the owner is gone, all of it
ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import site
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from . import kernel
from .networks import Networks
from .places import COMMON_MODULES, MAIN, WRITABLE
from .program import Streams, become_program

_FILES = 16384
_TERMINALS = 64  # pseudo-terminals, of which the machine has some thousands
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""Their inodes are the host's: they can be used, not changed."""
_MOST_PIDS = "/proc/sys/kernel/pid_max"
"""Since Linux 6.14, each pid namespace has its own; before, this is the machine's file."""
_UNCHANGED = (
    kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NOEXEC
)


def main(arguments: str) -> None:
    """Prepare runs until the owner is gone."""
    settings = json.loads(arguments)
    control = socket.socket(fileno=settings["control"])
    control.set_inheritable(False)
    os.environ.pop("PWD", None)  # bwrap sets it
    _forget_the_shell()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as process 1, init must have no handler at all
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended children leave no zombie
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # killed first if the machine runs out of memory, with all runs
    _protect_devices()
    _warm_up()
    rules = bytes.fromhex(settings["filter"])
    pid_table = os.stat(_MOST_PIDS).st_ino
    networks = Networks()
    first = os.pidfd_open(1)
    socket.send_fds(control, [b"ready"], [first])
    os.close(first)
    while (order := control.recv(4096)).startswith(b"+"):
        try:
            networks.enter_next()
            _prepare(control, json.loads(order[1:]) | {"pid_table": pid_table}, rules)
        except OSError as error:
            control.send(f"E{error}".encode())
    os._exit(0)


def _forget_the_shell() -> None:
    """Undo what the owner inherited from the user's shell, so that runs do not depend on it.

    All limits become as high as they may; each run then sets its own. Among them, the kernel
    refuses to send descriptors while more of the user's are in transit than this process may open,
    and all runs belong to the same user.
    """
    for name in [name for name in dir(resource) if name.startswith("RLIMIT_")]:
        most = resource.getrlimit(getattr(resource, name))[1]
        resource.setrlimit(getattr(resource, name), (most, most))
    os.umask(0o022)
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python's own choice
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _protect_devices() -> None:
    """Protect devices for all runs, whose mounts begin as a copy of these."""
    kernel.copy_mounts()  # those that bwrap made cannot be changed from here
    # /dev/full reads like /dev/zero, but mapping it gives no memory
    kernel.mount("/dev/full", "/dev/zero", "", kernel.MS_BIND)
    for name in _DEVICES:
        kernel.mount("", f"/dev/{name}", "", _UNCHANGED)


def _warm_up() -> None:
    for name in COMMON_MODULES.split():
        importlib.import_module(name)
    site.setquit()
    site.setcopyright()
    site.sethelper()
    _make_streams()
    exec(compile("", MAIN, "exec"), {})  # makes the parser's types: longer than most runs
    gc.collect()
    gc.freeze()


def _make_streams() -> None:
    """Make the standard streams of every run once, on pipes, which the run's own pipes replace."""
    kept = os.dup(2)
    for number, end in zip((0, 1, 2), (*os.pipe(), kept), strict=True):
        os.dup2(end, number)
    os.dup2(1, 2)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(  # noqa: SIM115 - it stays open
            number,
            "w" if number else "r",
            buffering=1 if number == 2 else -1,
            encoding="utf-8",
            errors="backslashreplace" if number == 2 else "surrogateescape",
            closefd=False,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.dup2(kept, 2)


def _prepare(control: socket.socket, order: dict[str, Any], rules: bytes) -> None:
    ours, theirs = socket.socketpair()
    pipes = os.pipe(), os.pipe(), os.pipe()
    (stdin, feed), (out, stdout), (err, stderr) = pipes
    try:
        child = kernel.fork_into_namespaces()
        if child == 0:
            control.close()
            theirs.close()
            for fd in (feed, out, err):
                os.close(fd)
            _guarded(ours, _init, ours, (stdin, stdout, stderr), order, rules)
        init = os.pidfd_open(child)
        socket.send_fds(control, [b"P"], [init, theirs.fileno(), feed, out, err])
        os.close(init)
    finally:
        ours.close()
        theirs.close()
        for pipe in pipes:
            os.close(pipe[0])
            os.close(pipe[1])


def _guarded(channel: socket.socket, step: Callable[..., NoReturn], *arguments: Any) -> NoReturn:
    """Take an irreversible step; if it fails, report it and exit."""
    try:
        step(*arguments)
    except BaseException as error:
        channel.send(f"E{type(error).__name__}: {error}".encode()[:2000])
    finally:
        os._exit(1)


# --- process 1 of a run -------------------------------------------------------------------------


def _init(owner: socket.socket, streams: Streams, order: dict[str, Any], rules: bytes) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _bound_pids(order["pids"], order["pid_table"])
    _mount_own_files(order["disk"])
    child = os.fork()
    if child == 0:
        _guarded(owner, become_program, owner, streams, order["rlimits"], rules)
    processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    kernel.drop_powers(visible=False)  # before the owner learns of it and starts the program
    socket.send_fds(owner, [b"R"], [processes])
    for fd in (*streams, processes):
        os.close(fd)
    pid = 0
    while pid != child:
        pid, status, usage = os.wait4(-1, 0)
    word = b"D" if _is_alone() else b"K"
    owner.send(word + struct.pack("<iq", status, usage.ru_maxrss * 1024))
    os._exit(0)


def _bound_pids(most: int, pid_table: int) -> None:
    """Limit the pids, if this pid namespace has its own file for that."""
    if os.stat(_MOST_PIDS).st_ino != pid_table:
        with open(_MOST_PIDS, "w") as file:
            file.write(str(most))


def _is_alone() -> bool:
    """Whether no process of the run is left; orphans are children of process 1."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _mount_own_files(disk: int) -> None:
    """Mount one small file system for all writable folders, an own /proc and pseudo-terminals.

    bwrap has made all mounts private, so these mounts are not visible elsewhere. Nothing can be
    unmounted from inside, because that privilege is dropped before the program begins.
    """
    plain = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("tmpfs", "/tmp", "tmpfs", plain, f"size={disk},nr_inodes={_FILES},mode=0700")
    for name, target in WRITABLE.items():
        os.mkdir(f"/tmp/{name}", 0o1777 if name in ("tmp", "shm") else 0o755)
        kernel.mount(f"/tmp/{name}", target, "", kernel.MS_BIND)
    terminals = f"newinstance,ptmxmode=0666,mode=0620,max={_TERMINALS}"
    fixed = kernel.MS_NOSUID | kernel.MS_NOEXEC | kernel.MS_RDONLY
    kernel.mount("devpts", "/dev/pts", "devpts", fixed, terminals)
    kernel.mount("proc", "/proc", "proc", plain | kernel.MS_NOEXEC | kernel.MS_RDONLY, "subset=pid")
