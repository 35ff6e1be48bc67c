"""`open_sandbox`, and the backend of examples/code/own_sandbox.py."""

import runpy
from pathlib import Path

import pytest

from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.sandbox import Limits, Sandbox, open_sandbox
from tests.processes import python

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("backend", "options", "said"),
    [
        ("bublewrap", {}, "mean 'bubblewrap'"),
        ("unsafe_local", {"workers": 0}, "workers is 0"),
        ("unsafe_local", {"packages": True}, r"'unsafe_local'.*'packages'"),
        ("bubblewrap", {}, "apt-get install"),  # another one is never taken in its place
    ],
)
def test_a_sandbox_that_cannot_be_opened_is_refused_with_the_way_out(
    monkeypatch, backend, options, said
):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigurationError, match=said):
        open_sandbox(backend, **options)


def test_importing_the_sandbox_loads_no_backend():
    code = "import sys, dataenvgym.sandbox; print([m for m in sys.modules if 'sandbox.' in m])"
    done = python("-c", code, check=True)
    assert "bubblewrap" not in done.stdout
    assert "unsafe_local" not in done.stdout


def test_the_backend_of_the_example_works():
    example = ROOT / "examples" / "code" / "own_sandbox.py"
    names = runpy.run_path(str(example))
    with open_sandbox(names["LauncherSandbox"], workers=2, launcher=("env", "-u", "HOME")) as box:
        assert isinstance(box, Sandbox)
        code = "import sys, os, helper\nprint(sys.stdin.read(), helper.X, 'HOME' in os.environ)"
        result = box.run(code, stdin="in", files={"helper.py": "X = 7"})
        assert (result.status, result.stdout) == ("ok", b"in 7 False\n")
        assert box.run("raise SystemExit(3)").return_code == 3
        assert box.run("print(1)", files={"main.py": "print(2)"}).stdout == b"1\n"
        assert box.run("while True: pass", limits=Limits(seconds=0.5)).status == "timeout"
        assert box.run("print('x' * 9_000_000)").status == "output_limit"
    with pytest.raises(SandboxError, match="cannot be started"):
        open_sandbox(names["LauncherSandbox"], launcher=("/nowhere/launcher",))
