"""Workspaces with a `config.yaml`: runs and evaluations.

`config.yaml` is the resolved configuration that the workspace began with. Only the same
configuration continues it; for another one, the error names the keys that differ.

What that of a received folder may choose is in `received`.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import DictConfig, OmegaConf

from dataenvgym.environments.episode_directory import GO_BACK, refuse_another, write_identity
from dataenvgym.errors import ConfigChangedError, RunDirectoryError, did_you_mean
from dataenvgym.events import warn_run
from dataenvgym.runs.config.values import leaves, resolved_yaml
from dataenvgym.storage import is_empty, read_bytes, read_yaml, write_text
from dataenvgym.workspace import check_format, mark_own, opened, refuse_links

_REFERENCE = re.compile(r"(?<!\\)(\\\\)*\$\{")  # after an odd number of backslashes: plain text


def refuse_references(config: DictConfig, file: Path) -> None:
    """Refuse a saved configuration with references, such as `${oc.env:HOME}`.

    The package saves configurations without references.

    Raises:
        RunDirectoryError: names the key.
    """
    for key, value in leaves(OmegaConf.to_container(config)):
        if isinstance(value, str) and _REFERENCE.search(value):
            raise RunDirectoryError(
                f"{file}: {key} refers to another value or to an environment variable; dataenvgym "
                "saves plain values, and follows no references in a folder: write the value there"
            )


def warn_of_changes(config: DictConfig, directory: Path) -> None:
    """Warn if a file of the user's own classes, in this folder, is newer than what it has made."""
    made = directory / "environment.json"
    if not made.exists():
        return
    modules = re.findall(r"_target_: (?!dataenvgym\.)([\w.]+)[.:]\w", OmegaConf.to_yaml(config))
    for file in (Path(*module.split(".")).with_suffix(".py") for module in dict.fromkeys(modules)):
        if file.exists() and file.stat().st_mtime > made.stat().st_mtime:
            again = "--fresh begins anew, and a study another --name"
            warn_run(f"{file} has changed since these results were begun: {again}")


class Workspaces(ABC):
    """All workspaces of one kind.

    A subclass defines their name, the sections of their `config.yaml`, the values that determine
    results, and whether a workspace has begun.
    """

    kind: ClassVar[str]
    a_kind: ClassVar[str]
    option: ClassVar[str]
    sections: ClassVar[frozenset[str]]
    way_out: ClassVar[str] = GO_BACK
    """What to do about another identity, for the message."""

    @abstractmethod
    def decisive(self, config: DictConfig) -> dict[str, Any]:
        """The values that must not change, by dotted key."""

    @abstractmethod
    def is_begun(self, directory: Path, config: DictConfig) -> bool:
        """True if the workspace has files that another configuration cannot continue."""

    def recognize(self, directory: Path) -> None:
        """Raise RunDirectoryError if the folder is not a workspace of this kind."""
        self.read(directory)

    def read(self, directory: Path) -> DictConfig:
        """Read the configuration that the workspace began with.

        Raises:
            RunDirectoryError: if there is none, or it contains references.
        """
        path = directory / "config.yaml"
        if not path.exists():
            raise RunDirectoryError(
                f"{directory} is not the folder of {self.a_kind}: it has no config.yaml"
            )
        try:
            config = OmegaConf.load(io.StringIO(read_yaml(path)))
        except Exception as error:
            reason = " ".join(str(error).split())
            raise RunDirectoryError(
                f"{path} cannot be read ({reason}); restore it, or remove the folder"
            ) from error
        if not isinstance(config, DictConfig) or self.sections - set(config):
            raise RunDirectoryError(f"{path} is not the configuration of {self.a_kind}")
        refuse_references(config, path)
        return config

    def check(self, directory: Path, config: DictConfig) -> None:
        """Refuse to continue a workspace that was begun with another configuration.

        Raises:
            ConfigChangedError: names the keys that differ.
            RunDirectoryError: if the folder is not empty and not a workspace of this kind.
            FormatError: if another version wrote it.
        """
        if is_empty(directory):
            return
        check_format(directory)
        refuse_links(directory)
        before = self.read(directory)
        if not self.is_begun(directory, before):
            return
        was, now = self.decisive(before), self.decisive(config)
        keys = [k for k in sorted({*was, *now}) if was.get(k, _NONE) != now.get(k, _NONE)]
        if not keys:
            return
        lines = [f"  {k}: {was.get(k, _NONE)!r} -> {now.get(k, _NONE)!r}" for k in keys]
        raise ConfigChangedError(
            f"the {self.kind} {directory.name!r} was begun with another configuration (see "
            f"{directory / 'config.yaml'}):\n"
            + "\n".join(lines)
            + "\nGo back to that, choose another name (name=...), or start over with --fresh.",
            keys=tuple(keys),
        )

    @contextmanager
    def opened(
        self,
        directory: Path,
        config: DictConfig,
        *,
        fresh: bool = False,
        identity: dict[str, Any] | None = None,
    ) -> Iterator[None]:
        """Open the workspace, new or continued, and lock it until the block ends.

        Args:
            fresh: remove the old files first.
            identity: of the student and the problems, for `environment.json`.

        Raises:
            RunDirectoryError: if another process writes to it; as `check`, or if it began with
                another identity; with `fresh`, if the folder is not a workspace of this kind.
        """
        with opened(
            directory,
            fresh=fresh,
            recognize=lambda: self.read(directory),
            check=lambda: self.check(directory, config),
        ):
            is_begun = identity is None or self.is_begun(directory, config)
            if identity is not None and is_begun:
                refuse_another(directory, identity, self.way_out)
            self.keep(directory, config)  # first: a folder without it is refused
            if identity is not None and not is_begun:
                write_identity(directory, identity)
            yield

    def keep(self, directory: Path, config: DictConfig) -> None:
        """Write the `config.yaml` of a locked workspace."""
        text = resolved_yaml(config, secrets=False)
        path = directory / "config.yaml"
        if not path.exists() or read_bytes(path) != text.encode():
            write_text(path, text)
        mark_own(directory)

    def find(self, name: str, folder: str | Path | None = None) -> Path:
        """Find the workspace with this path, or with this name in `folder`.

        Args:
            folder: None takes the default one, such as "runs".

        Raises:
            RunDirectoryError: if there is none; suggests the closest name.
            FormatError: if another version wrote it.
        """
        folder = f"{self.kind}s" if folder is None else folder
        for directory in (Path(name).expanduser(), Path(folder) / name):
            if directory.is_dir():
                self.recognize(directory)
                check_format(directory)
                refuse_links(directory)
                return directory
        names = sorted(self.names(folder))
        raise RunDirectoryError(
            f"there is no {self.kind} {name!r}.{did_you_mean(name, names)} ({folder} has "
            f"{len(names)}; {self.option} names another folder)"
        )

    def names(self, folder: str | Path) -> list[str]:
        """The workspaces in a folder, the one that was changed last first."""
        there = []
        for path in Path(folder).expanduser().glob("*"):
            with suppress(RunDirectoryError):
                self.recognize(path)
                there.append(path)
        there.sort(key=lambda path: (-path.stat().st_mtime, path.name))
        return [path.name for path in there]


class _Nothing:
    def __repr__(self) -> str:
        return "(not there)"


_NONE = _Nothing()
