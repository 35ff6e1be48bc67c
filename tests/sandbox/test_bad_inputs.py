"""Known attacks of generated code, and their results in the sandbox."""

import os
import secrets
import socket
import threading
import time
from pathlib import Path

import pytest

from dataenvgym.sandbox import ExecutionResult, Limits, Status, open_sandbox

QUICK = Limits(seconds=0.5)

LOOP, FLOOD = ("timeout", None, 9), ("output_limit", None, 9)
FAILED = ("error", 1, None)
NO_SIGNALS = "import signal\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\n"
ENDINGS: dict[str, tuple[str | bytes, tuple[Status, int | None, int | None]]] = {
    "endless loop": ("while True: pass", LOOP),
    "ignores SIGINT and SIGTERM": (f"{NO_SIGNALS}while True: signal.pause()", LOOP),
    "swallows every exception": (
        "while True:\n try:\n  while True: pass\n except BaseException: pass", LOOP
    ),
    "50 MB of output": ("print('x' * 50_000_000)", FLOOD),
    "output without end": ("while True: print('x' * 1000)", FLOOD),
    "8 GB allocation": ("x = bytearray(8 * 2**30)", ("out_of_memory", 1, None)),
    # refused by the kernel or found by the supervisor, in either order
    "list without end": (
        "x = []\nwhile True: x.append(' ' * 100_000 + str(len(x)))", ("out_of_memory", None, None)
    ),
    "sys.exit(3)": ("import sys; sys.exit(3)", ("error", 3, None)),
    "1/0": ("1/0", FAILED),
    "os._exit(0)": ("import os; os._exit(0)", ("ok", 0, None)),
    "recursion": ("def f(): return f()\nf()", FAILED),
    "kills itself": ("import os; os.kill(os.getpid(), 9)", ("error", None, 9)),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", ("error", None, 11)),
    "bytes that are not UTF-8": (b"x = '\xff\xfe'", FAILED),
    "lone surrogate": ("x = '\udc80'", FAILED),
    "NUL bytes": ("x = 1\0", FAILED),
    "200 KB of source": ("x = 1\n" * 33_000 + "print(x)", ("ok", 0, None)),
    "nested too deep": ("x = " + "(" * 5000 + ")" * 5000, FAILED),
    "reads stdin that is empty": ("input()", FAILED),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDINGS)
def test_a_program_ends_as_it_should(any_box, name):
    code, (status, return_code, number) = ENDINGS[name]
    start = time.monotonic()
    result = any_box.run(code, limits=QUICK if status == "timeout" else Limits(seconds=10))
    assert result.status == status
    if name != "list without end":
        assert (result.return_code, result.signal) == (return_code, number)
    assert time.monotonic() - start < 9
    assert result.truncated == (status == "output_limit")
    assert len(result.stdout) + len(result.stderr) <= QUICK.output


def test_more_source_than_memory_is_the_programs_own_end(box):
    result = box.run(b"#" * (60 * 2**20), limits=Limits(memory=32 * 2**20))
    assert result.status == "out_of_memory"


def test_closed_streams_are_an_ordinary_end(any_box):
    code = "import os\nprint('x', flush=True)\nfor fd in range(3): os.close(fd)\nos._exit(0)"
    result = any_box.run(code)
    assert (result.status, result.stdout) == ("ok", b"x\n")


def test_output_before_a_timeout_is_kept(any_box):
    result = any_box.run("print('so far', flush=True)\nwhile True: pass", limits=Limits(seconds=1))
    assert (result.status, result.stdout) == ("timeout", b"so far\n")
    assert 1.0 <= result.seconds < 3.0


def test_output_may_be_any_bytes(any_box):
    result = any_box.run(r"import sys; sys.stdout.buffer.write(b'\xff\x00\xfe')")
    assert result.stdout == b"\xff\x00\xfe"
    assert result.text == "\N{REPLACEMENT CHARACTER}\0\N{REPLACEMENT CHARACTER}"


