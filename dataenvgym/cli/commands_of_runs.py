"""The arguments of commands that run episodes, or show them."""

from __future__ import annotations

import argparse

from dataenvgym.cli.options import RUN_HELP, AddCommand, add_comparison, add_overrides, add_runs_dir


def add_running(command: AddCommand) -> None:
    """Add `run`, `study` and `compare`."""
    run = command(
        "run",
        "run an episode: an agent teaches a student",
        epilog=(
            "examples:\n"
            "  dataenvgym run\n"
            "  dataenvgym run agent=open_ended episode.iterations=8 seed=1\n"
            "  dataenvgym run agent=my_module.MyAgent\n\n"
            "The same command resumes an interrupted run and shows the report of a finished\n"
            "one; with more iterations, it extends the run.\n"
            "`dataenvgym list` shows all options."
        ),
    )
    add_overrides(run)
    run.add_argument("--name", help="the run's folder, as name=NAME (default: made of its options)")
    run.add_argument("--fresh", action="store_true", help="start over: remove existing files")
    run.add_argument(
        "--dry",
        action="store_true",
        help="show what would run, with the first prompts of student and teacher; asks no model",
    )
    run.add_argument(
        "--prompts",
        type=_positive,
        metavar="N",
        help="with --dry: the first N prompts of the teacher, as the engine would send them "
        "(default: 1)",
    )
    run.add_argument("--plain", action="store_true", help="plain lines, no live display")

    study = command(
        "study",
        "compare strategies: each on the same tasks and seeds",
        epilog=(
            "examples:\n"
            '  dataenvgym study agent=random,open_ended,skill_list "seed=range(10)"\n'
            "  dataenvgym study agent=random,skill_list task=pocket_math seed=0,1,2 \\\n"
            '      --strategy "sharp: agent=skill_list agent.policy.sharpness=3"\n'
            "  dataenvgym study environment.replay=0,100 seed=0,1 executor=ray\n\n"
            "Keys with several values (a,b  choice(a,b)  range(10)  glob(*)) span the study:\n"
            "seed the seeds, task the tasks, all others the strategies. Every study also has\n"
            "a floor (no teaching) and a ceiling (gold data). The same command resumes an\n"
            "interrupted study; more seeds or strategies under the same name extend it."
        ),
    )
    add_overrides(study)
    study.add_argument(
        "--strategy",
        action="append",
        default=[],
        metavar="TEXT",
        help='one more strategy: "NAME: KEY=VALUE ..." (may be repeated)',
    )
    study.add_argument("--name", help="the study's folder (default: made of tasks and settings)")
    study.add_argument(
        "--workers", type=int, metavar="N", help="processes at once (default: cores)"
    )
    study.add_argument(
        "--studies-dir",
        default="studies",
        metavar="DIR",
        help="the folder of studies (default: studies)",
    )
    study.add_argument(
        "--no-bounds", dest="bounds", action="store_false", help="no floor and no ceiling"
    )
    study.add_argument("--plain", action="store_true", help="plain lines, no live display")
    add_comparison(study)

    compare = command(
        "compare",
        "compare existing runs, as a study does",
        epilog=(
            "example:\n"
            "  dataenvgym compare runs/pocket_math-* --baseline random --output comparison\n\n"
            "Runs that differ only in their seed are one strategy."
        ),
    )
    compare.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs, or names")
    add_runs_dir(compare)
    compare.add_argument("--output", metavar="DIR", help="write table, plot and numbers there")
    add_comparison(compare)


def add_inspecting(command: AddCommand) -> None:
    """Add `report`, `show` and `export`."""
    report = command("report", "show the report of a run")
    report.add_argument("run", nargs="?", metavar="RUN", help=RUN_HELP)
    add_runs_dir(report)

    show = command("show", "show a run's records and transcripts, before and after side by side")
    show.add_argument("run", nargs="?", metavar="RUN", help=RUN_HELP)
    add_runs_dir(show)
    show.add_argument(
        "--iteration",
        type=int,
        metavar="N",
        help="records and answers of iteration N (default: the best)",
    )
    show.add_argument("--skill", metavar="NAME", help="only this skill")
    show.add_argument("--wrong", action="store_true", help="only wrong answers, no records")
    show.add_argument(
        "--calls",
        action="store_true",
        help="instead, the teacher's prompts and answers (--wrong: only those without an answer)",
    )
    show.add_argument(
        "--limit", type=int, default=20, metavar="N", help="at most N of each (default: 20)"
    )

    export = command("export", "write a run's records as a Hugging Face dataset")
    export.add_argument("run", nargs="?", metavar="RUN", help=RUN_HELP)
    add_runs_dir(export)
    export.add_argument("--output", required=True, metavar="DIR", help="a new folder")
    export.add_argument("--adapter", action="store_true", help="the adapter, not the records")
    export.add_argument("--iteration", type=int, metavar="N", help="of the adapter")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it is {text!r}, expected a whole number, 1 or more")
    return int(text)
