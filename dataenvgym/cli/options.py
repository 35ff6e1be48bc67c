"""Options that several commands take."""

from __future__ import annotations

import argparse
from typing import Protocol

RUN_HELP = "the run's folder, or its name in the folder of runs"


class AddCommand(Protocol):
    """Adds a command to the command line; its parser."""

    def __call__(self, name: str, help: str, epilog: str = "") -> argparse.ArgumentParser: ...


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Overrides of the configuration, `KEY=VALUE ...`."""
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="changes to the configuration, such as agent=random or environment.replay=200",
    )
    parser.add_argument("--config-dir", metavar="DIR", help="a folder with your own YAML files")


def add_comparison(parser: argparse.ArgumentParser) -> None:
    """How strategies are compared: `--baseline` and others."""
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
    """`--trust`: run the code that the folder of `what` names."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help=f"run whatever code the {what}'s config.yaml names, not dataenvgym's alone",
    )


def add_runs_dir(parser: argparse.ArgumentParser) -> None:
    """`--runs-dir`: where runs are looked for."""
    parser.add_argument(
        "--runs-dir", default="runs", metavar="DIR", help="the folder of runs (default: runs)"
    )
