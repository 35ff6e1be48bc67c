"""The arguments of each command."""

from __future__ import annotations

import argparse
from importlib.metadata import entry_points

from dataenvgym.cli.commands_of_runs import add_inspecting, add_running
from dataenvgym.cli.commands_of_setup import add_options, add_programs
from dataenvgym.cli.options import AddCommand, add_overrides, add_trust


def add_commands(
    parser: argparse.ArgumentParser,
    parser_class: type[argparse.ArgumentParser],
    word: str | None = None,
) -> dict[str, argparse.ArgumentParser]:
    """Add all commands to the parser; return their parsers by name.

    Domains add commands by the entry points `dataenvgym.commands`: functions that take `command`.

    Args:
        word: the command that is called. The commands of domains are loaded only if it is not one
            of the others, because that takes time.
    """
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=parser_class)

    def command(name: str, help: str, epilog: str = "") -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument("--debug", action="store_true", help="show tracebacks")
        return sub

    add_running(command)
    _add_evaluations(command)
    add_inspecting(command)
    add_options(command)
    add_programs(command)
    if word not in commands.choices:
        for point in sorted(entry_points(group="dataenvgym.commands"), key=lambda p: p.name):
            point.load()(command)
    return dict(commands.choices)


def _add_evaluations(command: AddCommand) -> None:
    evaluate = command(
        "eval",
        "evaluate a student on a task, without training",
        epilog=(
            "examples:\n"
            "  dataenvgym eval task=pocket_math --split test\n"
            "  dataenvgym eval --run RUN            the best iteration of a run, on its task\n"
            "  dataenvgym eval --run RUN --iteration 2 task=gsm8k\n"
            "  dataenvgym eval task=pocket_math task.sampling.temperature=1.0 samples=10 \\\n"
            "      metrics=[pass@1,pass@5,pass^3,majority@5,pass@1[avg-of-10]]\n"
            "  dataenvgym eval task=pocket_math metrics=[accuracy,judge] teacher=openai \\\n"
            "      teacher.model=NAME judge.rubric='Is every step justified?'\n"
            "  dataenvgym eval task=social model=openai/NAME task.others.partner=openai/OTHER \\\n"
            "      task.others.judge=openai/JUDGE           two characters talk in each scene\n\n"
            "Every sample is written to the evaluation's folder (evaluations_dir=...). The\n"
            "same command resumes an interrupted evaluation and shows the table of a finished\n"
            "one; with more samples, it extends the evaluation."
        ),
    )
    add_overrides(evaluate)
    evaluate.add_argument(
        "--split",
        metavar="NAME",
        help="train, validation, test, or all: every problem of a task with a single file "
        "(default: all for such a task, unless the student was trained on it; else validation)",
    )
    source = evaluate.add_mutually_exclusive_group()
    source.add_argument("--adapter", metavar="DIR", help="an adapter for the student")
    source.add_argument("--run", metavar="RUN", help="a run whose student to take")
    evaluate.add_argument("--iteration", type=int, metavar="N", help="of the run (default: best)")
    evaluate.add_argument("--limit", type=int, metavar="N", help="only the first N problems")
    evaluate.add_argument(
        "--dry",
        action="store_true",
        help="show what would be asked, and the first prompt; ask nothing",
    )
    evaluate.add_argument("--output", metavar="FILE", help="write the transcripts there (.jsonl)")
    add_trust(evaluate, "run")
    again = evaluate.add_mutually_exclusive_group()
    again.add_argument("--fresh", action="store_true", help="start over: remove existing files")
    again.add_argument(
        "--retry-errors", action="store_true", help="draw samples whose infrastructure failed again"
    )

    rescore = command(
        "rescore",
        "judge the samples of an evaluation again, without asking the student",
        epilog=(
            "example:\n"
            "  dataenvgym rescore evaluations/pocket_math-validation-1a2b3c4d\n\n"
            "The student's messages are replayed in the current task. The new scores are\n"
            "written beside the old ones (rescored-001, ...), and the table shows changes."
        ),
    )
    rescore.add_argument(
        "evaluation", metavar="DIR", help="the evaluation's folder, or its name among evaluations"
    )
    rescore.add_argument(
        "overrides",
        nargs="*",
        default=[],  # so that argparse's messages call them optional, too
        metavar="KEY=VALUE",
        help="other metrics (metrics=[pass@2]), a judge (metrics=[judge] teacher=openai "
        "teacher.model=NAME judge.rubric=...), or changes to the task, such as task.threads=2",
    )
    add_trust(rescore, "evaluation")
    rescore.add_argument(
        "--evaluations-dir",
        default="evaluations",
        metavar="DIR",
        help="the folder of evaluations (default: evaluations)",
    )
