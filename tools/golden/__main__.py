"""Run the scripts with BASE and with this checkout, and print what differs.

`python -m tools.golden COMMIT --only math,study` runs two of them. The exit status is 1 if a value
differs.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.golden.facts import differences, values

TREE = Path(__file__).parents[2]
SCRIPTS = {path.stem: path for path in sorted((Path(__file__).parent / "scripts").glob("*.sh"))}
# The console script of the package that PYTHONPATH names first, wherever its function is.
COMMAND = """
from importlib.metadata import entry_points
import sys
[command] = entry_points(group="console_scripts", name="dataenvgym")
sys.argv[0] = "dataenvgym"
sys.exit(command.load()())
"""
SHOWN = 5  # differences of a fact in a script; the others are counted


class Version:
    """A version of the package, from its source: the scripts' command `dataenvgym` runs it.

    Args:
        source: a checkout.
        folder: an empty one for its metadata (entry points), the command, and the user's state.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        folder.mkdir(parents=True)
        metadata = ["setup.py", "--quiet", "egg_info", "--egg-base", str(folder)]
        subprocess.run([sys.executable, *metadata], cwd=source, check=True, capture_output=True)
        command = folder / "dataenvgym"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -c {shlex.quote(COMMAND)} "$@"\n')
        command.chmod(0o755)
        self.environment = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": f"{source}:{folder}",
            "XDG_STATE_HOME": str(folder / "state"),
            "OMP_NUM_THREADS": "1",
        }

    def run(self, script: str, folder: Path) -> float:
        """Run a script in a new folder; return the seconds. A command that fails ends it."""
        folder.mkdir(parents=True)
        started = time.monotonic()
        with (folder / "log.txt").open("w") as log:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", str(SCRIPTS[script])],
                cwd=folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        if done.returncode:
            end = "".join((folder / "log.txt").read_text().splitlines(keepends=True)[-20:])
            raise RuntimeError(f"{script} ended with {done.returncode} in {folder}:\n{end}")
        return time.monotonic() - started


def compare(base: Version, tree: Version, scripts: list[str], folder: Path) -> int:
    """Run the scripts, two at once; print the differences, and return their number."""
    found = Counter[str]()
    n_values = 0
    with ThreadPoolExecutor(2) as pool:
        runs = {
            script: [
                pool.submit(version.run, script, folder / side / script)
                for side, version in (("base", base), ("tree", tree))
            ]
            for script in scripts
        }
        for script, (old_run, new_run) in runs.items():
            seconds = old_run.result(), new_run.result()
            old, new = folder / "base" / script, folder / "tree" / script
            n_values += len(values(new))
            shown = Counter[str]()
            for one in differences(old, new):
                shown[one.fact] += 1
                if shown[one.fact] <= SHOWN:
                    print(f"{script}: {one.file}: {one.path}: {one.old} -> {one.new}")
            for fact, n in shown.items():
                if n > SHOWN:
                    print(f"{script}: {fact}: ... {n} differences")
            found[script] = shown.total()
            print(f"{script}: {seconds[0]:.0f} s, {seconds[1]:.0f} s", file=sys.stderr, flush=True)
    print(f"{len(scripts)} scripts, {n_values} values, {found.total()} differences")
    return found.total()


def main() -> int:
    """Compare with BASE, which is checked out into a temporary worktree."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.golden")
    parser.add_argument("base", nargs="?", default="HEAD", help="a commit (default: HEAD)")
    parser.add_argument("--only", default=",".join(SCRIPTS), help="scripts, with commas between")
    parser.add_argument("--keep", type=Path, help="leave what the scripts wrote in this new folder")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="golden-") as temporary:
        source = Path(temporary) / "source"
        git = ["git", "-C", str(TREE), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(source), options.base], check=True)
        try:
            base = Version(source, Path(temporary) / "base")
            tree = Version(TREE, Path(temporary) / "tree")
            folder = options.keep or Path(temporary) / "runs"
            return min(1, compare(base, tree, options.only.split(","), folder.absolute()))
        finally:
            subprocess.run([*git, "remove", "--force", str(source)], check=True)


if __name__ == "__main__":
    sys.exit(main())
