"""The arguments of commands about options, worlds, other programs and this machine."""

from __future__ import annotations

from dataenvgym.cli.options import AddCommand, add_overrides, add_runs_dir


def add_options(command: AddCommand) -> None:
    """Add `list`, `config` and `new`."""
    listing = command("list", "list the options to choose from")
    listing.add_argument("group", nargs="?", help="only this group, such as agent")
    listing.add_argument("--config-dir", metavar="DIR", help="a folder with your own YAML files")

    composed = command(
        "config",
        "print the configuration with overrides applied, and its comments",
        epilog=(
            "examples:\n"
            "  dataenvgym config\n"
            "  dataenvgym config agent=skill_tree trainer=llama_factory > mine.yaml\n\n"
            "A value that you must set is shown as ???."
        ),
    )
    add_overrides(composed)
    composed.add_argument(
        "--resolve", action="store_true", help="values in place of references such as ${seed}"
    )

    new = command(
        "new",
        "write a new agent, task or domain to begin with",
        epilog=(
            "examples:\n"
            "  dataenvgym new agent weak_skills\n"
            "  dataenvgym new task even_or_odd\n"
            "  dataenvgym new domain sums\n\n"
            "An agent writes training records. A task has problems and scores replies. A\n"
            "domain defines one kind of problems (conversations of several turns, equal\n"
            "answers, gold records), with a source of problems. The command writes a folder\n"
            "NAME with a module, a test that passes, and a YAML file for --config-dir."
        ),
    )
    new.add_argument("kind", metavar="agent|task|domain", help="what to write")
    new.add_argument("name", metavar="NAME", help="of the module, such as weak_skills")


def add_programs(command: AddCommand) -> None:
    """Add `worlds`, `external`, `serve-world` and `doctor`."""
    worlds = command(
        "worlds",
        "list the worlds of tool use, or audit worlds with their problems",
        epilog=(
            "examples:\n"
            "  dataenvgym worlds list\n"
            "  dataenvgym worlds audit                 all that come with the package\n"
            "  dataenvgym worlds audit my_module.MyWorld --tasks problems.jsonl\n\n"
            "An audit checks for each problem that the gold calls earn the full reward in\n"
            "two runs; that doing nothing, changing one argument, and random calls earn 0;\n"
            "and that a broken verifier is noticed. It exits with 1 if a check fails."
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
        "install LLaMA-Factory or vLLM, each in its own pinned environment",
        epilog=(
            "examples:\n"
            "  dataenvgym external list\n"
            "  dataenvgym external install llamafactory\n"
            "  dataenvgym external install vllm --variant cuda\n\n"
            "They go into DATAENVGYM_CACHE (default: dataenvgym in XDG_CACHE_HOME or in\n"
            "~/.cache)."
        ),
    )
    external.add_argument("action", metavar="install|list", help="what to do")
    external.add_argument("name", nargs="?", metavar="NAME", help="llamafactory or vllm")
    external.add_argument(
        "--variant",
        metavar="cpu|cuda",
        help="its build (default: cuda if there is a driver for it)",
    )

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

    doctor = command("doctor", "show installed and missing parts, and what to run next")
    add_runs_dir(doctor)
