"""The arguments of commands about options, other programs and this machine."""

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
    """Add `external` and `doctor`."""
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

    doctor = command("doctor", "show installed and missing parts, and what to run next")
    add_runs_dir(doctor)
