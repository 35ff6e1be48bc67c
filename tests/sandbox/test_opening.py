"""`open_sandbox`, and the backend that docs/sandbox.md shows."""

import re
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.errors import ConfigurationError, SandboxError
from dataenvgym.sandbox import Limits, Sandbox, open_sandbox

from ..processes import python

ROOT = Path(__file__).resolve().parents[2]


def test_an_unknown_backend_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigurationError, match=r"no sandbox backend 'bublewrap'.*bubblewrap'\?"):
        open_sandbox("bublewrap")


def test_unsafe_local_is_never_taken_in_place_of_another(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    ways = r"backend='unsafe_local' \(in the configuration: task.sandbox=unsafe_local\)"
    with pytest.raises(ConfigurationError, match=ways):
        open_sandbox()


def test_workers_are_at_least_one():
    with pytest.raises(ConfigurationError, match="workers is 0"):
        open_sandbox("unsafe_local", workers=0)


def test_an_option_that_the_backend_does_not_have_is_refused():
    with pytest.raises(ConfigurationError, match=r"'unsafe_local'.*'packages'"):
        open_sandbox("unsafe_local", packages=True)


def test_importing_the_sandbox_loads_no_backend():
    code = "import sys, dataenvgym.sandbox; print([m for m in sys.modules if 'sandbox.' in m])"
    done = python("-c", code, check=True)
    assert "bubblewrap" not in done.stdout
    assert "unsafe_local" not in done.stdout


def test_the_backend_of_the_documentation_works():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/sandbox.md").read_text(), re.DOTALL)
    block = next(b for b in blocks if "class " in b)
    assert block.count("\n") <= 70, "a backend is a class of one screen"
    names: dict[str, Any] = {}
    exec(compile(block, "docs/sandbox.md", "exec"), names)
    with open_sandbox(names["LauncherSandbox"], workers=2, launcher=("env", "-u", "HOME")) as box:
        assert isinstance(box, Sandbox)
        code = "import sys, os, helper\nprint(sys.stdin.read(), helper.X, 'HOME' in os.environ)"
        result = box.run(code, stdin="in", files={"helper.py": "X = 7"})
        assert (result.status, result.stdout) == ("ok", b"in 7 False\n")
        assert box.run("raise SystemExit(3)").return_code == 3
        assert box.run("print(1)", files={"main.py": "print(2)"}).stdout == b"1\n"
        assert box.run("while True: pass", limits=Limits(seconds=0.5)).status == "timeout"
        assert box.run("print('x' * 9_000_000)").status == "output_limit"
    with (
        open_sandbox(names["LauncherSandbox"], launcher=("/nowhere/launcher",)) as box,
        pytest.raises(SandboxError, match="cannot be started"),
    ):
        box.run("1")
