"""Programs in processes of their own, which import what the tests do."""

import os
import subprocess
import sys

MAIN = ("-m", "dataenvgym.cli.main")


def environment():
    """The variables of such a process. Installed packages are not in them: programs with an
    environment of their own, which it may start, would import ours."""
    installed = (sys.prefix, sys.base_prefix)
    places = [p for p in sys.path if p and not p.startswith(installed)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


def python(*arguments, timeout=240, check=False, env=None, cwd=None):
    """Run Python with the arguments; its code, output and errors as text."""
    command = [sys.executable, *map(str, arguments)]
    options = {"timeout": timeout, "check": check, "env": env or environment(), "cwd": cwd}
    return subprocess.run(command, capture_output=True, text=True, **options)
