"""Every kind of memory that a run can take, each with an attack that must be stopped.

Whoever lets a new system call through adds the kinds of memory that it gives.
"""

import os

import pytest

from dataenvgym.sandbox import Limits

START = """
import ctypes, fcntl, mmap, os, socket, struct, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
X86 = os.uname().machine == 'x86_64'
def call(number, *arguments): return libc.syscall(number, *map(ctypes.c_ulong, arguments))
"""
TAKEN = {
    "pages of many processes": """
for _ in range(3): os.fork()
held = bytearray(b'x') * (40 * 2**20)
""",
    "pages of unreadable processes that wait as after vfork, without sharing memory": """
libc.prctl(4, 0)
held = mmap.mmap(-1, 30 * 2**20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for level in range(6):
    for page in range(0, len(held), mmap.PAGESIZE): held[page] = level
    if call(56 if X86 else 220, 0x4000 | 17, 0, 0, 0, 0): os._exit(0)
""",
    "pages taken while mappings make the look slow": """
at = libc.mmap(None, ctypes.c_size_t(60000 * 4096), 1, 0x22, -1, 0)
for i in range(0, 60000, 2): libc.mprotect(ctypes.c_void_p(at + i * 4096), ctypes.c_size_t(4096), 0)
shared = bytearray(b'x') * (25 * 2**20)
for _ in range(12):
    if os.fork() == 0: break
""",
    "pipes": """
for _ in range(8):
    if os.fork() == 0: break
keep = [os.pipe() for _ in range(100)]
""",
    "named pipes": """
for _ in range(8):
    if os.fork() == 0: break
keep, name = [], f'/tmp/{os.getpid()}'
for i in range(100):
    os.mkfifo(name); keep.append(os.open(name, os.O_RDWR)); os.unlink(name)
""",
    "sockets": """
for _ in range(6):
    if os.fork() == 0: break
keep = [socket.socketpair() for _ in range(100)]
""",
    "record locks": """
file, at = open('file', 'w'), 2**40
for i in range(100_000):
    fcntl.fcntl(file, fcntl.F_SETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, at - 2 * i, 1, 0))
""",
    "record locks of children that have the same files and end": """
file, at = open('file', 'w'), 2**40
for child in range(20):
    if (pid := call(56 if X86 else 220, 0x400 | 17, 0, 0, 0, 0)) == 0:
        for i in range(2000):
            lock = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, at - 2 * i - 10000 * child, 1, 0)
            fcntl.fcntl(file, fcntl.F_SETLK, lock)
        os._exit(0)
    os.waitpid(pid, 0)
""",
}
REFUSED = {
    "memory files": ("call(319 if X86 else 279, id(b'x'), 0)", "EPERM"),
    "secret memory files": ("call(447, 0)", "ENOSYS"),
    "shared memory": ("call(29 if X86 else 194, 0, 4096, 0o1600)", "EPERM"),
    "message queues": ("call(68 if X86 else 186, 0, 0o1600)", "EPERM"),
    "shared anonymous mappings": ("libc.mmap(None, 4096, 3, 0x21, -1, 0) and -1", "ENOMEM"),
    "Landlock's rules": ("call(444, 0, 0, 1)", "ENOSYS"),
    "keys": ("call(248 if X86 else 217, 0, 0, 0, 0, 0)", "EPERM"),
    "rings": ("call(425, 8, 0)", "EPERM"),
    "notifications": ("call(294 if X86 else 26, 0)", "ENOSYS"),
    "access lists of files": ("libc.setxattr(b'.', b'user.x', bytes(9), 9, 0)", "EOPNOTSUPP"),
    "files of a thread that its process does not show": ("call(436, 99, 99, 2)", "EINVAL"),
    "locks of open file descriptions": ("libc.fcntl(0, 37, bytes(32))", "EINVAL"),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_a_run_that_takes_more_than_its_limit_is_ended(box, kind):
    limits = Limits(seconds=5, memory=64 * 2**20)
    result = box.run(f"{START}{TAKEN[kind]}\ntime.sleep(9)", limits=limits)
    assert result.status in ("out_of_memory", "killed"), result
    assert box.run("print('healthy')").text == "healthy\n"


@pytest.mark.skipif(os.uname().machine not in ("x86_64", "aarch64"), reason="there is no filter")
@pytest.mark.parametrize("kind", REFUSED)
def test_memory_that_cannot_be_counted_is_not_given(box, kind):
    call, error = REFUSED[kind]
    code = f"{START}import errno\nprint({call}, errno.errorcode[ctypes.get_errno()])"
    assert box.run(code).text.split() == ["-1", error.replace("EOPNOTSUPP", "ENOTSUP")]


def test_ordinary_locks_and_many_threads_are_not_too_much(box):
    code = """
import sqlite3, threading, time
files = [open('file', 'w') for _ in range(120)]
threads = [threading.Thread(target=time.sleep, args=(0.3,)) for _ in range(25)]
for t in threads: t.start()
for i in range(5):
    db = sqlite3.connect(f'{i}.db'); db.execute('create table t (x)'); db.commit()
for t in threads: t.join()
print('done')
"""
    assert box.run(code, limits=Limits(seconds=20)).text == "done\n"
