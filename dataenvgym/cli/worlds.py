"""The arguments of the commands about worlds."""

from __future__ import annotations

from dataenvgym.cli.commands import AddCommand


def add_worlds(command: AddCommand) -> None:
    """Add `worlds`."""
    worlds = command(
        "worlds",
        "list the worlds of tool use, audit or synthesize worlds with their problems",
        epilog=(
            "examples:\n"
            "  dataenvgym worlds list\n"
            "  dataenvgym worlds audit                 all that come with the package\n"
            "  dataenvgym worlds audit my_module.MyWorld --tasks problems.jsonl\n"
            "  dataenvgym worlds synthesize library teacher=openai teacher.model=NAME \\\n"
            '      --theme "a library"\n'
            "  dataenvgym worlds audit library         a synthesized folder\n\n"
            "An audit checks for each problem that the gold calls earn the full reward in\n"
            "two runs; that doing nothing, changing one argument, and random calls earn 0;\n"
            "and that a broken verifier is noticed. It exits with 1 if a check fails."
        ),
    )
    worlds.add_argument("action", metavar="audit|list|synthesize", help="what to do")
    worlds.add_argument(
        "overrides",  # of this name, so that words after an option belong to it as well
        nargs="*",
        default=[],
        metavar="WORLD",
        help="a name, your class my_module.MyWorld, or the folder of a synthesized world "
        "(default: all that ship); for synthesize, a new folder, the options of a teacher, and "
        "policy=MODEL for tasks that this model can solve in 8 tries",
    )
    worlds.add_argument(
        "--tasks", metavar="FILE", help="a file of problems (default: the world's own)"
    )
    worlds.add_argument("--seed", type=int, default=0, metavar="N", help="of the random calls")
    worlds.add_argument("--theme", metavar="TEXT", help="what a synthesized world is about")
    worlds.add_argument(
        "-n", type=int, metavar="N", help="tasks that the teacher writes (default: 20)"
    )
    worlds.set_defaults(function="dataenvgym.cli.worlds_table:worlds")


def add_serve_world(command: AddCommand) -> None:
    """Add `serve-world`."""
    serve = command(
        "serve-world",
        "serve a world's tools to MCP clients, each session with its own state",
        epilog=(
            "examples:\n"
            "  dataenvgym serve-world shop\n"
            "  dataenvgym serve-world shop --transport http --port 8000\n"
            "  dataenvgym serve-world my_module.MyWorld --problems pay.jsonl --task pay-1\n\n"
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
        "--transport", choices=("stdio", "http"), default="stdio", help="of MCP (default: stdio)"
    )
    serve.add_argument("--host", default="127.0.0.1", help="of http (default: 127.0.0.1)")
    serve.add_argument(
        "--port", type=int, default=8000, help="of http; 0 takes a free one (default: 8000)"
    )
    serve.add_argument("--task", metavar="ID", help="begin in the state of this problem")
    serve.add_argument(
        "--problems", metavar="FILE", help="the file with that problem (default: the world's own)"
    )
    serve.add_argument(
        "--max-sessions",
        type=int,
        default=4096,
        metavar="N",
        help="the most sessions open at once (default: 4096)",
    )
    serve.add_argument(
        "--idle-timeout",
        type=float,
        default=1800.0,
        metavar="S",
        help="seconds without a request after which a session ends (default: 1800)",
    )
    serve.set_defaults(function="dataenvgym.cli.worlds_table:serve_world")
