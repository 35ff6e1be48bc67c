"""The system calls that a run may not make, as a program for the kernel's filter (seccomp-bpf).

Namespaces take names away from a run; the filter takes away what it has no use for and what harms
others:

- What has broken sandboxes before: tracing and reading other processes, mounts and new namespaces,
  kernel keys, BPF, io_uring, userfaultfd, loading modules. Socket families other than local ones
  and the internet's, because some, such as vsock, know nothing of network namespaces; protocols
  other than TCP and UDP, for which the kernel may load a module.
- Memory that no process's size shows: memfd, System V IPC, message queues, huge pages, shared
  anonymous mappings (a process may let go of their pages while they stay), pages moved to swap,
  larger socket buffers, and pages of a file that `sendfile` or `splice` leaves in a socket, which
  accounts for one byte where it holds a page.
- What reaches other runs or the host: leases on files that everybody reads (each open waits for
  them), directory and file notifications (which show what the host starts), `io_setup` (its quota
  is the machine's), `sync` (it waits for the disks of the host), flow labels (which outlive the run
  in its network), and everything that would slow down process 1 of the run, which ends the run.
- What would deceive the watch over memory: filters that hold a thread within a call of its own
  (it would look as one that waits for a child between vfork and exec).

A refused call fails with the error that programs expect, so that they can go on: mostly EPERM;
ENOSYS where they know kernels without that call (for `clone3` libraries fall back on `clone`, whose
flags a filter can read); EINVAL where they then read and write instead. `sync` and the sizes of
socket buffers, which are hints, succeed without effect.

Numbers are the kernel's own (arch/x86/entry/syscalls/syscall_64.tbl, and the generic table of
include/uapi/asm-generic/unistd.h for aarch64). On another machine there is no filter. Calls by the
numbers of another architecture (32-bit x86, which has an fcntl64, on x86_64) end the process; those
of x32 fail with ENOSYS.
"""

from __future__ import annotations

import errno
import platform
import struct
from typing import NamedTuple

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
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_SEEN_BY_OTHERS = (1024, 1026)  # F_SETLEASE, F_NOTIFY
_SOL_SOCKET, _BUFFERS = 1, (7, 8)  # SO_SNDBUF, SO_RCVBUF
_IPPROTO_IPV6, _IPV6_FLOWLABEL_MGR = 41, 32


class _Machine(NamedTuple):
    audit: int
    clone: int
    socket: int
    ioctl: int
    mmap: int
    setpriority: int
    fcntl: int
    setsockopt: int
    madvise: int
    seccomp: int
    of_a_process: dict[str, int]  # calls whose first argument is the process that they change
    has_x32: bool
    denied: dict[str, int]
    absent: dict[str, int]  # as on a kernel that was built without them
    unfit: dict[str, int]  # for these files, so that programs read and write instead
    idle: dict[str, int]  # succeed and do nothing


# Since Linux 5.0 new calls have the same number everywhere.
_SINCE_5_0 = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448, "statmount": 457,
    "listmount": 458, "open_tree_attr": 467,
}  # fmt: skip

_X86_64 = _Machine(
    audit=0xC000003E, clone=56, socket=41, ioctl=16, mmap=9, setpriority=141, has_x32=True,
    fcntl=72, setsockopt=54, madvise=28, seccomp=317,
    of_a_process={
        "sched_setparam": 142, "sched_setscheduler": 144, "sched_setaffinity": 203,
        "prlimit64": 302, "sched_setattr": 314,
    },
    denied={
        "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66,
        "shmdt": 67, "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "ptrace": 101,
        "syslog": 103, "uselib": 134, "personality": 135, "ustat": 136, "sysfs": 139,
        "vhangup": 153, "modify_ldt": 154, "pivot_root": 155, "_sysctl": 156, "adjtimex": 159,
        "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
        "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171,
        "iopl": 172, "ioperm": 173, "create_module": 174, "init_module": 175,
        "delete_module": 176, "get_kernel_syms": 177, "query_module": 178, "quotactl": 179,
        "nfsservctl": 180, "lookup_dcookie": 212, "semtimedop": 220, "clock_settime": 227,
        "mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "mq_open": 240,
        "mq_unlink": 241, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
        "ioprio_set": 251, "migrate_pages": 256, "unshare": 272, "vmsplice": 278, "move_pages": 279,
        "perf_event_open": 298, "fanotify_init": 300, "fanotify_mark": 301,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
        "memfd_create": 319, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    },
    absent={"io_setup": 206, "inotify_init": 253, "inotify_init1": 294},
    unfit={"sendfile": 40, "splice": 275},
    idle={"sync": 162, "syncfs": 306},
)  # fmt: skip

