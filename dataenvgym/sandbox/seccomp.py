"""The system calls that a run may not make, as a program for the kernel's filter (seccomp-bpf).

Namespaces hide names from a run. The filter refuses calls that a run does not need and that harm
others:

- Calls that have broken sandboxes before: tracing and reading other processes, mounts and new
  namespaces, kernel keys, BPF, io_uring, userfaultfd. Socket families other than local and internet
  ones, because some, such as vsock, ignore network namespaces. Loading modules, also those that the
  kernel loads by itself for protocols other than TCP and UDP, for bridges and for terminals.
- Memory that does not show in the size of a process: memfd, System V IPC, message queues, huge
  pages, shared anonymous mappings (a process may drop their pages while they remain), pages moved
  to swap, larger socket buffers, and pages of a file that `sendfile` or `splice` leaves in a
  socket, which accounts for one byte where it holds a page.
- Calls that affect other runs or the host: leases on shared files (each open waits for them) and
  write hints, which stay with a file; directory and file notifications (which show the programs
  that the host starts), `io_setup` (its quota is the machine's), larger pipes (their quota is a
  user's), `sync` (it waits for the disks of the host), flow labels (which outlive the run in its
  network), and everything that would slow down process 1 of the run, which ends the run.
- Calls that would deceive the memory supervision: filters that hold a thread within a system call
  (it would look like a thread that waits for a child between vfork and exec).

A refused call fails with an error that programs expect, so that they can continue: usually EPERM;
ENOSYS if they know kernels without that call (after a failed `clone3`, libraries use `clone`, whose
flags a filter can read); EINVAL if they then read and write instead. `sync` and the sizes of socket
buffers, which are hints, succeed without effect.

On a machine that `system_calls` does not list there is no filter. Calls by the numbers of another
architecture (32-bit x86, which has an fcntl64, on x86_64) end the process; those of x32 fail with
ENOSYS.
"""

from __future__ import annotations

import errno
import platform
import struct

from dataenvgym.sandbox.system_calls import CLONE3, MACHINES, SINCE_5_0, Machine

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_ARGUMENTS = 16  # each of 8 bytes, the low half first
_X32 = 0x40000000
_NEW_NAMESPACE = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_PROTOCOLS = (0, 1, 6, 17)  # by default; PF_UNIX (or ICMP, which needs a permission), TCP, UDP
_MAP_SHARED, _MAP_ANONYMOUS, _MAP_HUGETLB = 0x01, 0x20, 0x40000
_MADV_PAGEOUT = 21
_NEW_LISTENER = 0x8  # SECCOMP_FILTER_FLAG_NEW_LISTENER
_INIT, _PRIO_PROCESS = 1, 0
_TERMINAL = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSETD
# SIOC[GS]IFBR, SIOC[GS]IFVLAN, SIOCBR{ADD,DEL}BR
_BRIDGES = (0x8940, 0x8941, 0x8982, 0x8983, 0x89A0, 0x89A1)
# F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_SET_RW_HINT, F_SET_FILE_RW_HINT
_OF_THE_FILE = (1024, 1026, 1031, 1036, 1038)
_SOL_SOCKET, _BUFFERS = 1, (7, 8)  # SO_SNDBUF, SO_RCVBUF
_IPPROTO_IPV6, _IPV6_FLOWLABEL_MGR = 41, 32


def filter_program(machine: str | None = None) -> bytes:
    """The filter for a machine (by default this one); empty if the machine is not listed."""
    known = MACHINES.get(machine or platform.machine())
    if known is None:
        return b""
    rules = _architecture(known) + _whole_calls(known) + _arguments(known)
    rules.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *rule) for rule in rules)


_Rule = tuple[int, int, int, int]
"""An instruction: its code, how many to skip if true, how many if false, its constant."""


def _whole_calls(machine: Machine) -> list[_Rule]:
    """Rules for calls that are decided by their number alone."""
    answers = {
        errno.EPERM: machine.denied | SINCE_5_0,
        errno.ENOSYS: machine.absent | {"clone3": CLONE3},
        errno.EINVAL: machine.unfit,
        0: machine.idle,
    }
    rules = []
    for error, calls in answers.items():
        for number in sorted(calls.values()):
            rules += _if_equal(number, _refuse(error))
    return rules


def _arguments(machine: Machine) -> list[_Rule]:
    """Rules for calls that are refused for some arguments."""
    rules = _on_argument(machine.clone, 0, [(_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACE), _deny()])
    huge = [(_JUMP_ANY_BIT, 0, 1, _MAP_HUGETLB), _refuse(errno.ENOMEM)]
    not_both = [(_JUMP_ANY_BIT, 0, 2, _MAP_ANONYMOUS), (_JUMP_ANY_BIT, 0, 1, _MAP_SHARED)]
    rules += _on_argument(machine.mmap, 3, [*huge, *not_both, _refuse(errno.ENOMEM)])
    rules += _on_argument(machine.madvise, 2, _if_equal(_MADV_PAGEOUT, _refuse(errno.EINVAL)))
    listens = [(_JUMP_ANY_BIT, 0, 1, _NEW_LISTENER), _refuse(errno.EINVAL)]
    rules += _on_argument(machine.seccomp, 1, listens)
    rules += _on_argument(machine.ioctl, 1, _if_in(_TERMINAL + _BRIDGES, _deny()))
    rules += _on_argument(machine.fcntl, 1, _if_in(_OF_THE_FILE, _deny()))
    for number in machine.of_a_process.values():
        rules += _on_argument(number, 0, _if_equal(_INIT, _deny()))
    rules += _on_argument(machine.setpriority, 0, _unless_in((_PRIO_PROCESS,), _deny()))
    rules += _on_argument(machine.setpriority, 1, _if_equal(_INIT, _deny()))
    for number in machine.sockets:
        rules += _on_argument(number, 0, _unless_in(_FAMILIES, _refuse(errno.EAFNOSUPPORT)))
        rules += _on_argument(number, 2, _unless_in(_PROTOCOLS, _refuse(errno.EPROTONOSUPPORT)))
    for option in _BUFFERS:
        rules += _on_option(machine.setsockopt, _SOL_SOCKET, option, _refuse(0))
    return rules + _on_option(machine.setsockopt, _IPPROTO_IPV6, _IPV6_FLOWLABEL_MGR, _deny())


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


def _on_option(number: int, level: int, option: int, then: _Rule) -> list[_Rule]:
    """A rule for one option of a level, in a call that takes both after a descriptor."""
    load_option = (_LOAD, 0, 0, _ARGUMENTS + 8 * 2)
    both = [(_JUMP_EQUAL, 0, 3, level), load_option, *_if_equal(option, then)]
    return _on_argument(number, 1, both)


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