def test_output_is_cut_at_its_limit_over_both_streams(any_box):
    code = "import os\nfor _ in range(100): os.write(1, b'o' * 50); os.write(2, b'e' * 50)"
    result = any_box.run(code, limits=Limits(output=1000))
    assert result.status == "output_limit"
    assert len(result.stdout) + len(result.stderr) == 1000


def test_a_child_that_keeps_stdout_open_does_not_delay_the_run(any_box, gone):
    word = secrets.token_hex(8)
    code = f"import subprocess; subprocess.Popen(['sleep', '60'], env={{'W': '{word}'}}); print(1)"
    result = any_box.run(code)
    assert (result.status, result.stdout) == ("ok", b"1\n")
    assert result.seconds < 2
    assert gone(word)


def test_a_daemon_that_has_left_its_session_is_ended(box, gone):
    word = secrets.token_hex(8)
    code = f"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve('/bin/sleep', ['sleep', '60'], {{'W': '{word}'}})
    os._exit(0)
time.sleep(0.1)
"""
    assert box.run(code).status == "ok"
    assert gone(word)


BOMBS = {
    "fork": "import os\nwhile True: os.fork()",
    "fork that swallows errors": """
import os
while True:
    try: os.fork()
    except OSError: pass
""",
    "orphans": """
import os, time
while True:
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
""",
    "threads": """
import _thread, time
_thread.stack_size(32768)
while True:
    try: _thread.start_new_thread(time.sleep, (60,))
    except RuntimeError: pass  # the bound of its pid namespace
""",
    "shell": "import os; os.execlp('bash', 'bash', '-c', 'f() { f | f; }; f')",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_ended_and_the_next_run_is_healthy(box, name):
    result = box.run(BOMBS[name], limits=Limits(seconds=3, processes=32))
    if name in ("fork", "orphans") and result.return_code == 1:
        # On a busy machine, the kernel's bound of pids may come first; then its own fork fails.
        assert result.status == "killed" or b"BlockingIOError" in result.stderr
    else:
        assert (result.status, result.signal) == ("killed", 9)
    start = time.monotonic()
    assert box.run("print('healthy')").stdout == b"healthy\n"
    assert time.monotonic() - start < 2


@pytest.mark.slow
@pytest.mark.skipif(
    tuple(map(int, os.uname().release.split(".")[:2])) < (6, 14),
    reason="before Linux 6.14 pid namespaces have no bound of their own",
)
def test_pids_are_few_so_that_a_bomb_stays_small_until_it_is_seen(box):
    before = Path("/proc/sys/kernel/pid_max").read_text()
    code = """
import os
largest = 0
for _ in range(600):
    child = os.fork()
    if child == 0: os._exit(0)
    os.waitpid(child, 0)
    largest = max(largest, child)
print(largest < 450)
"""
    assert box.run(code, limits=Limits(seconds=20, processes=8)).text == "True\n"
    assert Path("/proc/sys/kernel/pid_max").read_text() == before


def test_processes_up_to_the_limit_are_free(box):
    code = """
import os, time
read, write = os.pipe()
for _ in range(7):
    if os.fork() == 0:
        os.close(write); os.read(read, 1); os._exit(0)
time.sleep(0.7)  # all of them are there, also for a sandbox that can look only now and then
os.close(write)
for _ in range(7): os.wait()
"""
    assert box.run(code, limits=Limits(processes=8)).status == "ok"
    assert box.run(code, limits=Limits(processes=7)).status == "killed"


@pytest.mark.slow
def test_memory_is_not_counted_twice_while_threads_start_programs(box):
    code = """
import subprocess, threading
x = bytearray(b'x') * (300 * 2**20)
def work():
    for _ in range(30): subprocess.run(['true'])
