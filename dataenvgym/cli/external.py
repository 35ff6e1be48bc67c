"""`dataenvgym external`: the environments of LLaMA-Factory and vLLM."""

from __future__ import annotations

from argparse import Namespace

from dataenvgym.cli.console import open_console
from dataenvgym.errors import ConfigurationError
from dataenvgym.external.environments import (
    ENVIRONMENTS,
    ExternalEnvironment,
    Variant,
    external_environment,
)


def external(arguments: Namespace) -> None:
    """Install one, or list them."""
    if arguments.action == "list":
        if arguments.name is not None:
            raise ConfigurationError(f"`external list` takes no name, found {arguments.name!r}")
        _list(arguments.variant)
    elif arguments.name is None:
        raise ConfigurationError(f"install what? One of: {', '.join(ENVIRONMENTS)}.")
    else:
        _install(external_environment(arguments.name, arguments.variant))


def _install(environment: ExternalEnvironment) -> None:

    console = open_console()
    with console.status("") as status:  # a spinner while pip works; only on a terminal

        def say(line: str) -> None:
            console.print(line, soft_wrap=True, markup=False)
            status.update(f"log: {environment.folder / 'install.log'}")

        environment.install(say)


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
