"""Chooses characters for the seats of a scene."""

from __future__ import annotations

from collections.abc import Iterator

from dataenvgym.errors import InvalidInstanceError
from dataenvgym.tasks.social.collection import Profiles
from dataenvgym.tasks.social.profiles import Character, Relationship, Scene


def casts(profiles: Profiles, scene: Scene) -> Iterator[tuple[str, ...]]:
    """Character ids for the seats of a scene: all casts that fit, always in the same order.

    Each member has the age and occupation of its seat (compared without case), and each pair has
    the scene's relationship. If the scene names casts, only these are tried. Their members need no
    relationship profile: the scene itself says how they know each other.

    Raises:
        InvalidInstanceError: on the first step, if no cast fits; it names the file, the scene and
            the field that no character meets.
    """
    found = False
    for cast in _named_casts(profiles, scene) if scene.casts else _all_casts(profiles, scene):
        found = True
        yield cast
    if not found:
        raise InvalidInstanceError(_why_nobody_fits(profiles, scene))


def check_casts(profiles: Profiles) -> None:
    """Check that every scene can be played.

    Raises:
        InvalidInstanceError: naming file, scene and field of the first scene that cannot.
    """
    for scene in profiles.scenes.values():
        next(casts(profiles, scene))


def _named_casts(profiles: Profiles, scene: Scene) -> Iterator[tuple[str, ...]]:
    for cast in scene.casts:
        members = enumerate(profiles.characters[id] for id in cast)
        if all(_fits_age(m, scene, i) and _fits_occupation(m, scene, i) for i, m in members):
            yield cast


def _all_casts(profiles: Profiles, scene: Scene) -> Iterator[tuple[str, ...]]:
    for_seat = [dict.fromkeys(_candidates(profiles, scene, i)) for i in range(scene.seats)]
    are_strangers = scene.relationship is Relationship.STRANGER

    def extended(cast: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if len(cast) == scene.seats:
            yield cast
            return
        fit = for_seat[len(cast)]
        # few characters have relationships; all others are strangers
        pool = profiles.known_to(cast[0]) if cast and not are_strangers else list(fit)
        for one in pool:
            if (
                one in fit
                and one not in cast
                and all(
                    profiles.know_each_other_as(one, other, scene.relationship) for other in cast
                )
            ):
                yield from extended((*cast, one))

    yield from extended(())


def _candidates(profiles: Profiles, scene: Scene, seat: int) -> list[str]:
    return [
        id
        for id, character in profiles.characters.items()
        if _fits_age(character, scene, seat) and _fits_occupation(character, scene, seat)
    ]


def _fits_age(character: Character, scene: Scene, seat: int) -> bool:
    ages = scene.ages[seat] if scene.ages else None
    return ages is None or ages.least <= character.age <= ages.most


def _fits_occupation(character: Character, scene: Scene, seat: int) -> bool:
    wanted = scene.occupations[seat] if scene.occupations else ()
    return not wanted or character.occupation.casefold() in {w.casefold() for w in wanted}


def _why_nobody_fits(profiles: Profiles, scene: Scene) -> str:
    """The first field that excludes all characters."""

    def at(field: str) -> str:
        return profiles.origin.entry("scenes", scene.id, field)

    everybody = list(profiles.characters.values())
    if scene.casts:
        return f"{at('casts')}: no cast has the ages and occupations that the seats want"
    for seat in range(scene.seats):
        if not any(_fits_age(c, scene, seat) for c in everybody):
            ages = scene.ages[seat]
            wanted = f"{ages.least} to {ages.most}" if ages else "any"
            return (
                f"{at('ages')}: none of {len(everybody)} characters has the age for seat {seat} "
                f"({wanted}). Widen it, or add a character"
            )
        if not any(_fits_occupation(c, scene, seat) for c in everybody):
            return (
                f"{at('occupations')}: none of {len(everybody)} characters has an occupation for "
                f"seat {seat} ({', '.join(scene.occupations[seat])}). Add a character"
            )
        if not _candidates(profiles, scene, seat):
            return (
                f"{at('occupations')}: no character with such an occupation has the age for seat "
                f"{seat}. Widen the ages, or add a character"
            )
    return (
        f"{at('relationship')}: no characters that fit the seats are "
        f"{scene.relationship.value!r} to each other. Add a relationship, or ask for another one"
    )
