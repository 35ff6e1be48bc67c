"""Workspaces with a `config.yaml`: runs and evaluations.

`config.yaml` is the resolved configuration that the workspace began with. Only the same
configuration continues it; for another one, the error names the keys that differ.

What that of a received folder may choose is in `received`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from dataenvgym.errors import ConfigChangedError, RunDirectoryError, did_you_mean
from dataenvgym.events import warn_run
from dataenvgym.runs.config.identity import decisive_values, digest, run_name
from dataenvgym.runs.config.values import leaves, literal, resolved_yaml
from dataenvgym.storage import is_empty, is_temporary, read_bytes, read_yaml, write_text
from dataenvgym.workspace import (
    GO_BACK,
    check_format,
    claim,
    is_hand_made,
    mark_own,
    opened,
    refuse_another,
    refuse_links,
)

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


@dataclass(frozen=True)
class Workspaces:
    """All workspaces of one kind.

    Attributes:
        kind: such as "run".
        option: names their folder.
        sections: of their `config.yaml`, in order.
        begun: a pattern of files that another configuration cannot continue.
        free: sections or dotted keys that may differ.
        way_out: what to do about another identity, for the message.
    """

    kind: str
    option: str
    sections: tuple[str, ...]
    begun: str
    free: frozenset[str] = frozenset()
    way_out: str = GO_BACK

    def settings(self, config: DictConfig, **own: Any) -> DictConfig:
        """The values to save: the kind's own, and its sections of a configuration."""
        values = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True)) | own
        names = dict.fromkeys((*self.sections, *own))
        return cast(DictConfig, OmegaConf.create(literal({name: values[name] for name in names})))

    def directory(self, config: DictConfig, settings: DictConfig, start: str) -> Path:
        """The folder: `config.name`, or `start` and a hash of the settings."""
        default = f"{start}-{digest(self.decisive(settings))}"
        name = default if config.name is None else run_name(config)
        return Path(str(config[f"{self.kind}s_dir"])).expanduser() / name

    def decisive(self, config: DictConfig) -> dict[str, Any]:
        """The values that must not change, by dotted key."""
        values = decisive_values(config)
        return {k: v for k, v in values.items() if self.free.isdisjoint((k, k.partition(".")[0]))}

    def is_begun(self, directory: Path) -> bool:
        """True if the workspace has files that another configuration cannot continue."""
        return not all(map(is_temporary, directory.glob(self.begun)))

    @property
    def _a_kind(self) -> str:
        return f"{'an' if self.kind[0] in 'ae' else 'a'} {self.kind}"

    def recognize(self, directory: Path) -> None:
        """Raise RunDirectoryError if the folder is not a workspace of this kind."""
        if not (directory / "config.yaml").exists() and not is_hand_made(directory):
            raise RunDirectoryError(
                f"{directory} is not the folder of {self._a_kind}: it has no config.yaml"
            )

    def read(self, directory: Path) -> DictConfig:
        """Read the configuration that the workspace began with.

        Raises:
            RunDirectoryError: if there is none, or it contains references.
        """
        path = directory / "config.yaml"
        self.recognize(directory)
        if is_hand_made(directory):
            raise RunDirectoryError(
                f"{directory} is a run made in Python, so it has no config.yaml: continue it in "
                "Python, or choose another folder (name=..., runs_dir=...)"
            )
        try:
            config = OmegaConf.load(io.StringIO(read_yaml(path)))
        except Exception as error:
            reason = " ".join(str(error).split())
            raise RunDirectoryError(
                f"{path} cannot be read ({reason}); restore it, or remove the folder"
            ) from error
        if not isinstance(config, DictConfig) or set(self.sections) - set(config):
            raise RunDirectoryError(f"{path} is not the configuration of {self._a_kind}")
        refuse_references(config, path)
        return config

    def check(self, directory: Path, config: DictConfig) -> None:
        """Refuse to continue a workspace that was begun with another configuration.

        Raises:
            ConfigChangedError: names the keys that differ; also if a run has done more iterations
                than requested.
            RunDirectoryError: if the folder is not empty and not a workspace of this kind.
            FormatError: if another version wrote it.
        """
        if is_empty(directory):
            return
        check_format(directory)
        refuse_links(directory)
        before = self.read(directory)
        if not self.is_begun(directory):
            return
        was, now = self.decisive(before), self.decisive(config)
        keys = [k for k in sorted({*was, *now}) if was.get(k, _NONE) != now.get(k, _NONE)]
        if not keys:
            done = len(list(directory.glob("iterations/*/iteration.json"))) - 1
            if (asked := OmegaConf.select(config, "episode.iterations", default=done)) < done:
                raise ConfigChangedError(
                    f"the run {directory.name!r} has done {done} iterations already, more than "
                    f"episode.iterations={asked} asks for. Ask for {done} or more, choose another "
                    "name (name=...), or start over with --fresh.",
                    keys=("episode.iterations",),
                )
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
        **options: bool,
    ) -> Iterator[None]:
        """Open the workspace, new or continued, and lock it until the block ends.

        Args:
            fresh: remove the old files first.
            identity: of the student and the problems, for `environment.json`.
            options: of `workspace.opened`.

        Raises:
            RunDirectoryError: if another process writes to it; as `check`, or if it began with
                another identity; with `fresh`, if the folder is not a workspace of this kind.
        """
        with opened(
            directory,
            fresh=fresh,
            recognize=lambda: self.read(directory),
            check=lambda: self.check(directory, config),
            **options,
        ):
            is_begun = self.is_begun(directory)
            if identity is not None and is_begun:
                refuse_another(directory, identity, self.way_out)
            self.keep(directory, config)  # first: a folder without it is refused
            if identity is not None and not is_begun:
                claim(directory, identity, is_begun=False)
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
