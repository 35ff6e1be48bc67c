"""Scenes with characters, goals and secrets: those in the package, or from a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt

from dataenvgym.domains.social.collection import Profiles, read_profiles, shipped_profiles
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.environment import PlayOptions, SocialEnvironment
from dataenvgym.domains.social.loaders import FAIR, SceneOptions, SceneSource
from dataenvgym.domains.social.problem import MODEL
from dataenvgym.domains.social.procedural import ProceduralDomain, ProceduralScenes
from dataenvgym.domains.social.procedural_skills import SKILLS
from dataenvgym.domains.social.scene import Ends, Rules, TurnOptions, rules_of
from dataenvgym.domains.social.sotopia_dump import is_dump, read_benchmark
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import taken_from, takes
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import TaskOptions
from dataenvgym.tasks.source import ProceduralSource, Source


@dataclass(frozen=True, kw_only=True)
class SocialOptions(SceneOptions, TaskOptions, PlayOptions, TurnOptions):
    """Options of `SocialTask`.

    Attributes:
        profiles: a folder with characters.json and scenes.json; a dump of Sotopia, as a folder or
            "redis://HOST:PORT/DB" (see `read_benchmark`); or `Profiles`, such as
            `read_sotopia(...).profiles`; None: the package's own.
        n_procedural: number of procedural scenes, in all splits together.
        rules: when scenes end: "sotopia"; or "epo": as in EPO's code, and only the actions none,
            speak, leave.
    """

    profiles: Profiles | str | Path | None = None
    n_procedural: NonNegativeInt = 1000
    rules: Ends = "sotopia"


class SocialTask(Task):
    """Scenes with goals and secrets: negotiate with a scripted partner, or talk with a model.

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
        _warn_if_greedy(options)
        sampling = SamplingParameters.model_validate(options.sampling)
        if options.trial:
            own_seed = derive_seed(sampling.seed, "trial", options.trial)
            sampling = sampling.model_copy(update={"seed": own_seed})
        source: Source
        domain: SocialDomain
        if options.scenes == "procedural":
            source, domain = _procedural(options, rules)
        else:
            source = SceneSource(_profiles(options.profiles), options)
            domain = SocialDomain(rules, options)
        self.set_up(source, domain, replace(options, sampling=sampling))


def _procedural(options: SocialOptions, rules: Rules) -> tuple[Source, SocialDomain]:
    """The parts of a task with procedural scenes."""
    has_partner = options.partner != MODEL
    given = options.seats, options.profiles, options.casts_per_scene
    if given != ("both", None, 1) or (has_partner and options.partner != FAIR):
        raise ConfigurationError(
            "procedural scenes have a cast, characters, scripted partners and a seat for the "
            "student of their own: leave out seats, profiles, casts_per_scene and partner, or set "
            f"scenes=all; partner={MODEL} is possible, too"
        )
    family = ProceduralScenes(options.name, terse=False, is_scripted=has_partner, kinds=rules.kinds)
    sizes = {s: round(options.n_procedural * share) for s, share in options.fractions.items()}
    source = ProceduralSource(
        options.name, tuple(SKILLS), family.draw_instance, sizes=sizes, seed=options.seed
    )
    return source, ProceduralDomain(family, rules, options)


def _profiles(given: Profiles | str | Path | None) -> Profiles:
    if given is None:
        return shipped_profiles()
    if isinstance(given, str | Path):
        return read_benchmark(given) if is_dump(given) else read_profiles(given)
    return given


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


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> SocialEnvironment:
    """Make `dataenvgym/Social-v0`: by default, with negotiations (validation).

    Args:
        options: those of `PlayOptions` and `SocialEnvironment`.
    """
    play = taken_from(options, PlayOptions)
    instances = SocialTask().instances if instances is None else instances
    return SocialEnvironment(instances, play, **options)
