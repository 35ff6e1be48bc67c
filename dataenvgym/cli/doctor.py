"""`dataenvgym doctor`: installed parts, missing ones, and the next command."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from dataenvgym.cli.console import open_console, quieten
from dataenvgym.cli.finding import Finding
from dataenvgym.cli.findings import examine, what_next
from dataenvgym.errors import ExternalError

if TYPE_CHECKING:
    from rich.console import Console

_MARKS = {"ok": ("ok", "green"), "missing": ("-", "dim"), "problem": ("PROBLEM", "bold red")}


def doctor(arguments: Namespace) -> None:
    """Show all findings.

    Raises:
        ExternalError: if the default episode cannot run.
    """
    quieten()
    console = open_console()
    with console.status("looking"):
        findings = list(examine(Path(arguments.runs_dir)))
    _show(findings, console)
    if problems := [finding.name for finding in findings if finding.state == "problem"]:
        raise ExternalError(f"the default episode cannot run: see {', '.join(problems)}")
    console.print("\nNext:")
    for command, what in what_next(findings):
        console.print(f"  {command}", soft_wrap=True, markup=False)
        console.print(f"      {what}", soft_wrap=True, markup=False, style="dim")


def _show(findings: list[Finding], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        mark, style = _MARKS[finding.state]
        text = Text(finding.text)
        if finding.way_out:
            text.append(f"\n{finding.way_out}", style="cyan")
        table.add_row(Text(mark, style=style), finding.name, text)
    console.print(table)
