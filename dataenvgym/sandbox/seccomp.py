"""The system calls that a run may make, as a program for the kernel's filter (seccomp-bpf).

Namespaces hide names from a run. The filter lets only the calls through that `system_calls` lists
with a reason, and refuses some of their arguments, so a call that was not considered is refused.
What is missing from that list:

- Calls that have broken sandboxes before: tracing and reading other processes, mounts and new
  namespaces, kernel keys, BPF, io_uring, userfaultfd. Socket families other than local and internet
  ones, because some, such as vsock, ignore network namespaces. Loading modules, also those that the
  kernel loads by itself for protocols other than TCP and UDP, for bridges and for terminals.
- Memory that does not show in the size of a process: memfd, System V IPC, message queues, huge
  pages, shared anonymous mappings (a process may drop their pages while they remain), pages moved
  to swap, larger socket buffers, pages of a file that `sendfile` or `splice` leaves in a
  socket, which accounts for one byte where it holds a page, Landlock's rules, attributes and access
  lists of files, and locks of open file descriptions, which no process has to keep open.
- Calls that affect other runs or the host: leases on shared files (each open waits for them) and
  write hints, which stay with a file; directory and file notifications (which show the programs
  that the host starts), `io_setup` (its quota is the machine's), larger pipes (their quota is a
  user's), `sync`, `fsync`, `msync` and the advice to drop a file from the cache (the disks and the
  cache are the host's, the run's own files are in memory), requests to file systems and devices by
  `ioctl`, flow labels and multicast groups (which outlive the run in its network), and everything
  that would slow down process 1 of the run, which ends the run.
- Calls that would deceive the memory supervision: filters that hold a thread within a system call
  (it would look like a thread that waits for a child between vfork and exec), and threads with
  open files that their process does not show.

A refused call fails with an error that programs expect, so that they can continue: usually EPERM;
ENOSYS if they know kernels without that call, such as all that are younger than Linux 5.8 (after a
failed `clone3`, libraries use `clone`, whose flags a filter can read); EINVAL if they then read and
write instead. `sync` and its like, and the sizes of socket buffers, which are hints, succeed
without effect.

On a machine that `system_calls` does not list there is no filter. Calls by the numbers of another
architecture (32-bit x86, which has an fcntl64, on x86_64) end the process; those of x32 fail with
ENOSYS.
"""

from __future__ import annotations

import errno
import platform
import struct
from itertools import groupby

from dataenvgym.sandbox.system_calls import MACHINES, OLDEST_KERNEL, Machine

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AND = 0x54
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_ARGUMENTS = 16  # each of 8 bytes, the low half first
_X32 = 0x40000000
_NEW_NAMESPACE = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
_CLONE_FILES, _CLONE_THREAD, _CLOSE_RANGE_UNSHARE = 0x400, 0x10000, 2
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_PROTOCOLS = (0, 1, 6, 17)  # by default; PF_UNIX (or ICMP, which needs a permission), TCP, UDP
_MAP_SHARED, _MAP_ANONYMOUS, _MAP_HUGETLB = 0x01, 0x20, 0x40000
_MADV_PAGEOUT = 21
_NEW_LISTENER = 0x8  # SECCOMP_FILTER_FLAG_NEW_LISTENER
_INIT, _PRIO_PROCESS = 1, 0
_OF_A_PROCESS = (
    "sched_setparam",
    "sched_setscheduler",
    "sched_setaffinity",
    "prlimit64",
    "sched_setattr",
)  # whose first argument is the process that they change
_REQUEST_TYPE, _REQUESTS = 0xFF00, (0x5400, 0x8900)  # of terminals and all files, of sockets
_TERMINAL = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSETD
# SIOC[GS]IFBR, SIOC[GS]IFVLAN, SIOCBR{ADD,DEL}BR
_BRIDGES = (0x8940, 0x8941, 0x8982, 0x8983, 0x89A0, 0x89A1)
_LOCKS_OF_DESCRIPTIONS = (36, 37, 38)  # F_OFD_{GETLK,SETLK,SETLKW}
# F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_SET_RW_HINT, F_SET_FILE_RW_HINT
_OF_THE_FILE = (1024, 1026, 1031, 1036, 1038)
_SOCKET_LEVEL, _IP_LEVEL, _IPV6_LEVEL = 1, 0, 41
_OPTIONS = (  # level, first, last, error
    (_SOCKET_LEVEL, 7, 8, 0),  # SO_SNDBUF, SO_RCVBUF
    (_IP_LEVEL, 35, 48, errno.ENODEV),  # groups: IP_ADD_MEMBERSHIP to MCAST_MSFILTER
    (_IPV6_LEVEL, 20, 21, errno.ENODEV),  # IPV6_ADD_MEMBERSHIP, IPV6_DROP_MEMBERSHIP
    (_IPV6_LEVEL, 27, 28, errno.ENODEV),  # IPV6_JOIN_ANYCAST, IPV6_LEAVE_ANYCAST
    (_IPV6_LEVEL, 42, 48, errno.ENODEV),  # MCAST_JOIN_GROUP to MCAST_MSFILTER
    (_IPV6_LEVEL, 32, 32, errno.EPERM),  # IPV6_FLOWLABEL_MGR
)


def filter_program(machine: str | None = None) -> bytes:
    """The filter for a machine (by default this one); empty if the machine is not listed."""
    known = MACHINES.get(machine or platform.machine())
    if known is None:
        return b""
    rules = _architecture(known) + _answered(known) + _arguments(known) + _listed(known)
    return b"".join(struct.pack("<HBBI", *rule) for rule in rules)


_Rule = tuple[int, int, int, int]
"""An instruction: its code, how many to skip if true, how many if false, its constant."""


