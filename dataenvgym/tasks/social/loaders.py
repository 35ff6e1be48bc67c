"""Selects the scenes, casts and seats to play, and divides them among the splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, get_args

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.social.casting import casts
from dataenvgym.tasks.social.collection import Profiles
from dataenvgym.tasks.social.partners import temperament
from dataenvgym.tasks.social.problem import MODEL, SocialProblem, to_instance
from dataenvgym.tasks.social.profiles import Scene
from dataenvgym.tasks.source import SPLITS, Source, Split

Seats = Literal["first", "second", "both"]


class SceneSource(Source):
    """Each scene with its first casts, once from each seat that the student takes.

    A scene, with all its casts and seats, is in one split, chosen by its id and the seed. A
    scripted partner plays only scenes with a deal, from the seats that trade.

    Args:
        scenes: "all", or a named subset such as "hard".
        seats: the student's: "first", "second", or "both" (all, if there are more than two).
        partner: "model", or a temperament (see `partners`).
        casts_per_scene: largest number of casts played for each scene.
        fractions: shares of the scenes.
        trial: number of the repetition; it changes the seeds of the problems.

    Raises:
        ConfigurationError: for a subset, seat or partner that does not exist, for shares that
            leave nothing, and if the partner can play none of the scenes.
    """

    has_one_source = True

    def __init__(
        self,
        profiles: Profiles,
        *,
        name: str,
        scenes: str = "all",
        seats: Seats = "both",
        partner: str = MODEL,
        casts_per_scene: int = 1,
        fractions: Mapping[Split, float],
        seed: int = 0,
        trial: int = 0,
    ) -> None:
        check_seats(seats)
        if casts_per_scene < 1:
            raise ConfigurationError(f"casts_per_scene is {casts_per_scene}, expected 1 or more")
        shares = [fractions.get(split, 0.0) for split in SPLITS]
        if min(shares) < 0 or not sum(shares) > 0 or not fractions.keys() <= set(SPLITS):
            raise ConfigurationError(
                f"fractions are {dict(fractions)}, expected shares of {', '.join(SPLITS)}"
            )
        if partner != MODEL:
            temperament(partner)
        found = profiles.scenes_in(scenes)
        self._n_scenes = len(found)
        self._scenes = [s for s in found if partner == MODEL or s.deal is not None]
        if not self._scenes:
            raise ConfigurationError(
                f"none of the {len(found)} scenes {scenes!r} has a deal that the scripted partner "
                f"{partner!r} could negotiate: set task.partner={MODEL}"
            )
        self._profiles, self._name, self._seats, self._partner = profiles, name, seats, partner
        self._casts_per_scene, self._fractions = casts_per_scene, fractions
        self._seed, self._trial, self._is_whole = seed, trial, False

    def load(self, split: Split) -> Sequence[TaskInstance]:
        scenes = self._scenes if self._is_whole else self._split(split)
        return [instance for scene in scenes for instance in self._instances(scene)]

    def share(self, split: Split, chosen: int) -> str | None:
        """The number of scenes played, and of all scenes."""
        n = len(self._scenes if self._is_whole else self._split(split))
        if n == self._n_scenes:
            return None
        why = "" if self._partner == MODEL else "; a scripted partner plays those with a deal"
        return f"{chosen} problems in {n} of {self._n_scenes} scenes{why}"

    def whole(self) -> SceneSource:
        whole = object.__new__(SceneSource)
        whole.__dict__ |= self.__dict__ | {"_is_whole": True}
        return whole

    def _split(self, split: Split) -> list[Scene]:
        """The scenes of a split, in the order of the profiles."""
        ranked = sorted(self._scenes, key=lambda s: derive_seed(self._seed, "split", s.id))
        total = sum(self._fractions.get(s, 0.0) for s in SPLITS)
        before = sum(self._fractions.get(s, 0.0) for s in SPLITS[: SPLITS.index(split)])
        end = before + self._fractions.get(split, 0.0)
        first, last = (round(len(ranked) * part / total) for part in (before, end))
        chosen = {scene.id for scene in ranked[first:last]}
        return [scene for scene in self._scenes if scene.id in chosen]

    def _instances(self, scene: Scene) -> Iterator[TaskInstance]:
        of_trial = ("trial", self._trial) if self._trial else ()
        found = islice(casts(self._profiles, scene), self._casts_per_scene)
        for number, cast in enumerate(found):
            for seat in self._seats_in(scene):
                id = f"{scene.id}-{number}-{seat}"
                problem = SocialProblem(
                    scene=scene,
                    characters=tuple(self._profiles.characters[id] for id in cast),
                    seat=seat,
                    partner=self._partner,
                    seed=derive_seed(self._seed, "problem", id, *of_trial),
                )
                yield to_instance(problem, id=id, task=self._name)

    def _seats_in(self, scene: Scene) -> list[int]:
        seats = {"first": [0], "second": [1], "both": list(range(scene.seats))}[self._seats]
        if self._partner == MODEL or scene.deal is None:
            return seats
        return [seat for seat in seats if seat in (scene.deal.seller, scene.deal.buyer)]


def check_seats(seats: str) -> None:
    """Check that such seats exist.

    Raises:
        ConfigurationError: naming those that do.
    """
    if seats not in get_args(Seats):
        raise ConfigurationError(
            f"seats is {seats!r}, expected one of {', '.join(get_args(Seats))}."
            f"{did_you_mean(str(seats), get_args(Seats))}"
        )
