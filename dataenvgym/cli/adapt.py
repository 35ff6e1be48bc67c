"""`dataenvgym adapt`: compares ways to adapt a student to contexts."""

from __future__ import annotations

from argparse import Namespace

from dataenvgym.cli.console import quieten, showing_warnings
from dataenvgym.cli.study import wide_console


def adapt(arguments: Namespace) -> None:
    """Run the arms, and show their table."""
    quieten()
    from dataenvgym.adaptation.report import print_report
    from dataenvgym.adaptation.running import run_adaptation
    from dataenvgym.episodes.display import showing_progress

    console = wide_console(plain=arguments.plain)
    with showing_warnings(console), showing_progress(console, "the student adapts"):
        done = run_adaptation(
            arguments.overrides,
            config_dir=arguments.config_dir,
            continual=arguments.continual,
            fresh=arguments.fresh,
            retry_errors=arguments.retry_errors,
            on_begin=lambda folder: console.print(f"adaptation: {folder}", soft_wrap=True),
        )
    console.print()
    print_report(done.report, console)
    console.print(f"\n{done.directory / 'report.md'}", soft_wrap=True)
    if done.was_finished:
        console.print("This run was finished already: more seeds or arms extend it.")
