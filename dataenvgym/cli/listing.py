"""`dataenvgym list` and `config`: show the options, and the composed configuration."""

from __future__ import annotations

from typing import Literal

from dataenvgym.errors import check_one_of
from dataenvgym.runs.config.commented_yaml import annotated_yaml, describe
from dataenvgym.runs.config.composition import chosen_options
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.runs.documents import Document, Table

ORDER = ("task", "student", "predictor", "trainer", "environment", "agent", "teacher", "episode")


def list_options(
    group: str | None = None,
    *,
    config_dir: str | None = None,
) -> Document:
    """List the options to choose from.

    Args:
        group: only this group, such as agent
    """
    groups = options_by_group(config_dir)
    check_one_of([*groups, "ids"], group=group or "ids")
    sections = {each: each.partition("/")[0] for each in groups}
    places = {name: ORDER.index(of) if of in ORDER else len(ORDER) for name, of in sections.items()}
    chosen = chosen_options()
    for name in sorted(groups, key=lambda each: (places[each], each)):
        if group in (None, name):
            rows = [
                ("*" if option == chosen.get(name) else " ", option, describe(source))
                for option, source in sorted(groups[name].items())
            ]
            yield Table(("", "", ""), rows, f"{name}=", texts=3, brief=group is None)
    if group in (None, "ids"):
        import gymnasium

        ids = sorted(name for name in gymnasium.registry if name.startswith("dataenvgym/"))
        yield Table(("",), [[name] for name in ids], "gymnasium.make(...)")
    if group is None:
        yield "* is the default. Choose with GROUP=NAME: dataenvgym run agent=random"
        yield "A group with `custom` also takes your own class: agent=my_module.MyAgent"
        yield "Full descriptions of one group: dataenvgym list agent"


def show_configuration(
    overrides: list[str],
    *,
    config_dir: str | None = None,
    of: Literal["run", "eval", "generate", "adapt", "continual"] = "run",
    resolve: bool = False,
    explain: bool = False,
) -> None:
    """Print the configuration with overrides applied.

    Examples:
      dataenvgym config task=gsm8k --explain
      dataenvgym config agent=skill_tree trainer=llama_factory > mine.yaml
      dataenvgym config --of adapt experiment=seal_knowledge_pocket

    A value that you must set is shown as ???.

    Args:
        of: the command
        resolve: values in place of references such as ${seed}
        explain: each value on a line, with its comment
    """
    name = "config" if of == "run" else of
    if name in ("adapt", "continual"):
        from dataenvgym.adaptation.running import with_engine

        overrides = [*with_engine(overrides, config_dir, name)]
    text = annotated_yaml(
        overrides, config_dir=config_dir, resolve=resolve, name=name, brief=not explain
    )
    print(text, end="")
