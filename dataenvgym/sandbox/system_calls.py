"""Numbers of the system calls in the filter of a run, for each machine.

They are from the kernel (arch/x86/entry/syscalls/syscall_64.tbl, and the generic table of
include/uapi/asm-generic/unistd.h for aarch64).
"""

from __future__ import annotations

from typing import NamedTuple


class Machine(NamedTuple):
    """Numbers by name; `seccomp` describes the treatment of the calls in each field."""

    audit: int
    clone: int
    vfork: int | None
    sockets: tuple[int, int]  # socket, socketpair
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
    unfit: dict[str, int]  # fail for these files, so that programs read and write instead
    idle: dict[str, int]  # succeed and do nothing


# Since Linux 5.0 new calls have the same number everywhere.
SINCE_5_0 = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448, "statmount": 457,
    "listmount": 458, "open_tree_attr": 467,
}  # fmt: skip

_X86_64 = Machine(
    audit=0xC000003E, clone=56, vfork=58, sockets=(41, 53), ioctl=16, mmap=9, setpriority=141,
    has_x32=True, fcntl=72, setsockopt=54, madvise=28, seccomp=317,
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

_AARCH64 = Machine(
    audit=0xC00000B7, clone=220, vfork=None, sockets=(198, 199), ioctl=29, mmap=222,
    setpriority=140, has_x32=False, fcntl=25, setsockopt=208, madvise=233, seccomp=277,
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

MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}
CLONE3 = 435
