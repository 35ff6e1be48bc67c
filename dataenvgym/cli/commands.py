"""The arguments of each command."""

from __future__ import annotations

import argparse

_RUN_HELP = "the run's folder, or its name in the folder of runs"


def add_commands(
    parser: argparse.ArgumentParser, parser_class: type[argparse.ArgumentParser]
) -> dict[str, argparse.ArgumentParser]:
    """Give the parser all commands; their parsers by name."""
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

    run = command(
        "run",
        "run an episode: an agent teaches a student",
        epilog=(
            "examples:\n"
            "  dataenvgym run\n"
            "  dataenvgym run agent=open_ended episode.iterations=8 seed=1\n"
            "  dataenvgym run agent=my_module.MyAgent\n\n"
            "The same command resumes a run that was interrupted, shows the report of one\n"
            "that is finished, and extends it where it asks for more iterations.\n"
            "`dataenvgym list` shows what there is to choose from."
        ),
    )
    _add_overrides(run)
    run.add_argument("--fresh", action="store_true", help="start anew: remove what the run has")
    run.add_argument(
        "--dry",
        action="store_true",
        help="show what would run, with the first prompts of student and teacher; ask nobody",
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
            "  dataenvgym study agent=skill_list environment.replay=0,100 seed=0,1 executor=ray\n\n"
            "Keys with several values (a,b  choice(a,b)  range(10)  glob(*)) span the study: seed\n"
            "the seeds, task the tasks, all others the strategies. Every study also has a floor\n"
            "(no teaching) and a ceiling (gold data). The same command resumes a study that\n"
            "was interrupted; more seeds or strategies under the same name extend it."
        ),
    )
    _add_overrides(study)
    study.add_argument(
        "--strategy",
        action="append",
        default=[],
        metavar="TEXT",
        help='one more strategy: "NAME: KEY=VALUE ..." (may be repeated)',
    )
    study.add_argument("--name", help="the study's folder (default: made of tasks and settings)")
    study.add_argument("--workers", type=int, metavar="N", help="processes (default: cores)")
    study.add_argument("--studies-dir", default="studies", metavar="DIR", help="(default: studies)")
    study.add_argument(
        "--no-bounds", dest="bounds", action="store_false", help="no floor and no ceiling"
    )
    study.add_argument("--plain", action="store_true", help="plain lines, no live display")
    _add_comparison(study)

    compare = command(
        "compare",
        "compare runs that are there already, as a study does",
        epilog=(
            "example:\n"
            "  dataenvgym compare runs/pocket_math-* --baseline random --output comparison\n\n"
            "Runs that differ by seed alone are one strategy."
        ),
    )
    compare.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs, or names")
    _add_runs_dir(compare)
    compare.add_argument("--output", metavar="DIR", help="write table, plot and numbers there")
    _add_comparison(compare)

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
            "      teacher.model=NAME judge.rubric='Is every step justified?'\n\n"
            "Every sample is written to the evaluation's folder (evaluations_dir=...). The same\n"
            "command resumes an evaluation that was interrupted, shows the table of one that\n"
            "is finished, and extends it where it asks for more samples."
        ),
    )
    _add_overrides(evaluate)
    evaluate.add_argument(
        "--split",
        metavar="NAME",
        help="train, validation, test, or all: every problem of the one file that a task has "
        "(default: all where there is one, unless the student has learned from it; validation)",
    )
    source = evaluate.add_mutually_exclusive_group()
    source.add_argument("--adapter", metavar="DIR", help="an adapter for the student")
    source.add_argument("--run", metavar="RUN", help="a run whose student to take")
    evaluate.add_argument("--iteration", type=int, metavar="N", help="of the run (default: best)")
    evaluate.add_argument("--limit", type=int, metavar="N", help="only the first N problems")
    evaluate.add_argument("--output", metavar="FILE", help="write the transcripts there (.jsonl)")
    _add_trust(evaluate, "run")
    again = evaluate.add_mutually_exclusive_group()
    again.add_argument("--fresh", action="store_true", help="start anew: remove what is there")
    again.add_argument(
        "--retry-errors", action="store_true", help="draw samples whose infrastructure failed again"
    )

    rescore = command(
        "rescore",
        "judge the samples of an evaluation again, without asking the student",
        epilog=(
            "example:\n"
            "  dataenvgym rescore evaluations/pocket_math-validation-1a2b3c4d\n\n"
            "What the student said goes through the task of today. The new scores are written\n"
            "beside the old ones (rescored-001, ...), and the table shows what changed."
        ),
    )
    rescore.add_argument(
        "evaluation", metavar="DIR", help="the evaluation's folder, or its name among evaluations"
    )
    rescore.add_argument(
        "overrides",
        nargs="*",
        default=[],  # which makes them optional to argparse's messages, too
        metavar="KEY=VALUE",
        help="other metrics (metrics=[pass@2]), a judge (metrics=[judge] teacher=openai "
        "teacher.model=NAME judge.rubric=...), or changes to the task, such as task.threads=2",
    )
    _add_trust(rescore, "evaluation")
    rescore.add_argument(
        "--evaluations-dir",
        default="evaluations",
        metavar="DIR",
        help="the folder of evaluations (default: evaluations)",
    )

    report = command("report", "show how a run went")
    report.add_argument("run", metavar="RUN", help=_RUN_HELP)
    _add_runs_dir(report)

    show = command("show", "show a run's records and transcripts, before and after side by side")
    show.add_argument("run", metavar="RUN", help=_RUN_HELP)
    _add_runs_dir(show)
    show.add_argument("--iteration", type=int, metavar="N", help="(default: the best)")
    show.add_argument("--skill", metavar="NAME", help="only this skill")
    show.add_argument("--wrong", action="store_true", help="only what was answered wrong")
    show.add_argument(
        "--calls",
        action="store_true",
        help="instead, what the teacher was asked and answered (--wrong: what it did not answer)",
    )
    show.add_argument("--limit", type=int, default=20, metavar="N", help="(default: 20)")

    export = command("export", "write a run's records as a Hugging Face dataset")
    export.add_argument("run", metavar="RUN", help=_RUN_HELP)
    _add_runs_dir(export)
    export.add_argument("--output", required=True, metavar="DIR", help="a new folder")
    export.add_argument("--adapter", action="store_true", help="the adapter, not the records")
    export.add_argument("--iteration", type=int, metavar="N", help="of the adapter")

    listing = command("list", "list what there is to choose from")
    listing.add_argument("group", nargs="?", help="only this group, such as agent")
    listing.add_argument("--config-dir", metavar="DIR", help="a folder with your own YAML files")

    composed = command(
        "config",
        "print the configuration that overrides compose, with its comments",
        epilog=(
            "examples:\n"
            "  dataenvgym config\n"
            "  dataenvgym config agent=skill_tree trainer=llama_factory > mine.yaml\n\n"
            "A value that you must set is shown as ???."
        ),
    )
    _add_overrides(composed)
    composed.add_argument(
        "--resolve", action="store_true", help="values in place of references such as ${seed}"
    )

    worlds = command(
        "worlds",
        "list the worlds of tool use, or audit worlds with their problems",
        epilog=(
            "examples:\n"
            "  dataenvgym worlds list\n"
            "  dataenvgym worlds audit                 all that come with the package\n"
            "  dataenvgym worlds audit my_module.MyWorld --tasks problems.jsonl\n\n"
            "An audit checks for each problem that the gold calls earn the full reward,\n"
            "twice alike; that doing nothing, changing one argument, and random calls\n"
            "earn 0; and that a broken verifier is noticed. It exits with 1 if a check fails."
        ),
    )
    worlds.add_argument("action", metavar="audit|list", help="what to do")
    worlds.add_argument(
        "worlds",
        nargs="*",
        metavar="WORLD",
        help="a name, or your class my_module.MyWorld (default: all that ship)",
    )
    worlds.add_argument(
        "--tasks", metavar="FILE", help="a file of problems (default: the world's own)"
    )
    worlds.add_argument("--seed", type=int, default=0, metavar="N", help="of the random calls")

    external = command(
        "external",
        "install LLaMA-Factory or vLLM, each in a pinned environment of its own",
        epilog=(
            "examples:\n"
            "  dataenvgym external list\n"
            "  dataenvgym external install llamafactory\n"
            "  dataenvgym external install vllm --variant cuda\n\n"
            "They go into DATAENVGYM_CACHE (default: dataenvgym in XDG_CACHE_HOME or ~/.cache)."
        ),
    )
    external.add_argument("action", metavar="install|list", help="what to do")
    external.add_argument("name", nargs="?", metavar="NAME", help="llamafactory or vllm")
    external.add_argument(
        "--variant", metavar="cpu|cuda", help="(default: cuda where there is a driver for it)"
    )

    serve = command(
        "serve-world",
        "serve a world's tools to MCP clients, each session with a state of its own",
        epilog=(
            "examples:\n"
            "  dataenvgym serve-world shop\n"
            "  dataenvgym serve-world shop --transport http --port 8000\n"
            "  dataenvgym serve-world my_module.MyWorld --problems problems.jsonl --task pay-1\n\n"
            "Every session begins in the same state and changes only its own copy.\n"
            "Problems, gold calls and scores are never served.\n"
            "Needs the package mcp: pip install 'dataenvgym[mcp]'"
        ),
    )
    serve.add_argument(
        "world",
        metavar="WORLD",
        help="a name (see `dataenvgym worlds list`), or your class my_module.MyWorld",
    )
    serve.add_argument(
        "--transport", choices=("stdio", "http"), default="stdio", help="(default: stdio)"
    )
    serve.add_argument("--host", default="127.0.0.1", help="(default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: 8000)")
    serve.add_argument("--task", metavar="ID", help="begin in the state of this problem")
    serve.add_argument(
        "--problems", metavar="FILE", help="the file with that problem (default: the world's own)"
    )
    serve.add_argument(
        "--max-sessions",
        type=int,
        default=4096,
        metavar="N",
        help="that may be open at once (default: 4096)",
    )
    serve.add_argument(
        "--idle-timeout",
        type=float,
        default=1800.0,
        metavar="S",
        help="seconds without a request after which a session ends (default: 1800)",
    )

    doctor = command("doctor", "show what is there, what is missing, and what to run next")
    _add_runs_dir(doctor)
    return dict(commands.choices)


def _add_overrides(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="changes to the configuration, such as agent=random or environment.replay=200",
    )
    parser.add_argument("--config-dir", metavar="DIR", help="a folder with your own YAML files")


def _add_comparison(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--baseline", metavar="NAME", help="compared with (default: random, or the first one)"
    )
    parser.add_argument(
        "--test", choices=("t", "sign_flip"), help="(default: sign_flip for 20 seeds or fewer)"
    )
    parser.add_argument(
        "--allow-unequal",
        action="append",
        default=[],
        metavar="KEY",
        help="may differ between strategies; the table says so (may be repeated)",
    )


def _add_trust(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help=f"run whatever code the {what}'s config.yaml names, not dataenvgym's alone",
    )


def _add_runs_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs-dir", default="runs", metavar="DIR", help="the folder of runs (default: runs)"
    )
