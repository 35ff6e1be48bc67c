"""`dataenvgym external`: the environments of LLaMA-Factory and vLLM, and a language model."""

from __future__ import annotations

from argparse import Namespace

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.students.external import (
    ENVIRONMENTS,
    ExternalEnvironment,
    ExternalModel,
    external_environment,
    external_models,
)
from dataenvgym.students.external.environments import Variant


def external(arguments: Namespace) -> None:
    """Install one, or list them."""
    names = (*ENVIRONMENTS, *external_models())
    if arguments.action == "list":
        if arguments.name is not None:
            raise ConfigurationError(f"`external list` takes no name, found {arguments.name!r}")
        _list(arguments.variant)
        return
    check_one_of(names, name=arguments.name)
    if (model := external_models().get(arguments.name)) is not None:
        if arguments.variant is not None:
            raise ConfigurationError(
                f"{model.name} has no variants, found --variant {arguments.variant}: "
                f"`{model.how_to_install}`"
            )
        _install(model, "")
    else:
        environment = external_environment(arguments.name, arguments.variant)
        _install(environment, f"log: {environment.folder / 'install.log'}")


def _install(wanted: ExternalEnvironment | ExternalModel, log: str) -> None:
    console = Terminal()
    with console.status("") as status:  # a spinner while pip works; only on a terminal

        def say(line: str) -> None:
            console.say(line)
            status.update(log)

        wanted.install(say)


def _list(variant: Variant | None) -> None:
    for name in ENVIRONMENTS:
        environment = external_environment(name, variant)
        if environment.is_installed:
            versions = environment.versions()
            version = versions.get(name) or versions.get(f"{name}-{environment.variant}", "?")
            what = f"{version}, in {environment.folder}"
        else:
            what = f"not installed: {environment.how_to_install}"
        print(f"{name:14}{environment.variant:6}{what}")
    for name, model in external_models().items():
        is_there = f"{model.title}, {model.license}, in {model.folder}"
        what = is_there if model.is_installed else f"not installed: {model.how_to_install}"
        print(f"{name:14}{'':6}{what}")