threads = [threading.Thread(target=work) for _ in range(2)]
work()
for t in threads: t.start()
for t in threads: t.join()
print('done')
"""
    result = box.run(code, limits=Limits(seconds=30, memory=400 * 2**20))
    assert (result.status, result.text) == ("ok", "done\n")
    assert result.memory < 400 * 2**20


def test_memory_of_a_process_whose_first_thread_has_ended_counts_too(box):
    code = """
import ctypes, os, threading, time
EXIT = 60 if os.uname().machine == 'x86_64' else 93
libc = ctypes.CDLL(None)
def work():
    time.sleep(0.3)
    held = bytearray(b'x') * (60 * 2**20)
    time.sleep(10)
for _ in range(6):
    if os.fork() == 0:
        threading.Thread(target=work).start()
        libc.syscall(EXIT, 0)
time.sleep(10)
"""
    result = box.run(code, limits=Limits(seconds=8, memory=128 * 2**20))
    assert result.status == "out_of_memory"
    assert result.memory > 128 * 2**20


def test_messages_count_whose_senders_have_closed_their_sockets(box):
    code = """
import socket, time
keep = []
for i in range(200):
    keep.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    keep[-1].bind(chr(0) + str(i))
    for _ in range(10):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            try: sender.sendto(bytes(150_000), keep[-1].getsockname())
            except BlockingIOError: pass
time.sleep(5)
"""
    result = box.run(code, limits=Limits(seconds=5, memory=64 * 2**20))
    assert (result.status, result.memory > 64 * 2**20) == ("out_of_memory", True)


@pytest.mark.skipif(
    tuple(map(int, os.uname().release.split(".")[:2])) < (6, 2),
    reason="before Linux 6.2 the number of open files is not to be had at a glance",
)
def test_pipes_are_few_enough_for_other_runs_to_have_theirs(box):
    """The kernel grants the memory of pipes to a user; beyond 1,024 pipes, new ones are small."""
    code = """
import ctypes, os, time
{hide}
for _ in range(8):
    keep = [os.pipe() for _ in range({pipes})]
    if os.fork() == 0:
        time.sleep(0.5); os._exit(0)
    for pipe in keep: os.close(pipe[0]); os.close(pipe[1])
while True:
    try: os.wait()
    except ChildProcessError: break
"""
    hide = "ctypes.CDLL(None).prctl(4, 0)"  # not dumpable, so that an ordinary user cannot look
    assert box.run(code.format(pipes=20, hide="")).status == "ok"
    for hidden in ("", hide):
        assert box.run(code.format(pipes=100, hide=hidden)).status == "killed"


def test_a_full_disk_is_the_programs_own_error(box):
    code = """
try:
    for folder in ('/sandbox/work', '/tmp', '/dev/shm'):
        with open(folder + '/big', 'wb') as file:
            for _ in range(64): file.write(bytes(2**20))
except OSError as error: print(error.strerror)
"""
    result = box.run(code, limits=Limits(disk=8 * 2**20))
    assert result.stdout == b"No space left on device\n"
    assert box.run("import os; print(os.listdir('.'), os.listdir('/tmp'))").stdout == b"[] []\n"


def test_open_files_are_bounded(any_box):
    code = """
files = []
try:
    for i in range(10_000): files.append(open(f'f{i}', 'w'))
