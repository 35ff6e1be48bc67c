"""Scenes with characters, goals and secrets: those in the package, or from a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any

from dataenvgym.domains.social.collection import Profiles, read_profiles, shipped_profiles
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.environment import PlayOptions
from dataenvgym.domains.social.loaders import SceneSource, Seats, check_seats
from dataenvgym.domains.social.problem import MODEL
from dataenvgym.domains.social.procedural import ProceduralDomain, ProceduralScenes
from dataenvgym.domains.social.procedural_skills import SKILLS
from dataenvgym.domains.social.scene import Ends, Rules, TurnOptions, rules_of
from dataenvgym.domains.social.scripted_partners import TEMPERAMENTS, temperament
from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.run_warnings import warn_run
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import THIRDS, TaskOptions
from dataenvgym.tasks.procedural import ProceduralSource
from dataenvgym.tasks.source import Source, Split

_PARTNER = "fair"


@dataclass(frozen=True)
class SocialOptions(TaskOptions, PlayOptions, TurnOptions):
    """Options of `SocialTask`.

    Attributes:
        scenes: "all", a named subset such as "hard", or "procedural": generated small scenes with
            equal shares of the skills (see `procedural`) and scripted partners of their own.
        seats: the student's: "first", "second" or "both"; a procedural scene fixes it.
        partner: a temperament of the scripted negotiators (tough, fair, soft, impatient or
            tit_for_tat), who play the scenes with a deal; or "model": the speaker "partner" plays
            all scenes.
        profiles: a folder with characters.json and scenes.json, or `Profiles`, such as
            `read_sotopia(...).profiles`; None: the package's own.
        name: name of the task.
        casts_per_scene: largest number of casts played for each scene.
        fractions: shares of the scenes.
        seed: selects the scenes of each split; also of scripted partners and random turns.
        n_procedural: number of procedural scenes, in all splits together.
        rules: when scenes end: "sotopia"; or "epo": as in EPO's code, and only the actions none,
            speak, leave.
        trial: number of the repetition; it changes all seeds, but the scenes stay the same.
    """

    scenes: str = "all"
    seats: Seats = "both"
    partner: str = _PARTNER
    _: KW_ONLY
    profiles: Profiles | str | Path | None = None
    name: str = "social"
    casts_per_scene: int = 1
    fractions: Mapping[Split, float] = field(default_factory=lambda: THIRDS)
    seed: int = 0
    n_procedural: int = 1000
    rules: Ends = "sotopia"
    trial: int = 0


class SocialTask(Task):
    """Scenes from the student's seat.

    SocialTask(partner="tough")                              # negotiations, without any model
    SocialTask(partner="model", others={"partner": ..., "judge": ...})
    """

    @classmethod
    def evaluation_addition(cls) -> Any:
        from dataenvgym.domains.social.evaluation import Scenes

        return Scenes

    @classmethod
    def options_for(cls, speakers: Sequence[str]) -> Sequence[str]:
        named = {"own": "strategist", "partner": "partner_strategist"}
        sides = [side for side, who in named.items() if who in speakers]
        judges = [who for who in speakers if who.startswith("judge_")]
        return [
            *(["task.partner=model"] if "partner" in speakers else ()),
            *([f"task.judges=[{','.join(judges)}]"] if judges else ()),
            *([f"task.strategists=[{','.join(sides)}]"] if sides else ()),
        ]

    @takes(SocialOptions)
    def __init__(self, options: SocialOptions) -> None:
        rules = rules_of(options.rules, options)
        options.check_partner(options.partner)
        options.warn_of_idle(options.others or {}, options.partner, options.judges)
        check_at_least(0, trial=options.trial)
        _warn_if_greedy(options)
        sampling = SamplingParameters.model_validate(options.sampling)
        if options.trial:
            own_seed = derive_seed(sampling.seed, "trial", options.trial)
            sampling = sampling.model_copy(update={"seed": own_seed})
        source, domain = _procedural(options, rules) or (
            _scene_source(options),
            SocialDomain(rules, options),
        )
        self.set_up(source, domain, replace(options, sampling=sampling), name=options.name)


def _scene_source(options: SocialOptions) -> SceneSource:
    return SceneSource(
        _profiles(options.profiles),
        name=options.name,
        scenes=options.scenes,
        seats=options.seats,
        partner=options.partner,
        casts_per_scene=options.casts_per_scene,
        fractions=options.fractions,
        seed=options.seed,
        trial=options.trial,
    )


def _procedural(options: SocialOptions, rules: Rules) -> tuple[Source, SocialDomain] | None:
    """The parts of a task with procedural scenes; None for other scenes."""
    if options.scenes != "procedural":
        return None
    _check_procedural(options)
    family = ProceduralScenes(
        options.name, terse=False, is_scripted=options.partner != MODEL, kinds=rules.kinds
    )
    sizes = {s: round(options.n_procedural * share) for s, share in options.fractions.items()}
    source = ProceduralSource(
        options.name, tuple(SKILLS), family.draw_instance, sizes=sizes, seed=options.seed
    )
    return source, ProceduralDomain(family, rules, options)


def _profiles(given: Profiles | str | Path | None) -> Profiles:
    if given is None:
        return shipped_profiles()
    if isinstance(given, str | Path):
        return read_profiles(given)
    if not isinstance(given, Profiles):
        raise ConfigurationError(
            f"profiles is a {type(given).__name__}, expected Profiles or a folder of them; those "
            "of a dump are dump.profiles"
        )
    return given


def _check_procedural(options: SocialOptions) -> None:
    """Refuse options that have no effect on procedural scenes.

    Raises:
        ConfigurationError: naming the option.
    """
    check_seats(options.seats)
    partner = options.partner
    if options.seats != "both":
        raise ConfigurationError(
            f"seats is {options.seats!r}, and a procedural scene has one seat for the student: "
            "leave it out"
        )
    if partner != MODEL and temperament(partner) is not TEMPERAMENTS[_PARTNER]:
        raise ConfigurationError(
            f"partner is {partner!r}, and procedural scenes have scripted partners of their own: "
            f"leave it out, or set partner={MODEL}"
        )
    if options.profiles is not None:
        raise ConfigurationError(
            f"profiles is {str(options.profiles)!r:.80}, and procedural scenes have characters of "
            "their own: leave it out"
        )
    if options.casts_per_scene != 1:
        raise ConfigurationError(
            f"casts_per_scene is {options.casts_per_scene}, and a procedural scene has one: leave "
            "it out"
        )


def _warn_if_greedy(options: SocialOptions) -> None:
    """Warn of another trial that may repeat trial 0: its scenes use no seeds, nor do replies."""
    is_played = options.partner == MODEL
    if options.scenes != "procedural" and (not is_played or options.order == "random"):
        return
    used = [options.sampling]
    if is_played or options.student_advises:
        used.append(options.partner_sampling)
    if options.strategists:
        used.append(options.strategy_sampling)
    if options.trial and not any(
        SamplingParameters.model_validate(each).temperature for each in used
    ):
        warn_run(
            f"trial is {options.trial}, and every temperature is 0, so its scenes may repeat those "
            "of trial 0: set task.sampling.temperature or task.partner_sampling.temperature"
        )
