"""Bubblewrap's pool over many runs, and when its parts die."""

import gc
import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.sandbox import Limits, Sandbox, open_sandbox
from tests.sandbox.watching import once, processes_with
from tests.waiting import eventually

BOMB = "import os\nwhile True: os.fork()"
ROOT = Path(__file__).resolve().parents[2]

NASTY = [
    "assert 1 + 1 == 2",
    "print('x' * 3_000_000)",
    "import subprocess; subprocess.Popen(['sleep', '60'])",
    "import os\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  while True: pass",
    "open('/tmp/a', 'w').write('x' * 10_000); 1 / 0",
    "x = bytearray(8 * 2**30)",
    "import os; os.kill(os.getpid(), 11)",
]


def descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


class Fresh(NamedTuple):
    """A sandbox that was just opened, and the zygote in it."""

    box: Sandbox
    zygote: psutil.Process


@pytest.fixture
def fresh(bwrap):
    """Other sandboxes of the tests are open at the same time: this identifies one of them."""
    known = set(descendants())
    with open_sandbox() as box:
        yield Fresh(box, next(p for p in set(descendants()) - known if is_zygote(p)))


def is_zygote(process: psutil.Process) -> bool:
    """Whether its parent is bwrap's process 1; runs are forked from it and look like it."""
    try:
        parent = process.parent()
        return parent is not None and parent.name() == "bwrap" != process.name()
    except psutil.NoSuchProcess:  # an earlier run's, on its way out
        return False


def settled(count: int, *, within: float = 30.0) -> bool:
    """Whether by some moment we have no more than so many descendants."""
    return eventually(lambda: len(descendants()) <= count, seconds=within)


