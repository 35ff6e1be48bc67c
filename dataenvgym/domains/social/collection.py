"""A collection of profiles: characters, scenes, and how the characters know each other.

It is read from a folder (`characters.json`, `scenes.json` and, optionally, `relationships.json`;
lists of entries), or from a dump of Sotopia (see `sotopia_dump`). The package contains a
collection, too (`shipped_profiles`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from dataenvgym.domains.social.profiles import Character, Relationship, RelationshipProfile, Scene
from dataenvgym.domains.social.scene_log import SceneLog
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, did_you_mean
from dataenvgym.records.store import Kind, Store
from dataenvgym.storage import write_json
from dataenvgym.tasks.rows import parsed, read_rows

CHARACTERS = Kind("characters", Character)
SCENES = Kind("scenes", Scene)
RELATIONSHIPS = Kind("relationships", RelationshipProfile)
_KINDS: tuple[Kind[Any], ...] = (CHARACTERS, SCENES, RELATIONSHIPS)
M = TypeVar("M", bound=BaseModel)
P = TypeVar("P", Character, Scene, RelationshipProfile, SceneLog)


@dataclass(frozen=True)
class Profiles:
    """Characters and scenes by id, and the relationships between characters; all names exist.

    Attributes:
        files: the places of the kinds, for messages: "characters" -> "my/characters.json".
        listed_seats: by subset and scene, the seats that the student takes with `seats=listed`.
    """

    characters: Mapping[str, Character]
    scenes: Mapping[str, Scene]
    relationships: Mapping[str, RelationshipProfile]
    files: Mapping[str, str] = field(default_factory=dict)
    listed_seats: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tie in self.relationships.values():
            self._check_known("relationships", tie.id, "characters", tie.characters)
        for scene in self.scenes.values():
            for cast in scene.casts:
                self._check_known("scenes", scene.id, "casts", cast)

    def scenes_in(self, subset: str) -> list[Scene]:
        """The scenes of a named subset that is not empty; all of them for "all"."""
        found = [s for s in self.scenes.values() if subset == "all" or subset in s.subsets]
        if not found:
            known = {name for scene in self.scenes.values() for name in scene.subsets}
            raise ConfigurationError(
                f"scenes is {subset!r}, and the profiles have no such scenes, only: "
                f"{', '.join(['all', *sorted(known)])}.{did_you_mean(subset, known)}"
            )
        return found

    def know_each_other_as(self, one: str, other: str, relationship: Relationship) -> bool:
        """True if two characters have this relationship; those without a profile are strangers."""
        return relationship in self._ties[one].get(other, {Relationship.STRANGER})

    def known_to(self, one: str) -> list[str]:
        """The characters that have a relationship profile with this one, in the profiles' order."""
        return list(self._ties[one])

    @cached_property
    def _ties(self) -> defaultdict[str, dict[str, set[Relationship]]]:
        ties: defaultdict[str, dict[str, set[Relationship]]] = defaultdict(dict)
        for tie in self.relationships.values():
            one, other = tie.characters
            ties[one].setdefault(other, set()).add(tie.relationship)
            ties[other].setdefault(one, set()).add(tie.relationship)
        return ties

    def _check_known(self, kind: str, id: str, field: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.characters:
                raise InvalidInstanceError(
                    f"{self.files.get(kind, kind)}, {id!r}, {field}: there is no character "
                    f"{name!r}.{did_you_mean(name, self.characters)}"
                )


def by_id(entries: Iterable[tuple[str, P]], *, field: str = "id") -> dict[str, P]:
    """Profiles or episodes by their ids, of pairs of a place (for messages) and a profile.

    Raises:
        InvalidInstanceError: if two have the same id; `field` is its name there.
    """
    found: dict[str, P] = {}
    for place, profile in entries:
        if profile.id in found:
            raise InvalidInstanceError(f"{place}, {field}: {profile.id!r} occurs twice")
        found[profile.id] = profile
    return found


def read_profiles(folder: str | Path) -> Profiles:
    """The profiles in a folder.

    Raises:
        InvalidInstanceError: if an entry cannot be used, naming file, entry and field.
        ConfigurationError, BrokenFileError: if a file is missing, or not JSON.
    """
    folder = Path(folder).expanduser()
    ours: dict[str, Any] = {
        kind.name: by_id(_entries(folder / f"{kind.name}.json", kind.model)) for kind in _KINDS
    }
    return Profiles(**ours, files={name: str(folder / f"{name}.json") for name in ours})


def write_profiles(folder: str | Path, profiles: Profiles) -> None:
    """Write profiles in the form that `read_profiles` reads; default values are left out."""
    for kind in _KINDS:
        entries: Mapping[str, BaseModel] = getattr(profiles, kind.name)
        rows = [e.model_dump(mode="json", exclude_defaults=True) for e in entries.values()]
        write_json(Path(folder).expanduser() / f"{kind.name}.json", rows)


def shipped_profiles() -> Profiles:
    """The characters and scenes in the package; it has a subset "hard"."""
    return read_profiles(Path(__file__).parent / "content")


def keep_profiles(store: Store, profiles: Profiles) -> None:
    """Put all profiles in a store, under their ids."""
    for kind in _KINDS:
        for id, profile in getattr(profiles, kind.name).items():
            store.put(kind, id, profile)


def _entries(path: Path, model: type[M]) -> Iterator[tuple[str, M]]:
    if model is RelationshipProfile and not path.exists():
        return
    for row in read_rows(path):
        yield row.where, parsed(model, row.values, row.where)