except OSError as error: print(error.strerror, len(files) < 256)
"""
    assert any_box.run(code).stdout == b"Too many open files True\n"


@pytest.mark.parametrize("backend", ["bubblewrap", "unsafe_local"])
def test_no_variable_of_ours_is_in_its_environment(bwrap, monkeypatch, backend):
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    with open_sandbox(backend) as box:
        result = box.run(command=["sh", "-c", "env; cat /proc/self/environ /proc/1/environ"])
    assert b"PATH=" in result.stdout
    assert b"s3cret" not in result.stdout + result.stderr


HIDDEN = ["/etc/shadow", "/etc/hostname", "/etc/ssh", "/var", "/srv", "/sys", "/proc/kcore",
          "/proc/meminfo", "/proc/sys/kernel/core_pattern", "/dev/mem", "/dev/vda", "/dev/kvm",
          str(Path.home() / ".bashrc"), str(Path.home() / ".ssh"), str(Path(__file__).resolve()),
          str(Path(__file__).resolve().parents[2] / "README.md")]  # fmt: skip


@pytest.mark.parametrize("path", HIDDEN)
def test_files_outside_of_the_sandbox_do_not_exist(box, path):
    code = f"import os\nprint(os.path.lexists({path!r}))\nopen({path!r}).read()"
    result = box.run(code)
    assert (result.status, result.stdout) == ("error", b"False\n")
    assert b"FileNotFoundError" in result.stderr


PLACES = ["/", "/usr", "/etc", "/dev", "/run", "/proc", "/sandbox",
          "/run/inside/zygote.py", "/bin/sh"]  # fmt: skip


@pytest.mark.parametrize("path", PLACES)
def test_nothing_outside_its_folders_can_be_written(box, path):
    code = f"""
import os
path = {path!r}
try: open(os.path.join(path, 'mine') if os.path.isdir(path) else path, 'a')
except OSError as error: print(type(error).__name__)
"""
    assert box.run(code).text in ("OSError\n", "PermissionError\n", "FileNotFoundError\n")


def test_devices_are_used_and_not_changed(box):
    code = """
import os
done = []
names = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts', 'pts/ptmx']
for path in ['/dev/' + name for name in names]:
    for change in (
        lambda: os.chmod(path, os.stat(path).st_mode),
        lambda: os.utime(path, ns=(0, 7)),
        lambda: os.chown(path, -1, -1),
    ):
        try: done.append((path, change()))
        except OSError: pass
with open('/dev/null', 'r+b', buffering=0) as null: null.write(b'gone')
print(done, len(os.urandom(8)), len(open('/dev/random', 'rb', buffering=0).read(8)))
"""
    before = [os.stat(f"/dev/{name}").st_mtime_ns for name in ("null", "full")]
    assert box.run(code).stdout == b"[] 8 8\n"
    assert [os.stat(f"/dev/{name}").st_mtime_ns for name in ("null", "full")] == before


def test_a_run_finds_nothing_of_the_one_before(box):
    code = """
import os
places = ['/sandbox/work', '/tmp', '/dev/shm', '/sandbox/code']
found = [os.path.join(p, n) for p in places for n in os.listdir(p)]
print(found)
for place in places:
    with open(place + '/left', 'w') as file: file.write('secret of this run')
"""
    for _ in range(3):
        assert box.run(code).stdout == b"['/sandbox/code/main.py']\n"


def test_runs_at_the_same_time_do_not_see_each_other(bwrap):
    code = """
import os, time
open('/tmp/mine', 'w').close(); open('mine', 'w').close()
time.sleep(0.3)
print(sorted(p for p in os.listdir('/proc') if p.isdigit()), os.listdir('/tmp'))
"""
    results: list[ExecutionResult] = []
    with open_sandbox(workers=2) as box:
        threads = [threading.Thread(target=lambda: results.append(box.run(code))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [result.stdout for result in results] == [b"['1', '2'] ['mine']\n"] * 2


def test_there_is_no_network(box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import socket
for address in [('127.0.0.1', {port}), ('192.0.2.1', 80), ('8.8.8.8', 53)]:
    try: print(socket.create_connection(address, timeout=1))
    except OSError as error: print(error.errno)
for family in (socket.AF_VSOCK, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_ALG):
    try: print(socket.socket(family, socket.SOCK_RAW))
    except OSError as error: print(error.errno)
"""
        assert box.run(code).stdout.split() == [b"111", b"101", b"101"] + [b"97"] * 4