def is_burning(zygote: psutil.Process) -> bool:
    """Whether a run, forked from the zygote, has used the processor for a while."""
    try:
        return any(p.cpu_times().user > 0.2 for p in zygote.children(recursive=True))
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
def test_nothing_survives_runs_of_all_kinds(bwrap, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = len(descendants())
    mounts = Path("/proc/self/mounts").read_text()
    with open_sandbox() as box:
        at_rest = before + 5  # bwrap and its process 1, the zygote, a prepared run's two
        for i in range(80):
            box.run(NASTY[i % len(NASTY)] if i % 40 else BOMB, limits=Limits(seconds=2))
            if i == 20:
                descriptors = len(os.listdir("/proc/self/fd"))
        assert settled(at_rest)
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 8
        assert Path("/proc/self/mounts").read_text() == mounts
    assert settled(before, within=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_memory_stays_over_thousands_of_runs(fresh):
    for _ in range(500):
        fresh.box.run("assert 1 + 1 == 2")
    gc.collect()
    start = [process.memory_info().rss for process in (psutil.Process(), fresh.zygote)]
    for _ in range(2500):
        assert fresh.box.run("assert 1 + 1 == 2").status == "ok"
    gc.collect()
    end = [process.memory_info().rss for process in (psutil.Process(), fresh.zygote)]
    assert all((last - first) / 2500 < 1024 for first, last in zip(start, end, strict=True))


def test_a_worker_that_died_while_idle_is_replaced_in_silence(fresh):
    family = [fresh.zygote, *fresh.zygote.children(recursive=True)]
    fresh.zygote.kill()
    assert not psutil.wait_procs(family, timeout=30)[1]
    assert fresh.box.run("print(2)").stdout == b"2\n"


def test_a_worker_that_dies_during_a_run_is_an_error_of_the_sandbox(fresh):
    once(lambda: is_burning(fresh.zygote), fresh.zygote.kill)
    with pytest.raises(SandboxError, match="from outside"):
        fresh.box.run("while True: pass", limits=Limits(seconds=20))
    assert fresh.box.run("print(2)").stdout == b"2\n"


@pytest.mark.slow
def test_closing_ends_the_runs_in_flight(fresh):
    outer = fresh.zygote.parents()[1]
    family: list[psutil.Process] = []

    def close() -> None:
        family.extend([outer, *outer.children(recursive=True)])
        fresh.box.close()

    once(lambda: is_burning(fresh.zygote), close)
    with pytest.raises(SandboxError):
        fresh.box.run("while True: pass", limits=Limits(seconds=30))
    assert len(family) >= 3
    assert not psutil.wait_procs(family, timeout=10)[1]


def test_an_interrupt_ends_the_run(bwrap, gone):
    word = secrets.token_hex(8)
    with open_sandbox() as box:
        once(lambda: bool(processes_with(word)), lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            box.run(command=["env", f"W={word}", "sleep", "60"], limits=Limits(seconds=60))
        assert gone(word)
        assert box.run("print(2)").stdout == b"2\n"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_our_process(bwrap, gone, number):
    word = secrets.token_hex(8)
    script = f"""
import threading, time
from dataenvgym.sandbox import Limits, open_sandbox
boxes = []
def start():  # in a thread that ends, while its sandbox lives on
    boxes.append(open_sandbox())
thread = threading.Thread(target=start); thread.start(); thread.join()
print('up', flush=True)
boxes[0].run(command=['env', 'W={word}', 'sleep', '60'], limits=Limits(seconds=60))
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 3
    assert eventually(lambda: len(processes_with(word)) > 1)  # the script itself is one
    assert process.poll() is None
    process.send_signal(number)
    process.wait(30)
    process.stdout.close()
    assert gone(word)
    assert not psutil.wait_procs(family, timeout=30)[1]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_sandbox_whose_start_was_cut_off(bwrap, gone, number):
    word = secrets.token_hex(8)
    script = (
        "import time, dataenvgym.sandbox.bubblewrap as b\nprint('up', flush=True)\n"
        "b.BubblewrapSandbox()\ntime.sleep(9)"
    )
    for i in range(30):
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "WORD": word},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        time.sleep(0.0007 * i)  # another moment each time
        process.send_signal(number)
        process.wait(30)
        process.stdout.close()
    assert gone(word)


def test_a_fork_of_ours_does_not_use_the_sandbox(box):
    child = os.fork()
    if child == 0:
        try:
            box.run("1")
        except SandboxError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert box.run("print(2)").stdout == b"2\n"


def test_runs_with_other_limits_get_them(box):
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    for amount in (64, 32, 32, 64):
        result = box.run(code, limits=Limits(open_files=amount))
        assert result.text == f"({amount}, {amount})\n"


LIMITS_OF_SHELLS = ["-S -t 1", "-S -s 512", "-S -f 1", "-S -n 100", "-S -d 200000", "-S -i 10"]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["bubblewrap", "unsafe_local"])
def test_limits_of_the_users_shell_do_not_reach_a_run_or_are_named(bwrap, backend):
    script = f"""
import sys
from dataenvgym.errors import ConfigurationError
from dataenvgym.sandbox import open_sandbox
code = 'import os, resource as r, signal\\nprint([r.getrlimit(i) for i in range(16)], '
code += 'oct(os.umask(0)), signal.getsignal(1))'
try:
    with open_sandbox({backend!r}) as box: print(box.run(code).text)
except ConfigurationError as error: print(error)
"""

    def said(shell: str) -> str:
        command = f'{shell}; exec {sys.executable} -c "$0"'
        done = subprocess.run(
            ["bash", "-c", command, script], capture_output=True, text=True, cwd=ROOT
        )
        return done.stdout + done.stderr

    usual = said(":")
    assert "0o22" in usual
    if backend == "bubblewrap":
        assert said("umask 077; trap '' HUP") == usual
    assert said("; ".join(f"ulimit {setting}" for setting in LIMITS_OF_SHELLS)) == usual
    too_low = (("t", 90), ("s", 4096), ("f", 1000), ("n", 200))
    for letter, amount in too_low if backend == "bubblewrap" else too_low[:1]:
        assert f"`ulimit -H{letter}`" in said(f"ulimit -{letter} {amount}")


@pytest.mark.slow
def test_descriptors_that_one_run_has_on_their_way_do_not_stop_other_workers(bwrap):
    code = """
import socket, time
keep = []
try:
    while True:
        keep += socket.socketpair()
        socket.send_fds(keep[-1], [b'x'], [0] * 200)
except OSError as error: print(len(keep) > 8, flush=True)
time.sleep(0.7)
"""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 4096:
        pytest.skip("needs a hard limit of 4096 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    try:
        with open_sandbox() as one, open_sandbox() as other:
            limits = Limits(open_files=2048)
            said: list[str] = []
            many = threading.Thread(target=lambda: said.append(one.run(code, limits=limits).text))
            many.start()
            time.sleep(0.3)
            for _ in range(3):
                assert other.run("print(2)").stdout == b"2\n"
            many.join()
            assert said == ["True\n"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_packages_are_there_only_if_asked_for(bwrap):
    code = "import numpy; print(numpy.arange(4).sum())"
    limits = Limits(seconds=30)
    with open_sandbox() as plain, open_sandbox(packages=True) as rich:
        assert b"ModuleNotFoundError" in plain.run(code, limits=limits).stderr
        assert rich.run(code, limits=limits).stdout == b"6\n"
        assert b"OSError" in rich.run("import numpy; open(numpy.__file__, 'a')").stderr


def test_another_system_is_reported_at_once(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(ConfigurationError, match="unsafe_local"):
        open_sandbox()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
            r"uid map: Permission denied.*sysctl.*AppArmor"),
        ("exit 3", "it ended with status 3"),
    ],
)  # fmt: skip
def test_a_bwrap_that_cannot_make_a_sandbox_is_reported_at_once(
    tmp_path, monkeypatch, script, said
):
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ConfigurationError, match=said):
        open_sandbox()


@pytest.mark.parametrize("program", ["/bin/false", "/bin/true", "/nowhere/python"])
def test_an_interpreter_that_does_not_run_is_refused(bwrap, program):
    with pytest.raises(ConfigurationError, match=f"python is '{program}'"):
        open_sandbox(python=program)


def test_an_interrupt_from_the_terminal_does_not_reach_the_workers(fresh):
    bwrap = next(p for p in fresh.zygote.parents() if p.ppid() == os.getpid())
    assert os.getpgid(bwrap.pid) != os.getpgid(0)
    assert os.getsid(bwrap.pid) != os.getsid(0)


def ordinary_user_python() -> tuple[str, dict[str, str]]:
    """An interpreter that `nobody` can run these tests with, and its environment."""
    if os.getuid() != 0:
        pytest.skip("we are an ordinary user already: the other tests show it")
    packages = [p for p in sys.path if p.endswith("site-packages")]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": ":".join([str(ROOT), *packages]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for program in (sys.executable, shutil.which(version, path="/usr/local/bin:/usr/bin")):
        try:
            subprocess.run(
                [program or "", "-c", "import dataenvgym.sandbox, psutil, pytest"],
                user=65534,
                group=65534,
                extra_groups=[],
                env=environment,
                cwd="/",
                check=True,
                capture_output=True,
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return str(program), environment
    pytest.skip("needs an interpreter and a checkout that another user can read")


@pytest.mark.slow
def test_the_sandbox_also_works_as_an_ordinary_user(bwrap):
    program, environment = ordinary_user_python()
    tests = [
        str(ROOT / "tests/sandbox" / name)
        for name in ("test_bad_inputs.py", "test_kinds_of_memory.py")
    ]
    done = subprocess.run(
        [program, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not unsafe_local", *tests],
        user=65534,
        group=65534,
        extra_groups=[],
        env={**environment, "HOME": "/nonexistent", "TMPDIR": "/tmp"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.slow
def test_threads_that_share_workers_each_get_their_own_result(bwrap):
    wrong: list[str] = []
    programs = {**dict.fromkeys(range(0, 40, 4), "1 / 0"), 2: NASTY[2], 6: BOMB}

    def work(thread: int, box: Sandbox) -> None:
        for i in range(12):
            number = thread * 12 + i
            box.run(programs.get(number, "pass"), limits=Limits(open_files=64 + i % 2))
            if (text := box.run(f"print({number})").text) != f"{number}\n":
                wrong.append(f"{number}: {text!r}")

    with open_sandbox(workers=2) as box:
        threads = [threading.Thread(target=work, args=(n, box)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
