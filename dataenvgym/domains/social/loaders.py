"""Selects the scenes, casts and seats to play, and divides the scenes among the splits."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice
from typing import Annotated, Literal

from annotated_types import Ge
from pydantic import FiniteFloat, NonNegativeInt, PositiveInt

from dataenvgym.domains.social.collection import Profiles
from dataenvgym.domains.social.problem import MODEL, SocialProblem, to_instance
from dataenvgym.domains.social.profiles import Relationship, Scene
from dataenvgym.domains.social.scripted_partners import Partner
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.options import THIRDS
from dataenvgym.tasks.source import SPLITS, Source, Split

Seats = Literal["first", "second", "both", "listed"]
FAIR: Partner = "fair"


@dataclass(frozen=True)
class SceneOptions:
    """Which scenes are played, and by whom.

    Attributes:
        scenes: "all", a named subset such as "hard", or "procedural": generated small scenes with
            equal shares of the skills (see `procedural`) and scripted partners of their own.
        seats: the student's: "first", "second", "both" (all, if there are more than two), or
            "listed" (those that the subset's list names, in a dump of Sotopia); a procedural scene
            fixes it.
        partner: a temperament of the scripted negotiators (tough, fair, soft, impatient or
            tit_for_tat), who play the scenes with a deal; or "model": the speaker "partner" plays
            all scenes.
        name: name of the task.
        casts_per_scene: largest number of casts played for each scene; Sotopia's benchmark lists 5.
        fractions: shares of the scenes.
        seed: selects the scenes of each split; also of scripted partners and random turns.
        trial: number of the repetition; it changes all seeds, but the scenes stay the same.
    """

    scenes: str = "all"
    seats: Seats = "both"
    partner: Partner = FAIR
    _: KW_ONLY
    name: str = "social"
    casts_per_scene: PositiveInt = 1
    fractions: Mapping[Split, Annotated[FiniteFloat, Ge(0)]] = field(default_factory=lambda: THIRDS)
    seed: int = 0
    trial: NonNegativeInt = 0


class SceneSource(Source):
    """Each scene with its first casts, once from each seat that the student takes.

    A scene, with all its casts and seats, is in one split, chosen by its id and the seed. A
    scripted partner plays only scenes with a deal, from the seats that trade.

    Raises:
        ConfigurationError: for a subset, seat or partner that does not exist, for shares that
            leave nothing, and if the partner can play none of the scenes.
    """

    has_one_source = True

    def __init__(self, profiles: Profiles, options: SceneOptions) -> None:
        partner = options.partner
        self._shares = [options.fractions.get(split, 0.0) for split in SPLITS]
        if not sum(self._shares):
            raise ConfigurationError(f"fractions is {dict(options.fractions)}, which leave nothing")
        found = profiles.scenes_in(options.scenes)
        self._n_scenes = len(found)
        self._scenes = [s for s in found if partner == MODEL or s.deal is not None]
        if not self._scenes:
            raise ConfigurationError(
                f"none of the {len(found)} scenes {options.scenes!r} has a deal that the scripted "
                f"partner {partner!r} could negotiate: set task.partner={MODEL}"
            )
        self._profiles, self._options, self._is_whole = profiles, options, False
        self._listed = profiles.listed_seats.get(options.scenes, {})
        if options.seats == "listed" and not self._listed:
            raise ConfigurationError(
                f"seats is 'listed', and no list names the seats of scenes={options.scenes}, only "
                f"of {', '.join(profiles.listed_seats) or 'none'}"
            )

    def load(self, split: Split) -> Sequence[TaskInstance]:
        scenes = self._split(split)
        return [instance for scene in scenes for instance in self._instances(scene)]

    def share(self, split: Split, chosen: int) -> str | None:
        """The number of scenes played, and of all scenes."""
        n = len(self._split(split))
        if n == self._n_scenes:
            return None
        why = (
            "" if self._options.partner == MODEL else "; a scripted partner plays those with a deal"
        )
        return f"{chosen} problems in {n} of {self._n_scenes} scenes{why}"

    def whole(self) -> SceneSource:
        whole = copy.copy(self)
        whole._is_whole = True
        return whole

    def _split(self, split: Split) -> list[Scene]:
        """The scenes of a split, in the order of the profiles; all of them if it is whole."""
        if self._is_whole:
            return self._scenes
        seed, place = self._options.seed, SPLITS.index(split)
        ranked = sorted(self._scenes, key=lambda s: derive_seed(seed, "split", s.id))
        before = sum(self._shares[:place])
        parts = before, before + self._shares[place]
        first, last = (round(len(ranked) * part / sum(self._shares)) for part in parts)
        chosen = {scene.id for scene in ranked[first:last]}
        return [scene for scene in self._scenes if scene.id in chosen]

    def _instances(self, scene: Scene) -> Iterator[TaskInstance]:
        of = self._options
        seats = {
            "first": [0],
            "second": [1],
            "both": list(range(scene.seats)),
            "listed": list(self._listed.get(scene.id, ())),
        }[of.seats]
        if of.partner != MODEL and scene.deal is not None:
            seats = [seat for seat in seats if seat in scene.deal.parties]
        of_trial = ("trial", of.trial) if of.trial else ()
        found = islice(casts(self._profiles, scene), of.casts_per_scene)
        for number, cast in enumerate(found):
            for seat in seats:
                id = f"{scene.id}-{number}-{seat}"
                problem = SocialProblem(
                    scene=scene,
                    characters=tuple(self._profiles.characters[id] for id in cast),
                    seat=seat,
                    partner=of.partner,
                    seed=derive_seed(of.seed, "problem", id, *of_trial),
                )
                yield to_instance(problem, id=id, task=of.name)


def casts(profiles: Profiles, scene: Scene) -> Iterator[tuple[str, ...]]:
    """Character ids for the seats of a scene: all casts that fit, always in the same order.

    Each member has the age and occupation of its seat (compared without case), and each pair has
    the scene's relationship. If the scene names casts, only these are tried. Their members need no
    relationship profile: the scene itself says how they know each other.

    Raises:
        InvalidInstanceError: on the first step, if no cast fits; it names the file and the scene.
    """
    fits = [_candidates(profiles, scene, seat) for seat in range(scene.seats)]
    named = (c for c in scene.casts if all(one in fit for one, fit in zip(c, fits, strict=False)))
    found = named if scene.casts else _extended(profiles, scene, fits, ())
    if (first := next(found, None)) is None:
        raise InvalidInstanceError(
            f"{profiles.files.get('scenes', 'scenes')}, {scene.id!r}: no characters that are "
            f"{scene.relationship.value!r} to each other have the ages and occupations of the seats"
        )
    yield first
    yield from found


def _extended(
    profiles: Profiles, scene: Scene, fits: Sequence[Collection[str]], cast: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """All casts that begin with these members."""
    if len(cast) == scene.seats:
        yield cast
        return
    fit = fits[len(cast)]
    # few characters have relationships; all others are strangers
    are_strangers = scene.relationship is Relationship.STRANGER
    for one in profiles.known_to(cast[0]) if cast and not are_strangers else fit:
        if (
            one in fit
            and one not in cast
            and all(profiles.know_each_other_as(one, other, scene.relationship) for other in cast)
        ):
            yield from _extended(profiles, scene, fits, (*cast, one))


def _candidates(profiles: Profiles, scene: Scene, seat: int) -> Collection[str]:
    """The ids of the characters that fit a seat, in the profiles' order."""
    ages = scene.ages[seat] if scene.ages else None
    wanted = scene.occupations[seat] if scene.occupations else ()
    occupations = {one.casefold() for one in wanted}
    return dict.fromkeys(
        id
        for id, character in profiles.characters.items()
        if (ages is None or ages.least <= character.age <= ages.most)
        and (not wanted or character.occupation.casefold() in occupations)
    )
