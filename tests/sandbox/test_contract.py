"""The contract of `Sandbox`, held by each backend."""

import signal
import threading
import time

import pytest

from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.sandbox import ExecutionResult, Limits, Sandbox, open_sandbox


def test_code_runs_as_main_in_an_empty_folder(any_box):
    code = "import os, sys\nprint(__name__, os.listdir('.'), len(sys.argv), end='')"
    result = any_box.run(code)
    assert result == ExecutionResult(
        status="ok",
        stdout=b"__main__ [] 1",
        return_code=0,
        seconds=result.seconds,
        memory=result.memory,
    )
    assert 0 < result.seconds < 3


def test_stdin_comes_whole_even_if_it_is_large(any_box):
    text = "line\n" * 400_000
    result = any_box.run("import sys; print(len(sys.stdin.read()))", stdin=text)
    assert result.stdout == b"2000000\n"


def test_large_output_and_large_stdin_do_not_lock_each_other(any_box):
    code = "import sys\nfor line in sys.stdin: print(line * 2, end='')"
    result = any_box.run(code, stdin="x" * 99 + "\n", limits=Limits(output=2**22))
    assert result.stdout == (b"x" * 99 + b"\n") * 2
    large = any_box.run(code, stdin=("x" * 99 + "\n") * 10_000, limits=Limits(output=2**22))
    assert len(large.stdout) == 2_000_000


def test_unread_stdin_does_no_harm(any_box):
    assert any_box.run("print(1)", stdin=b"\xff" * 2**20).stdout == b"1\n"


def test_files_exist_and_can_be_imported(any_box):
    files = {"helper.py": "VALUE = 42", "data/deep/in.txt": b"\xff\0"}
    code = "import helper\nprint(helper.VALUE, open('data/deep/in.txt', 'rb').read())"
    assert any_box.run(code, files=files).stdout == b"42 b'\\xff\\x00'\n"


def test_a_command_line_runs_in_the_same_folder(any_box):
    result = any_box.run(
        command=["bash", "-c", "cat; cat a.txt; echo trouble >&2; exit 4"],
        stdin="in ",
        files={"a.txt": "file"},
    )
    assert (result.status, result.return_code) == ("error", 4)
    assert (result.stdout, result.stderr) == (b"in file", b"trouble\n")


def test_a_command_that_is_not_there_ends_with_127(any_box):
    result = any_box.run(command=["no-such-program", "x"])
    assert (result.status, result.return_code) == ("error", 127)
    assert result.stderr.startswith(b"no-such-program: ")


def test_a_traceback_shows_the_programs_own_lines_and_nothing_of_ours(any_box):
    lines = any_box.run("def f():\n    return 1 / 0\n\nf()").stderr.decode().splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "    return 1 / 0" in lines
    assert sum("File " in line for line in lines) == 2


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print(open('/dev/stdin').read())", b"x\n"),
        ("import atexit; atexit.register(print, 'helpers exist'); exit(5)", b"helpers exist\n"),
        ("import sys; print(sys.getrecursionlimit())", b"1000\n"),
    ],
)
def test_the_interpreter_is_the_usual_one(any_box, code, said):
    result = any_box.run(code, stdin="x")
    assert (result.stdout, result.return_code) == (said, 5 if "exit(5)" in code else 0)


def test_random_numbers_differ_and_hashes_do_not(any_box):
    outputs = {any_box.run("import random; print(random.random())").stdout for _ in range(3)}
    hashes = {any_box.run("print(hash('text'))").stdout for _ in range(3)}
    assert (len(outputs), len(hashes)) == (3, 1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"code": "1", "command": ["ls"]},
        *({"command": words} for words in ([], "ls", ["ls", "a\0b"], ["ls", "\ud800"], [""], 5)),
        *(
            {"code": "1", "files": dict.fromkeys(paths, "")}
            for paths in (["a", "./a"], ["\ud800"], ["/etc/passwd"], ["a/../../x"], [""], ["a\0"])
        ),
        {"code": "1", "files": {"a": b"x" * 2**21}, "limits": Limits(disk=2**20)},
    ],
    ids=repr,
)
def test_an_impossible_request_is_refused_before_anything_runs(any_box, options):
    with pytest.raises(ConfigurationError, match=r"code|file"):
        any_box.run(**options)


@pytest.mark.parametrize("paths", [["a" * 300], ["a", "a/b"], [f"f{i}" for i in range(17_000)]])
def test_files_that_the_sandbox_cannot_hold_are_its_error_and_no_result(box, paths):
    with pytest.raises(SandboxError, match="could not begin"):
        box.run("1", files=dict.fromkeys(paths, ""))
    assert box.run("print(2)").text == "2\n"


@pytest.mark.parametrize("backend", ["bubblewrap", "unsafe_local"])
def test_a_closed_sandbox_runs_nothing(request, backend):
    if backend == "bubblewrap":
        request.getfixturevalue("bwrap")
    with open_sandbox(backend) as box:
        assert isinstance(box, Sandbox)
    box.close()  # again, without harm
    with pytest.raises(SandboxError, match="closed"):
        box.run("1")


@pytest.mark.slow
def test_runs_of_several_threads_go_on_at_the_same_time(bwrap):
    with open_sandbox(workers=3) as box:
        results: list[ExecutionResult] = []

        def run() -> None:
            results.append(box.run("import time; time.sleep(1)"))

        threads = [threading.Thread(target=run) for _ in range(6)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken = time.monotonic() - start
    assert [result.status for result in results] == ["ok"] * 6
    assert 2 <= taken < 6  # two rounds of three; one after the other they take 6 s and more


def test_a_host_that_dies_of_broken_pipes_does_not_die_of_a_run(any_box):
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        result = any_box.run("import os, time; os.close(0); time.sleep(0.3)", stdin="x" * 10**6)
    finally:
        signal.signal(signal.SIGPIPE, before)
    assert result.status == "ok"


def test_unsafe_local_counts_shared_memory_once():
    code = """
import os, time
x = bytearray(b'x') * (100 * 2**20)
for _ in range(7):
    if os.fork() == 0: break
time.sleep(0.5)
"""
    with open_sandbox("unsafe_local") as box:
        result = box.run(code, limits=Limits(memory=256 * 2**20, seconds=10))
    assert result.status == "ok"


def test_unsafe_local_refuses_if_the_end_of_a_run_cannot_be_observed():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with (
            open_sandbox("unsafe_local") as box,
            pytest.raises(SandboxError, match="ignores SIGCHLD"),
        ):
            box.run("raise SystemExit(3)")
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_unsafe_local_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_sandbox("unsafe_local") as box:
        assert box.run("open('x', 'w').close()", files={"y": ""}).status == "ok"
    assert list(tmp_path.iterdir()) == []
