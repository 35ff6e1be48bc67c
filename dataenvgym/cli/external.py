"""`dataenvgym external`: the environments of LLaMA-Factory and vLLM, and a language model."""

from __future__ import annotations

from typing import Literal

from dataenvgym.cli.console import Terminal
from dataenvgym.cli.doctor import examine, findings_table, parts
from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.runs.documents import show
from dataenvgym.students.external.environments import (
    ENVIRONMENTS,
    ExternalEnvironment,
    external_environment,
)
from dataenvgym.students.external.models import ExternalModel, external_models


def external(
    action: Literal["install", "list"],
    name: str | None = None,
    *,
    variant: Literal["cpu", "cuda"] | None = None,
) -> None:
    """Install LLaMA-Factory, vLLM, or a language model of 135 million parameters.

    Examples:
      dataenvgym external list
      dataenvgym external install vllm --variant cuda
      dataenvgym external install smollm2

    Each program has a pinned environment of its own; the model is the student of
    student=smollm2. They go into DATAENVGYM_CACHE (default: dataenvgym in
    XDG_CACHE_HOME or in ~/.cache).

    Args:
        action: what to do
        name: llamafactory, vllm or smollm2
        variant: the build of a program (default: cuda if there is a driver)
    """
    names = (*ENVIRONMENTS, *external_models())
    if action == "list":
        if name is not None:
            raise ConfigurationError(f"`external list` takes no name, found {name!r}")
        show([findings_table(examine(parts(variant)))], Terminal())
        return
    if name is None:
        raise ConfigurationError(f"nothing to install is named, expected one of {', '.join(names)}")
    check_one_of(names, name=name)
    if (model := external_models().get(name)) is not None:
        if variant is not None:
            raise ConfigurationError(
                f"{model.name} has no variants, found --variant {variant}: `{model.how_to_install}`"
            )
        _install(model, "")
    else:
        environment = external_environment(name, variant)
        _install(environment, f"log: {environment.folder / 'install.log'}")


def _install(wanted: ExternalEnvironment | ExternalModel, log: str) -> None:
    console = Terminal()
    with console.status("") as status:  # a spinner while pip works; only on a terminal

        def say(line: str) -> None:
            console.say(line)
            status.update(log)

        wanted.install(say)