def test_a_run_finds_nothing_of_the_network_of_the_one_before(box):
    server = """
import socket
s = socket.socket(); s.bind(('localhost', 8000)); s.listen()
c = socket.create_connection(('127.0.0.1', 8000)); d, _ = s.accept()
d.sendall(b'x' * 1000); d.close()
while c.recv(1 << 16): pass
c.close(); s.close(); print('served')
"""
    for _ in range(3):  # which ends with the port in use, for a while, in its own network alone
        assert box.run(server).text == "served\n"
    traffic = box.run("print(open('/proc/self/net/dev').read().split('lo:')[1].split()[0])")
    assert traffic.text == "0\n"


USES_OF_THE_NETWORK = {
    "packets": "socket.socket(2, 2).sendto(b'x', ('127.0.0.1', 9))",
    "routes of UDP, without packets": """
for port in range(1, 4243): socket.socket(10, 2).connect(('::1', port))
for last in range(1, 200): socket.socket(2, 2).connect((f'127.0.0.{last}', 9))
""",
    "refused connections": "socket.socket().connect_ex(('127.0.0.1', 9))",
    "servers": """
keep = [socket.socket() for _ in range(100)]
for i, s in enumerate(keep): s.bind(('127.0.0.1', 2000 + i)); s.listen()
""",
    "groups": """
keep = [socket.socket(2, 2) for i in range(20)]
for i, s in enumerate(keep):
    s.setsockopt(0, 35, socket.inet_aton(f'224.1.2.{i}') + socket.inet_aton('127.0.0.1'))
""",
    "groups of IPv6": """
s = socket.socket(10, 2)
for i in range(50):
    s.setsockopt(41, 20, socket.inet_pton(10, f'ff02::{i + 100:x}') + struct.pack('I', 1))
""",
    "descriptors in flight in a circle": """
for i in range(60):
    a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [a.fileno(), b.fileno()])
""",
    "full sockets whose process is killed": """
keep = [socket.socketpair() for _ in range(14)]
for a, _ in keep:
    a.setblocking(False)
    try:
        while True: a.send(bytes(4096))
    except BlockingIOError: pass
os.kill(os.getpid(), 9)
""",
}


@pytest.mark.parametrize("use", USES_OF_THE_NETWORK)
def test_no_file_of_the_network_shows_an_earlier_run(box, use):
    """Runs use two networks in turn, so the run after next would see what was left."""
    of_the_machine = ["softnet_stat", "netlink", "ptype", "unix", "protocols", "packet", "sockstat"]
    look = f"""
import os
for folder, _, names in sorted(os.walk('/proc/self/net/')):
    for name in sorted(names):
        if folder.endswith('/stat') or name in {of_the_machine!r}: continue
        try: print(name, open(folder + '/' + name, 'rb').read(200000))
        except OSError as error: print(name, error)
"""
    before = {line for _ in range(3) for line in box.run(look).text.splitlines()}
    box.run("import os, socket, struct\n" + USES_OF_THE_NETWORK[use])
    after = {line for _ in range(4) for line in box.run(look).text.splitlines()}
    assert after - before == set()


def test_an_abstract_socket_of_the_host_is_not_there(box):
    name = "\0dataenvgym-test-" + secrets.token_hex(8)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})"
        assert b"ConnectionRefusedError" in box.run(code).stderr