_AARCH64 = _Machine(
    audit=0xC00000B7, clone=220, socket=198, ioctl=29, mmap=222, setpriority=140, has_x32=False,
    fcntl=25, setsockopt=208, madvise=233, seccomp=277,
    of_a_process={
        "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122,
        "prlimit64": 261, "sched_setattr": 274,
    },
    denied={
        "ioprio_set": 30,
        "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42,
        "chroot": 51, "vhangup": 58, "quotactl": 60, "vmsplice": 75, "acct": 89,
        "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105,
        "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117,
        "reboot": 142, "sethostname": 161, "setdomainname": 162, "settimeofday": 170,
        "adjtimex": 171, "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187,
        "msgrcv": 188, "msgsnd": 189, "semget": 190, "semctl": 191, "semtimedop": 192,
        "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "shmdt": 197, "add_key": 217,
        "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225, "mbind": 235,
        "get_mempolicy": 236, "set_mempolicy": 237, "migrate_pages": 238, "move_pages": 239,
        "perf_event_open": 241, "fanotify_init": 262, "fanotify_mark": 263,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
        "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273,
        "memfd_create": 279, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
    },
    absent={"io_setup": 0, "inotify_init1": 26},
    unfit={"sendfile": 71, "splice": 76},
    idle={"sync": 81, "syncfs": 267},
)  # fmt: skip

_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}
_CLONE3 = 435


def filter_program(machine: str | None = None) -> bytes:
    """The filter for a machine (by default this one); empty if there is none for it."""
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return b""
    rules = _architecture(known) + _whole_calls(known) + _arguments(known)
    rules.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *rule) for rule in rules)


_Rule = tuple[int, int, int, int]
"""An instruction: its code, how many to skip if true, how many if false, its constant."""


def _whole_calls(machine: _Machine) -> list[_Rule]:
    """Answers calls by their number alone."""
    answers = {
        errno.EPERM: machine.denied | _SINCE_5_0,
        errno.ENOSYS: machine.absent | {"clone3": _CLONE3},
        errno.EINVAL: machine.unfit,
        0: machine.idle,
    }
    rules = []
    for error, calls in answers.items():
        for number in sorted(calls.values()):
            rules += _if_equal(number, _refuse(error))
    return rules


def _arguments(machine: _Machine) -> list[_Rule]:
    """Answers calls that are refused with some arguments."""
    rules = _on_argument(machine.clone, 0, [(_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACE), _deny()])
    huge = [(_JUMP_ANY_BIT, 0, 1, _MAP_HUGETLB), _refuse(errno.ENOMEM)]
    not_both = [(_JUMP_ANY_BIT, 0, 2, _MAP_ANONYMOUS), (_JUMP_ANY_BIT, 0, 1, _MAP_SHARED)]
    rules += _on_argument(machine.mmap, 3, [*huge, *not_both, _refuse(errno.ENOMEM)])
    rules += _on_argument(machine.madvise, 2, _if_equal(_MADV_PAGEOUT, _refuse(errno.EINVAL)))
    listens = [(_JUMP_ANY_BIT, 0, 1, _NEW_LISTENER), _refuse(errno.EINVAL)]
    rules += _on_argument(machine.seccomp, 1, listens)
    for request in _TERMINAL_INPUT:
        rules += _on_argument(machine.ioctl, 1, _if_equal(request, _deny()))
    for command in _SEEN_BY_OTHERS:
        rules += _on_argument(machine.fcntl, 1, _if_equal(command, _deny()))
    for number in machine.of_a_process.values():
        rules += _on_argument(number, 0, _if_equal(_INIT, _deny()))
    rules += _on_argument(machine.setpriority, 0, _unless_in((_PRIO_PROCESS,), _deny()))
    rules += _on_argument(machine.setpriority, 1, _if_equal(_INIT, _deny()))
    rules += _on_argument(machine.socket, 0, _unless_in(_FAMILIES, _refuse(errno.EAFNOSUPPORT)))
    unknown = _refuse(errno.EPROTONOSUPPORT)
    rules += _on_argument(machine.socket, 2, _unless_in(_PROTOCOLS, unknown))
    for option in _BUFFERS:
        rules += _on_option(machine.setsockopt, _SOL_SOCKET, option, _refuse(0))
    return rules + _on_option(machine.setsockopt, _IPPROTO_IPV6, _IPV6_FLOWLABEL_MGR, _deny())


def _architecture(machine: _Machine) -> list[_Rule]:
    """Ends a process that calls by another architecture's numbers; leaves the number loaded."""
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
    """An answer for one option of a level, of a call that takes both after a descriptor."""
    load_option = (_LOAD, 0, 0, _ARGUMENTS + 8 * 2)
    both = [(_JUMP_EQUAL, 0, 3, level), load_option, *_if_equal(option, then)]
    return _on_argument(number, 1, both)


def _unless_in(values: tuple[int, ...], otherwise: _Rule) -> list[_Rule]:
    last = len(values)
    return [*((_JUMP_EQUAL, last - i, 0, value) for i, value in enumerate(values)), otherwise]


def _if_equal(value: int, then: _Rule) -> list[_Rule]:
    return [(_JUMP_EQUAL, 0, 1, value), then]


def _refuse(error: int) -> _Rule:
    """Fail with that error; 0 succeeds without effect."""
    return (_RETURN, 0, 0, _ERRNO | error)


def _deny() -> _Rule:
    return _refuse(errno.EPERM)
