"""`dataenvgym external`: the environments of LLaMA-Factory and vLLM, and a language model."""

from __future__ import annotations

from argparse import Namespace

from dataenvgym.cli.console import Terminal
from dataenvgym.cli.doctor import environment_finding, findings_table, model_finding
from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.runs.documents import show
from dataenvgym.students.external.environments import (
    ENVIRONMENTS,
    ExternalEnvironment,
    external_environment,
)
from dataenvgym.students.external.models import ExternalModel, external_models


def external(arguments: Namespace) -> None:
    """Install one, or list them."""
    names = (*ENVIRONMENTS, *external_models())
    if arguments.action == "list":
        if arguments.name is not None:
            raise ConfigurationError(f"`external list` takes no name, found {arguments.name!r}")
        variant = arguments.variant
        environments = (environment_finding(name, variant) for name in ENVIRONMENTS)
        models = map(model_finding, external_models().values())
        show([findings_table([*environments, *models])], Terminal())
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
