"""The filter's rules, run by a small machine as the kernel would run them."""

import errno
import re
import struct
from pathlib import Path

import pytest

from dataenvgym.sandbox.seccomp import filter_program
from dataenvgym.sandbox.system_calls import MACHINES

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBERS = {
    name: machine.allowed | {n: i for calls in machine.answered.values() for n, i in calls.items()}
    for name, machine in MACHINES.items()
}  # compared with the kernel's below; and those of calls that are refused
NUMBERS["x86_64"] |= {"ptrace": 101, "mount": 165, "unshare": 272, "bpf": 321, "keyctl": 250}
NUMBERS["aarch64"] |= {"ptrace": 117, "mount": 40, "unshare": 97, "bpf": 280, "keyctl": 219}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def verdict(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """The filter's result for a call: classic BPF over a struct seccomp_data."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, audit or AUDIT[machine], 0, *padded)
    program = list(struct.iter_unpack("<HBBI", filter_program(machine)))
    at = loaded = 0
    while True:
        code, if_true, if_false, constant = program[at]
        at += 1
        if code == 0x06:
            return int(constant)
        if code == 0x20:
            loaded = struct.unpack_from("<I", data, constant)[0]
            continue
        if code == 0x54:
            loaded &= constant
            continue
        holds = {0x15: loaded == constant, 0x35: loaded >= constant, 0x45: loaded & constant}[code]
        at += if_true if holds else if_false


def refused(error: int) -> int:
    return 0x50000 | error


@pytest.mark.parametrize("machine", NUMBERS)
def test_ordinary_calls_pass(machine):
    numbers = NUMBERS[machine]
    for name in ("read", "execve"):
        assert verdict(machine, numbers[name]) == ALLOWED
    assert verdict(machine, numbers["clone"], 0x01200011) == ALLOWED  # fork
    assert verdict(machine, numbers["clone"], 0x3D0F00) == ALLOWED  # a thread
    assert verdict(machine, numbers["ioctl"], 0, 0x5401) == ALLOWED
    for family in (1, 2, 10):
        assert verdict(machine, numbers["socket"], family) == ALLOWED


@pytest.mark.parametrize("machine", NUMBERS)
def test_a_call_that_is_not_listed_with_a_reason_is_refused(machine):
    """Every number that a kernel has, or will have for a while."""
    listed = MACHINES[machine].allowed
    answered = [
        number for calls in MACHINES[machine].answered.values() for number in calls.values()
    ]
    numbers = [*listed.values(), *answered]
    assert len(numbers) == len(set(numbers))
    for number in set(range(2000)) - set(numbers):
        assert verdict(machine, number) == refused(errno.EPERM if number < 440 else errno.ENOSYS)


@pytest.mark.parametrize(("machine", "header"), HEADERS.items())
def test_the_numbers_are_those_of_the_kernel(machine, header):
    if not header.exists():
        pytest.skip(f"needs {header} (Debian: linux-libc-dev)")
    named = re.findall(r"define __NR(?:3264)?_(\w+) (\d+)\n", header.read_text())
    kernels = {name: int(number) for name, number in named} | {"fchmodat2": 452}
    kernels.setdefault("newfstatat", kernels.get("fstatat", -1))
    calls = dict(MACHINES[machine].allowed)
    for answered in MACHINES[machine].answered.values():
        calls |= answered
    assert {name: kernels.get(name) for name in calls} == calls


@pytest.mark.parametrize("machine", NUMBERS)
def test_dangerous_calls_do_not(machine):
    numbers = NUMBERS[machine]
    for name in ("ptrace", "mount", "unshare", "bpf", "keyctl"):
        assert verdict(machine, numbers[name]) == refused(errno.EPERM)
    for number in (425, 426, 427, 428, 432, 438):
        assert verdict(machine, number) == refused(errno.EPERM)
    assert verdict(machine, 435) == refused(errno.ENOSYS)
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, numbers["clone"], flag | 17) == refused(errno.EPERM)
    for request in (0x5412, 0x541C, 0x5423, 0x8940, 0x8982, 0x89A0):
        assert verdict(machine, numbers["ioctl"], 0, request) == refused(errno.EPERM)
    for request in (0x541B, 0x80045430, 0x8912):  # FIONREAD, TIOCGPTN, SIOCGIFCONF
        assert verdict(machine, numbers["ioctl"], 0, request) == ALLOWED
    for request in (0x9408, 0xC020660B, 0x80045200):  # a sync of btrfs, FS_IOC_FIEMAP, of devices
        assert verdict(machine, numbers["ioctl"], 0, request) == refused(errno.ENOTTY)
    assert verdict(machine, numbers["clone"], 0x3D0F00 & ~0x400) == refused(errno.EPERM)
    assert verdict(machine, 436, 3, 9, 2) == refused(errno.EINVAL)  # it would unshare files
    assert verdict(machine, 436, 3, 9, 4) == ALLOWED
    for family in (0, 16, 17, 30, 38, 40):
        for name in ("socket", "socketpair"):
            assert verdict(machine, numbers[name], family) == refused(errno.EAFNOSUPPORT)


@pytest.mark.parametrize("machine", NUMBERS)
def test_memory_is_mapped_from_files_or_for_oneself(machine):
    mmap = NUMBERS[machine]["mmap"]
    for flags in (0x01, 0x02, 0x03, 0x22, 0x4022):  # shared, private: a file; private: no file
        assert verdict(machine, mmap, 0, 4096, 3, flags) == ALLOWED
    for flags in (0x21, 0x23, 0x8021, 0x40022):  # the last one: huge pages, which no size shows
        assert verdict(machine, mmap, 0, 4096, 3, flags) == refused(errno.ENOMEM)


@pytest.mark.parametrize("machine", NUMBERS)
def test_calls_that_reach_others_fail_as_on_a_kernel_without_them(machine):
    numbers = NUMBERS[machine]
    for name in ("io_setup", "inotify_init1"):
        assert verdict(machine, numbers[name]) == refused(errno.ENOSYS)
    for name in ("sendfile", "splice"):
        assert verdict(machine, numbers[name]) == refused(errno.EINVAL)
    hints = ("sync", "syncfs", "fsync", "fdatasync", "msync", "sync_file_range", "fadvise64")
    for name in (*hints, "readahead"):
        assert verdict(machine, numbers[name]) == refused(0)
    assert verdict(machine, numbers["setxattr"]) == refused(errno.EOPNOTSUPP)


@pytest.mark.parametrize("machine", NUMBERS)
def test_files_are_controlled_but_neither_leased_nor_observed(machine):
    fcntl = NUMBERS[machine]["fcntl"]
    duplicate, set_flags, set_lock, lease, notify, size, hint = 0, 4, 6, 1024, 1026, 1031, 1036
    for command in (36, 37, 38):  # locks that outlive the descriptor
        assert verdict(machine, fcntl, 3, command) == refused(errno.EINVAL)
    for command in (duplicate, set_flags, set_lock):
        assert verdict(machine, fcntl, 3, command) == ALLOWED
    for command in (
        lease,
        notify,
        size,
        hint,
        1 << 32 | lease,
    ):  # the kernel reads the low half too
        assert verdict(machine, fcntl, 3, command) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", NUMBERS)
def test_sockets_keep_their_buffers_and_leave_no_label_and_no_group(machine):
    setsockopt = NUMBERS[machine]["setsockopt"]
    general, tcp, ipv6 = 1, 6, 41
    for level, option in ((general, 2), (general, 9), (tcp, 1), (tcp, 7), (ipv6, 26)):
        assert verdict(machine, setsockopt, 3, level, option) == ALLOWED
    for size in (7, 8):
        assert verdict(machine, setsockopt, 3, general, size) == refused(0)
    assert verdict(machine, setsockopt, 3, ipv6, 32) == refused(errno.EPERM)
    for level, option in ((0, 34), (0, 49), (ipv6, 19), (ipv6, 22), (ipv6, 49), (tcp, 42)):
        assert verdict(machine, setsockopt, 3, level, option) == ALLOWED
    for level, option in ((0, 35), (0, 48), (ipv6, 20), (ipv6, 27), (ipv6, 42)):
        assert verdict(machine, setsockopt, 3, level, option) == refused(errno.ENODEV)
    for protocol in (132, 136, 262):
        sctp = verdict(machine, NUMBERS[machine]["socket"], 2, 1, protocol)
        assert sctp == refused(errno.EPROTONOSUPPORT)


@pytest.mark.parametrize("machine", NUMBERS)
def test_memory_cannot_be_moved_out_of_sight(machine):
    madvise, seccomp = NUMBERS[machine]["madvise"], NUMBERS[machine]["seccomp"]
    assert verdict(machine, madvise, 0, 4096, 4) == ALLOWED
    assert verdict(machine, madvise, 0, 4096, 21) == refused(errno.EINVAL)
    assert verdict(machine, seccomp, 1, 0) == ALLOWED
    for flags in (0x8, 0x28):  # a listener, which may hold a thread in a call
        assert verdict(machine, seccomp, 1, flags) == refused(errno.EINVAL)


@pytest.mark.parametrize(
    ("machine", "affinity", "priority"), [("x86_64", 203, 141), ("aarch64", 122, 140)]
)
def test_a_process_may_change_how_it_is_scheduled_but_not_process_1(machine, affinity, priority):
    assert verdict(machine, affinity, 0) == verdict(machine, affinity, 77) == ALLOWED
    assert verdict(machine, affinity, 1) == refused(errno.EPERM)
    process, group, user = 0, 1, 2
    assert verdict(machine, priority, process, 0, 10) == ALLOWED
    assert verdict(machine, priority, process, 1, 10) == refused(errno.EPERM)
    for which in (group, user):
        assert verdict(machine, priority, which, 0, 10) == refused(errno.EPERM)


def test_calls_by_the_numbers_of_another_architecture_end_the_process():
    assert verdict("x86_64", 0, audit=0x40000003) == KILLED
    assert verdict("x86_64", 0x40000000 | 101) == refused(errno.ENOSYS)


def test_another_machine_has_no_filter():
    assert filter_program("sparc64") == b""
