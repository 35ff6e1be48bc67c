"""The YAML files that come with the package."""

from __future__ import annotations

from pathlib import Path

from dataenvgym.errors import ConfigurationError


def config_directory() -> Path:
    """The folder with the YAML files: the installed package's, or the checkout's."""
    package = Path(__file__).parent
    for folder in (package / "configs", package.parent / "configs"):
        if (folder / "config.yaml").exists():
            return folder
    raise ConfigurationError(
        f"there is no folder 'configs' in {package} or beside it; install dataenvgym again"
    )
