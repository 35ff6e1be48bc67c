"""Numbers of the system calls that the filter of a run lets through or answers itself.

All calls that are not listed are refused, so a new kernel's calls are refused until someone has
found them harmless and written down why. The numbers are from the kernel
(arch/x86/entry/syscalls/syscall_64.tbl, and scripts/syscall.tbl for aarch64).
"""

from __future__ import annotations

import errno
from typing import NamedTuple


class Machine(NamedTuple):
    """Numbers by name; `answered` has the calls that fail with an error, or, for 0, do nothing."""

    audit: int
    has_x32: bool
    allowed: dict[str, int]
    answered: dict[int, dict[str, int]]


# The name and the numbers on x86_64 and aarch64; one number if both are the same (since Linux 5.0).
ALLOWED = {
    "the run's own open files; `seccomp` refuses some of their requests": """
        read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68,
        preadv 295 69, pwritev 296 70, preadv2 327 286, pwritev2 328 287, lseek 8 62, close 3 57,
        close_range 436, dup 32 23, dup2 33 -, dup3 292 24, fcntl 72 25, ioctl 16 29,
        flock 73 32, fstat 5 80, ftruncate 77 46, fallocate 285 47, copy_file_range 326 285,
        tee 276 77, pipe 22 -, pipe2 293 59, poll 7 -, ppoll 271 73, select 23 -,
        pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21,
        epoll_wait 232 -, epoll_pwait 281 22, epoll_pwait2 441, eventfd 284 -, eventfd2 290 19,
        signalfd 282 -, signalfd4 289 74, timerfd_create 283 85, timerfd_settime 286 86,
        timerfd_gettime 287 87
    """,
    "the file system of the run, which is read-only except for its own small disk": """
        open 2 -, openat 257 56, openat2 437, creat 85 -, stat 4 -, lstat 6 -, newfstatat 262 79,
        statx 332 291, access 21 -, faccessat 269 48, faccessat2 439, getdents 78 -,
        getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, rename 82 -, renameat 264 38,
        renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -, link 86 -, linkat 265 37,
        unlink 87 -, unlinkat 263 35, symlink 88 -, symlinkat 266 36, readlink 89 -,
        readlinkat 267 78, chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452, chown 92 -,
        fchown 93 55, lchown 94 -, fchownat 260 54, mknod 133 -, mknodat 259 33, truncate 76 45,
        statfs 137 43, fstatfs 138 44, utime 132 -, utimes 235 -, futimesat 261 -,
        utimensat 280 88, umask 95 166, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10,
        listxattr 194 11, llistxattr 195 12, flistxattr 196 13
    """,
    "the memory of the process, which RLIMIT_DATA and the supervisor count": """
        mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214, mremap 25 216, madvise 28 233,
        mincore 27 232, mlock 149 228, mlock2 325 284, munlock 150 229, mlockall 151 230,
        munlockall 152 231, pkey_mprotect 329 288, pkey_alloc 330 289, pkey_free 331 290,
        membarrier 324 283
    """,
    "processes, threads and signals in the pid namespace of the run, without privileges": """
        fork 57 -, vfork 58 -, clone 56 220, execve 59 221, execveat 322 281, exit 60 93,
        exit_group 231 94, wait4 61 260, waitid 247 95, kill 62 129, tkill 200 130,
        tgkill 234 131, pidfd_open 434, pidfd_send_signal 424, rt_sigaction 13 134,
        rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136,
        rt_sigtimedwait 128 137, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
        rt_sigsuspend 130 133, sigaltstack 131 132, pause 34 -, futex 202 98,
        set_robust_list 273 99, get_robust_list 274 100, set_tid_address 218 96,
        restart_syscall 219 128, rseq 334 293, prctl 157 167, arch_prctl 158 -, seccomp 317 277,
        getpid 39 172, getppid 110 173, gettid 186 178, getpgrp 111 -, getpgid 121 155,
        setpgid 109 154, getsid 124 156, setsid 112 157, getuid 102 174, geteuid 107 175,
        getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158,
        setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147,
        setresgid 119 149, setfsuid 122 151, setfsgid 123 152, setgroups 116 159, capget 125 90,
        capset 126 91
    """,
    "time, the process's own limits and schedule, and what it reads about the machine": """
        gettimeofday 96 169, time 201 -, clock_gettime 228 113, clock_getres 229 114,
        clock_nanosleep 230 115, nanosleep 35 101, times 100 153, alarm 37 -, getitimer 36 102,
        setitimer 38 103, timer_create 222 107, timer_settime 223 110, timer_gettime 224 108,
        timer_getoverrun 225 109, timer_delete 226 111, getrandom 318 278, uname 63 160,
        sysinfo 99 179, getcpu 309 168, getrusage 98 165, getrlimit 97 163, setrlimit 160 164,
        prlimit64 302 261, getpriority 140 141, setpriority 141 140, ioprio_get 252 31,
        sched_yield 24 124, sched_getparam 143 121, sched_setparam 142 118,
        sched_getscheduler 145 120, sched_setscheduler 144 119, sched_getattr 315 275,
        sched_setattr 314 274, sched_getaffinity 204 123, sched_setaffinity 203 122,
        sched_get_priority_max 146 125, sched_get_priority_min 147 126,
        sched_rr_get_interval 148 127
    """,
    "sockets of a network that has only a loopback; `seccomp` restricts families and options": """
        socket 41 198, socketpair 53 199, bind 49 200, connect 42 203, listen 50 201,
        accept 43 202, accept4 288 242, getsockname 51 204, getpeername 52 205, sendto 44 206,
        recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269, recvmmsg 299 243,
        shutdown 48 210, setsockopt 54 208, getsockopt 55 209
    """,
}
"""The calls that a run may make, by the reason why they harm nothing else."""

_ANSWERED = {
    # as on a kernel that was built without them
    errno.ENOSYS: """
        io_setup 206 0, inotify_init 253 -, inotify_init1 294 26, clone3 435
    """,
    # not for these files: programs read and write instead
    errno.EINVAL: """
        sendfile 40 71, splice 275 76
    """,
    # attributes and access lists of files are kernel memory in no limit
    errno.EOPNOTSUPP: """
        setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14,
        lremovexattr 198 15, fremovexattr 199 16
    """,
    # hints, which would reach the disks and the file cache of the host
    0: """
        sync 162 81, syncfs 306 267, fsync 74 82, fdatasync 75 83, sync_file_range 277 84,
        msync 26 227, fadvise64 221 223, readahead 187 213
    """,
}


def _numbers(table: str, column: int) -> dict[str, int]:
    rows = (row.split() for row in table.split(","))
    found = {name: numbers[min(column, len(numbers) - 1)] for name, *numbers in rows}
    return {name: int(number) for name, number in found.items() if number != "-"}


def _machine(audit: int, column: int) -> Machine:
    allowed = _numbers(",".join(ALLOWED.values()), column)
    answered = {error: _numbers(table, column) for error, table in _ANSWERED.items()}
    return Machine(audit, column == 0, allowed, answered)


MACHINES = {"x86_64": _machine(0xC000003E, 0), "aarch64": _machine(0xC00000B7, 1)}
OLDEST_KERNEL = 439
"""The last call of Linux 5.8, on all machines."""
