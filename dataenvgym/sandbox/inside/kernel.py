"""System calls for which Python has no functions."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from typing import Any

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
_CLONE_NEWNS, _CLONE_NEWPID, _CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
_SYS_CLONE = 56 if os.uname().machine == "x86_64" else 220  # the generic table's
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 4, 22, 38, 47

_libc = ctypes.PyDLL(None, use_errno=True)


class _Filter(ctypes.Structure):  # struct sock_fprog
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_char_p)]


def fork_into_namespaces() -> int:
    """Fork init, as process 1 of a new pid namespace and with mounts of its own.

    This is a plain system call: init does not need Python's work after a fork, which takes longer
    than the fork. The main process does need it, and comes from `os.fork`.
    """
    flags = _CLONE_NEWNS | _CLONE_NEWPID | signal.SIGCHLD
    child: int = _libc.syscall(_SYS_CLONE, ctypes.c_ulong(flags), *[ctypes.c_ulong(0)] * 4)
    if child < 0:
        raise OSError(ctypes.get_errno(), "clone: " + os.strerror(ctypes.get_errno()))
    return child


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount; empty texts are not passed."""
    names = (source.encode() or None, target.encode(), kind.encode() or None)
    _call("mount", *names, flags, options.encode() or None, about=target)


def copy_mounts() -> None:
    """Enter a new mount namespace with a copy of the mounts."""
    _call("unshare", _CLONE_NEWNS)


def leave_network() -> None:
    """Enter a new network namespace, whose loopback is down."""
    _call("unshare", _CLONE_NEWNET)


def enter_network(namespace: int) -> None:
    """Enter the network namespace of this descriptor."""
    _call("setns", namespace, _CLONE_NEWNET)


def raise_loopback() -> None:
    """Bring up 127.0.0.1 in a new network namespace."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))


def drop_powers(*, visible: bool) -> None:
    """Drop all capabilities, also those that starting a program could restore.

    `visible` says whether processes of the same user may inspect this one.
    """
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call("prctl", _PR_CAP_AMBIENT, 4, 0, 0, 0)
    _call("capset", struct.pack("<Ii", 0x20080522, 0), bytes(24))
    _call("prctl", _PR_SET_DUMPABLE, int(visible), 0, 0, 0)


def refuse_calls(rules: bytes) -> None:
    """Install a seccomp filter, for this process and all its children."""
    program = _Filter(len(rules) // 8, rules)
    _call("prctl", _PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0)


def _call(name: str, *arguments: Any, about: str = "") -> None:
    plain = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    if getattr(_libc, name)(*plain) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name} {about}: {os.strerror(number)}")