SAID = {
    "memory for oneself and mapped files are to be had": (
        """
import mmap, multiprocessing
own = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
own[:2] = b'ok'
with open('file', 'wb+') as file:
    file.truncate(4096)
    mapped = mmap.mmap(file.fileno(), 4096)
    mapped[:3] = b'too'
value = multiprocessing.Value('i', 3)
print(own[:2], mapped[:3], value.value, len(open('/dev/zero', 'rb').read(9)))
""",
        "b'ok' b'too' 3 9\n",
    ),
    "a socket holds little": (
        """
import errno, os, socket
def filled(a, b):
    for s in (a, b):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * 2**20)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 2**20)
        s.setblocking(False)
    sent = 0
    try:
        while sent < 2**26: sent += a.send(bytes(65536))
    except BlockingIOError: pass
    return sent < 2 * 2**18
with socket.create_server(('127.0.0.1', 0)) as server:
    client = socket.create_connection(server.getsockname())
    print(filled(client, server.accept()[0]), filled(*socket.socketpair()))
with open('file', 'wb+') as file:
    file.write(bytes(4096))
    for move in (
        lambda: os.sendfile(client.fileno(), file.fileno(), 0, 1),
        lambda: os.splice(file.fileno(), os.pipe()[1], 1, 0),
    ):
        try: move()
        except OSError as error: print(errno.errorcode[error.errno])
""",
        "True True\nEINVAL\nEINVAL\n",
    ),
    "tracing and reading other processes is refused": (
        """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if child == 0:
    import time; time.sleep(5); os._exit(0)
for pid in (1, child):
    print(libc.ptrace(16, pid, 0, 0), ctypes.get_errno())
buffer = ctypes.create_string_buffer(16)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
print(libc.process_vm_readv(child, vector, 1, vector, 1, 0), ctypes.get_errno())
try: open('/proc/1/mem', 'rb')
except PermissionError: print('refused')
try: os.readlink('/proc/1/cwd')
except PermissionError: print('refused')
""",
        "-1 1\n" * 3 + "refused\n" * 2,
    ),
    "timers and pending signals are bounded far below the hosts number": (
        """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
create, setup = {'x86_64': (222, 206)}.get(os.uname().machine, (107, 0))
timer, count = ctypes.c_int(), 0
while count < 5000 and libc.syscall(create, 1, None, ctypes.byref(timer)) == 0: count += 1
print(100 < count < 2000, errno.errorcode[ctypes.get_errno()])
print(libc.syscall(setup, 1, ctypes.byref(ctypes.c_long())), errno.errorcode[ctypes.get_errno()])
""",
        "True EAGAIN\n-1 ENOSYS\n",
    ),
    "signals do not reach processes outside": (
        f"""
import os, signal
for number in (2, 15, 9, 10):
    os.kill(1, number)
for pid in (os.getppid(), 0, {os.getpid()}, {os.getppid()}):
    if pid > 1:
        try: os.kill(pid, 9)
        except ProcessLookupError: print('nobody')
signal.signal(15, signal.SIG_IGN)
try: os.kill(-1, 15)
except ProcessLookupError: pass
print('still here')
""",
        "nobody\nnobody\nstill here\n",
    ),
    "process 1 of a run cannot be slowed down": (
        """
import os, resource
if os.getsid(0) != os.getpid(): print('the processor is shared with what ends the run')
for f, *arguments in (
    (os.sched_setaffinity, 1, {0}),
    (os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0)),
    (os.setpriority, os.PRIO_PROCESS, 1, 19),
    (os.setpriority, os.PRIO_USER, 0, 19),
    (resource.prlimit, 1, resource.RLIMIT_CPU, (1, 1)),
):
    try: f(*arguments)
    except PermissionError: print('no')
os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1)
resource.prlimit(0, resource.RLIMIT_CPU, (9, 9))
print('of its own, yes')
""",
        "no\n" * 5 + "of its own, yes\n",
    ),
    "it holds no descriptor but its streams": (
        """
import os
def there(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
print([fd for fd in range(4096) if there(fd)])
""",
        "[0, 1, 2]\n",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_run_may_do_and_may_not(box, name):
    code, said = SAID[name]
    assert box.run(code, limits=Limits(seconds=20)).text == said


CALLS = {
    "unshare": "libc.unshare(0x10000000)",
    "mount": "libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None)",
    "umount": "libc.umount2(b'/proc', 2)",
    "chroot": "libc.chroot(b'/tmp')",
    "setns": "libc.setns(0, 0)",
    "keyctl": "libc.syscall({'x86_64': 250}.get(os.uname().machine, 219), 0, -3, 0)",
    "bpf": "libc.syscall({'x86_64': 321}.get(os.uname().machine, 280), 0, 0, 0)",
    "io_uring": "libc.syscall(425, 1, 0)",
    "userfaultfd": "libc.syscall({'x86_64': 323}.get(os.uname().machine, 282), 1)",
    "perf": "libc.syscall({'x86_64': 298}.get(os.uname().machine, 241), 0, 0, -1, -1, 0)",
    "clone into a user namespace": (
        "libc.syscall({'x86_64': 56}.get(os.uname().machine, 220), 0x10000011, 0, 0, 0, 0)"
    ),
    "sethostname": "libc.sethostname(b'x', 1)",
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_have_broken_sandboxes_are_refused(box, name):
    code = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    code += f"print({CALLS[name]}, ctypes.get_errno())"
    assert box.run(code).stdout == b"-1 1\n"


def test_pseudo_terminals_are_a_runs_own_and_bounded(box):
    code = """
import os
print(os.stat('/dev/pts/ptmx').st_mtime_ns, os.listdir('/dev/pts'))
count = 0
try:
    while count < 100: os.write(os.openpty()[1], b'x'); count += 1
except OSError: pass
print(count)
"""
    runs = [box.run(code).text.splitlines() for _ in range(4)]
    assert len({run[0] for run in runs}) > 1  # a clock of some ms
    first = runs[0]
    assert [first[0].partition(" ")[2], first[1]] == ["['ptmx']", "64"]


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.kill(0, 9)",
        "import os; os.kill(0, 19)",
        "import os, signal; signal.signal(15, signal.SIG_IGN); os.killpg(os.getpgrp(), 15)",
        "import os; os.setpriority(os.PRIO_PGRP, 0, 19)",
        "import os; os.setpriority(os.PRIO_USER, 0, 19)",
    ],
)
def test_changes_to_the_process_group_do_not_reach_later_runs(box, code):
    patient = Limits(seconds=60)
    usual = box.run("import os; print(os.nice(0))", limits=patient).stdout
    for _ in range(2):
        box.run(code, limits=QUICK)
        after = box.run("import os; print(os.nice(0))", limits=patient)
        assert (after.status, after.stdout) == ("ok", usual)


def test_it_is_not_root_and_has_no_capabilities(box):
    code = """
import os
print(os.getuid(), os.geteuid(), os.getgroups())
status = dict(l.split(':', 1) for l in open('/proc/self/status'))
print(*(status[n].strip() for n in ('CapEff', 'CapPrm', 'CapInh', 'CapAmb', 'NoNewPrivs')))
try: os.setuid(0)
except OSError: print('refused')
"""
    zero = "0" * 16
    lines = box.run(code).text.splitlines()
    assert lines[0].startswith("1000 1000 ")
    assert lines[1:] == [f"{zero} {zero} {zero} {zero} 1", "refused"]


PATCHES = {
    "sys.exit": "import sys\nsys.exit = lambda *a: None\nassert False",
    "os._exit": "import os\nos._exit = lambda *a: None\nassert False",
    "excepthook": "import sys\nsys.excepthook = lambda *a: None\nassert False",
    "AssertionError": "import builtins\nbuiltins.AssertionError = SystemExit\nraise ValueError",
    "exec": "import builtins\nbuiltins.exec = builtins.compile = None\nassert False",
}


@pytest.mark.parametrize("name", PATCHES)
def test_patches_do_not_turn_a_failure_into_success(box, name):
    result = box.run(PATCHES[name])
    assert (result.status, result.return_code) == ("error", 1)
    assert box.run("assert 1 + 1 == 2").status == "ok"  # and are gone with their run


def test_a_forged_report_is_nothing_but_output(box):
    code = r"""
import os
for fd in range(3, 64):
    try: os.write(fd, b'D' + bytes(12))
    except OSError: pass
print('{"status": "ok", "return_code": 0}', flush=True)
os._exit(1)
"""
    result = box.run(code)
    assert (result.status, result.return_code) == ("error", 1)
