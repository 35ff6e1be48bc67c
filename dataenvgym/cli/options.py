"""Options of several commands."""

from __future__ import annotations

import argparse
from typing import Protocol

RUN_HELP = "the run's folder, or its name in the folder of runs"


class AddCommand(Protocol):
    """Adds a command to the command line; returns its parser."""

    def __call__(self, name: str, help: str, epilog: str = "") -> argparse.ArgumentParser: ...


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Add overrides of the configuration, `KEY=VALUE ...`."""
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="changes to the configuration, such as agent=random or environment.replay=200",
    )
    parser.add_argument("--config-dir", metavar="DIR", help="a folder with your own YAML files")


def add_comparison(parser: argparse.ArgumentParser) -> None:
    """Add the options of comparisons: `--baseline` and others."""
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="the strategy that others are compared with (default: random, or the first one)",
    )
    parser.add_argument(
        "--test",
        choices=("t", "sign_flip"),
        help="the paired test (default: sign_flip for 20 seeds or fewer)",
    )
    parser.add_argument(
        "--allow-unequal",
        action="append",
        default=[],
        metavar="KEY",
        help="this key may differ between strategies; the table says so (may be repeated)",
    )


def add_trust(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--trust`: run the code that the folder of `what` names."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help=f"run all code that the {what}'s config.yaml names, not only dataenvgym's",
    )


def add_runs_dir(parser: argparse.ArgumentParser) -> None:
    """Add `--runs-dir`, the folder of runs."""
    parser.add_argument(
        "--runs-dir", default="runs", metavar="DIR", help="the folder of runs (default: runs)"
    )
