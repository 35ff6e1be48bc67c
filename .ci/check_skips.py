"""Fails if a test was skipped that `allowed_skips.txt` does not name: a skip can hide a hole.

Tests that miss one of `PROGRAMS` may be skipped where make could not install it.

Usage: check_skips.py REPORT.xml ... (pytest's --junitxml files).
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PROGRAMS = {
    "redis": "redis-server is not installed",
    "bubblewrap": "needs bubblewrap",
    "zsh": "zsh is not installed",
    "chromium": "chromium is not installed",
    "smollm2": "smollm2 is not installed",
    "slurm": "slurm-wlm and munge are not installed",
    "netns": "network namespaces",
}
"""What tests say that miss something which make installs if it can."""


def main() -> int:
    allowed = {
        line.split("#")[0].strip()
        for line in (Path(__file__).parent / "allowed_skips.txt").read_text().splitlines()
        if line.split("#")[0].strip()
    }
    skipped = [
        (f"{case.get('classname')}::{case.get('name')}", case.find("skipped").get("message"))
        for report in sys.argv[1:]
        for case in ElementTree.parse(report).iter("testcase")
        if case.find("skipped") is not None
    ]
    excuses = tuple(why for program, why in PROGRAMS.items() if _cannot_be_had(program))
    unknown = [
        (name, why)
        for name, why in skipped
        if name.split("[")[0] not in allowed and not (why or "").startswith(excuses)
    ]
    for name, why in unknown:
        print(f"skipped, and not on .ci/allowed_skips.txt: {name}: {why}")
    print(f"{len(skipped)} skipped tests, {len(unknown)} of them unknown")
    return bool(unknown)


def _cannot_be_had(program: str) -> bool:
    """Whether make found no such program, and could not install it."""
    outcome = Path(__file__).parents[1] / ".venv" / f".{program}"
    return outcome.exists() and outcome.read_text().strip() != "there"


if __name__ == "__main__":
    sys.exit(main())
