"""`dataenvgym config`: the configuration that overrides compose, with its comments."""

from __future__ import annotations

from argparse import Namespace

from dataenvgym.config.annotated import annotated_yaml


def show_configuration(arguments: Namespace) -> None:
    """Print the configuration as YAML."""
    text = annotated_yaml(
        arguments.overrides, config_dir=arguments.config_dir, resolve=arguments.resolve
    )
    print(text, end="")