def _answered(machine: Machine) -> list[_Rule]:
    """Rules for calls that fail with an error of their own, or do nothing."""
    rules = []
    for error, calls in machine.answered.items():
        rules += _if_in(tuple(sorted(calls.values())), _refuse(error))
    return rules


def _listed(machine: Machine) -> list[_Rule]:
    """Allow the listed calls, range by range, and refuse all others."""
    rules: list[_Rule] = []
    numbers = sorted(machine.allowed.values())
    for _, group in groupby(enumerate(numbers), lambda item: item[1] - item[0]):
        successive = [number for _, number in group]
        rules += [
            (_JUMP_AT_LEAST, 2, 0, successive[-1] + 1),
            (_JUMP_AT_LEAST, 0, 1, successive[0]),
            (_RETURN, 0, 0, _ALLOW),
        ]
    return [*rules, (_JUMP_AT_LEAST, 1, 0, OLDEST_KERNEL + 1), _deny(), _refuse(errno.ENOSYS)]


def _arguments(machine: Machine) -> list[_Rule]:
    """Rules for calls that are refused for some arguments."""
    calls = machine.allowed
    own_files = [(_JUMP_ANY_BIT, 0, 2, _CLONE_THREAD), (_JUMP_ANY_BIT, 1, 0, _CLONE_FILES), _deny()]
    namespaces = [(_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACE), _deny()]
    rules = _on_argument(calls["clone"], 0, namespaces + own_files)
    unshares = [(_JUMP_ANY_BIT, 0, 1, _CLOSE_RANGE_UNSHARE), _refuse(errno.EINVAL)]
    rules += _on_argument(calls["close_range"], 2, unshares)
    huge = [(_JUMP_ANY_BIT, 0, 1, _MAP_HUGETLB), _refuse(errno.ENOMEM)]
    not_both = [(_JUMP_ANY_BIT, 0, 2, _MAP_ANONYMOUS), (_JUMP_ANY_BIT, 0, 1, _MAP_SHARED)]
    rules += _on_argument(calls["mmap"], 3, [*huge, *not_both, _refuse(errno.ENOMEM)])
    rules += _on_argument(calls["madvise"], 2, _if_equal(_MADV_PAGEOUT, _refuse(errno.EINVAL)))
    listens = [(_JUMP_ANY_BIT, 0, 1, _NEW_LISTENER), _refuse(errno.EINVAL)]
    rules += _on_argument(calls["seccomp"], 1, listens)
    of_others = [(_AND, 0, 0, _REQUEST_TYPE), *_unless_in(_REQUESTS, _refuse(errno.ENOTTY))]
    rules += _on_argument(calls["ioctl"], 1, _if_in(_TERMINAL + _BRIDGES, _deny()) + of_others)
    locks = _if_in(_LOCKS_OF_DESCRIPTIONS, _refuse(errno.EINVAL))
    rules += _on_argument(calls["fcntl"], 1, _if_in(_OF_THE_FILE, _deny()) + locks)
    for name in _OF_A_PROCESS:
        rules += _on_argument(calls[name], 0, _if_equal(_INIT, _deny()))
    rules += _on_argument(calls["setpriority"], 0, _unless_in((_PRIO_PROCESS,), _deny()))
    rules += _on_argument(calls["setpriority"], 1, _if_equal(_INIT, _deny()))
    for name in ("socket", "socketpair"):
        families = _unless_in(_FAMILIES, _refuse(errno.EAFNOSUPPORT))
        rules += _on_argument(calls[name], 0, families)
        protocols = _unless_in(_PROTOCOLS, _refuse(errno.EPROTONOSUPPORT))
        rules += _on_argument(calls[name], 2, protocols)
    for level, first, last, error in _OPTIONS:
        rules += _on_options(calls["setsockopt"], level, first, last, _refuse(error))
    return rules


def _architecture(machine: Machine) -> list[_Rule]:
    """End a process that calls by another architecture's numbers; leave the number loaded."""
    rules = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine.has_x32:
        rules += [(_JUMP_AT_LEAST, 0, 1, _X32), _refuse(errno.ENOSYS)]
    return rules


def _on_argument(number: int, position: int, rules: list[_Rule]) -> list[_Rule]:
    """Rules for the low half of an argument of one call; after them the number is loaded again."""
    inner = [(_LOAD, 0, 0, _ARGUMENTS + 8 * position), *rules, (_LOAD, 0, 0, _NUMBER)]
    return [(_JUMP_EQUAL, 0, len(inner), number), *inner]


def _on_options(number: int, level: int, first: int, last: int, then: _Rule) -> list[_Rule]:
    """A rule for options of a level, in a call that takes both after a descriptor."""
    load_option = (_LOAD, 0, 0, _ARGUMENTS + 8 * 2)
    between = [(_JUMP_AT_LEAST, 0, 2, first), (_JUMP_AT_LEAST, 1, 0, last + 1), then]
    return _on_argument(number, 1, [(_JUMP_EQUAL, 0, 4, level), load_option, *between])


def _unless_in(values: tuple[int, ...], otherwise: _Rule) -> list[_Rule]:
    last = len(values)
    return [*((_JUMP_EQUAL, last - i, 0, value) for i, value in enumerate(values)), otherwise]


def _if_in(values: tuple[int, ...], then: _Rule) -> list[_Rule]:
    return [rule for value in values for rule in _if_equal(value, then)]


def _if_equal(value: int, then: _Rule) -> list[_Rule]:
    return [(_JUMP_EQUAL, 0, 1, value), then]


def _refuse(error: int) -> _Rule:
    """Fail with that error; 0 succeeds without effect."""
    return (_RETURN, 0, 0, _ERRNO | error)


def _deny() -> _Rule:
    return _refuse(errno.EPERM)
