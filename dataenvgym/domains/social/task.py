"""Scenes with characters, goals and secrets: those in the package, or from a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

from dataenvgym.domains.social.collection import Profiles, read_profiles, shipped_profiles
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.environment import PARTNER_SAMPLING
from dataenvgym.domains.social.loaders import SceneSource, Seats, check_seats
from dataenvgym.domains.social.problem import MODEL
from dataenvgym.domains.social.procedural import ProceduralDomain, ProceduralScenes
from dataenvgym.domains.social.procedural_skills import SKILLS
from dataenvgym.domains.social.scene import Order, rules_of
from dataenvgym.domains.social.scores import Scored
from dataenvgym.domains.social.scripted_partners import TEMPERAMENTS, temperament
from dataenvgym.domains.social.strategies import STRATEGY_SAMPLING, Role, Side, Strategies
from dataenvgym.errors import ConfigurationError, check_at_least
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.run_warnings import warn_run
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.base import LONG_REPLIES, Task, TaskOptions
from dataenvgym.tasks.procedural import ProceduralSource
from dataenvgym.tasks.prompt_template import INSTRUCTION
from dataenvgym.tasks.source import Source, Split

_PARTNER = "fair"
THIRDS: Mapping[Split, float] = {"train": 0.4, "validation": 0.3, "test": 0.3}


class SocialTask(Task):
    """Scenes from the student's seat.

        SocialTask(partner="tough")                              # negotiations, without any model
        SocialTask(partner="model", others={"partner": ..., "judge": ...})

    Args:
        scenes: "all", a named subset such as "hard", or "procedural": generated small scenes with
            equal shares of the skills (see `procedural`) and scripted partners of their own.
        seats: the student's: "first", "second" or "both"; a procedural scene fixes it.
        partner: a temperament of the negotiators (see `scripted_partners`), who play the scenes
            with a deal; or "model": the speaker "partner" plays all scenes.
        profiles: `Profiles`, such as `read_sotopia(...).profiles`, or a folder that contains some
            (see `collection`); None: the package's own.
        name: name of the task.
        casts_per_scene, fractions, seed: see `SceneSource`.
        n_procedural: number of procedural scenes, in all splits together.
        rules: "sotopia" or "epo" (see `scene.rules_of`).
        order, turn_limit, most_stale: see `scene.Rules`.
        dimensions: the dimensions to score (see `SocialEnvironment`); the judges score those that
            the rules of a scene do not.
        judges, scored: see `SocialEnvironment`.
        trial: number of the repetition; it changes all seeds, but the scenes stay the same.
        partner_sampling: how the speakers "partner" and "speaker" draw their replies.
        role: the student's: "speaker", or "strategist" (the speaker "speaker" acts for it).
        strategists: other advisers, "own" and "partner": the speakers "strategist" and
            "partner_strategist".
        strategy_max_words, strategy_format, strategy_sampling: see `strategies.Strategies`.
        sampling: how the student draws its replies.
        options: those of `Task`.
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

    def __init__(
        self,
        scenes: str = "all",
        seats: Seats = "both",
        partner: str = _PARTNER,
        *,
        profiles: Profiles | str | Path | None = None,
        name: str = "social",
        casts_per_scene: int = 1,
        fractions: Mapping[Split, float] = THIRDS,
        seed: int = 0,
        n_procedural: int = 1000,
        rules: Literal["sotopia", "epo"] = "sotopia",
        order: Order = "round_robin",
        turn_limit: int = 20,
        most_stale: int = 2,
        dimensions: Sequence[str] = ("goal",),
        judges: Sequence[str] = ("judge",),
        scored: Scored = "student",
        trial: int = 0,
        system_prompt: str = "",
        template: str = INSTRUCTION,
        partner_sampling: SamplingParameters = PARTNER_SAMPLING,
        role: Role = "speaker",
        strategists: Sequence[Side] = (),
        strategy_max_words: int = 10,
        strategy_format: str = "Strategy: {strategy}",
        strategy_sampling: SamplingParameters = STRATEGY_SAMPLING,
        sampling: SamplingParameters = LONG_REPLIES,
        **options: Unpack[TaskOptions],
    ):
        played = rules_of(rules, order=order, turn_limit=turn_limit, most_stale=most_stale)
        strategies = Strategies(
            role,
            tuple(strategists),
            max_words=strategy_max_words,
            format=strategy_format,
            sampling=strategy_sampling,
        )
        strategies.check_partner(partner)
        strategies.warn_of_idle(options.get("others") or {}, partner, judges)
        check_at_least(0, trial=trial)
        has_seeds = scenes != "procedural" and (partner != MODEL or order == "random")
        if trial and not has_seeds:
            _warn_if_greedy(trial, strategies, partner, sampling, partner_sampling)
        how: dict[str, Any] = {
            "dimensions": dimensions,
            "partner_sampling": partner_sampling,
            "judges": judges,
            "scored": scored,
            "strategies": strategies,
            "system_prompt": system_prompt,
            "template": template,
        }
        domain: SocialDomain
        source: Source
        if scenes == "procedural":
            _check_procedural(seats, partner, profiles, casts_per_scene)
            family = ProceduralScenes(
                name, terse=False, is_scripted=partner != MODEL, kinds=played.kinds
            )
            domain = ProceduralDomain(family, played, **how)
            sizes = {split: round(n_procedural * share) for split, share in fractions.items()}
            source = ProceduralSource(
                name, tuple(SKILLS), family.draw_instance, sizes=sizes, seed=seed
            )
        else:
            domain = SocialDomain(played, **how)
            source = SceneSource(
                _profiles(profiles),
                name=name,
                scenes=scenes,
                seats=seats,
                partner=partner,
                casts_per_scene=casts_per_scene,
                fractions=fractions,
                seed=seed,
                trial=trial,
            )
        sampling = SamplingParameters.model_validate(sampling)
        if trial:
            own_seed = derive_seed(sampling.seed, "trial", trial)
            sampling = sampling.model_copy(update={"seed": own_seed})
        super().__init__(source, domain, name=name, sampling=sampling, **options)


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


def _check_procedural(
    seats: str, partner: str, profiles: Profiles | str | Path | None, casts_per_scene: int
) -> None:
    """Refuse options that have no effect on procedural scenes.

    Raises:
        ConfigurationError: naming the option.
    """
    check_seats(seats)
    if seats != "both":
        raise ConfigurationError(
            f"seats is {seats!r}, and a procedural scene has one seat for the student: leave it out"
        )
    if partner != MODEL and temperament(partner) is not TEMPERAMENTS[_PARTNER]:
        raise ConfigurationError(
            f"partner is {partner!r}, and procedural scenes have scripted partners of their own: "
            f"leave it out, or set partner={MODEL}"
        )
    if profiles is not None:
        raise ConfigurationError(
            f"profiles is {str(profiles)!r:.80}, and procedural scenes have characters of their "
            "own: leave it out"
        )
    if casts_per_scene != 1:
        raise ConfigurationError(
            f"casts_per_scene is {casts_per_scene}, and a procedural scene has one: leave it out"
        )


def _warn_if_greedy(
    trial: int,
    strategies: Strategies,
    partner: str,
    sampling: SamplingParameters,
    partner_sampling: SamplingParameters,
) -> None:
    """Warn of another trial that may repeat trial 0: its scenes use no seeds, nor do replies."""
    used = [sampling]
    if partner == MODEL or strategies.student_advises:
        used.append(partner_sampling)
    if strategies.strategists:
        used.append(strategies.sampling)
    if not any(SamplingParameters.model_validate(each).temperature for each in used):
        warn_run(
            f"trial is {trial}, and every temperature is 0, so its scenes may repeat those of "
            "trial 0: set task.sampling.temperature or task.partner_sampling.temperature"
        )
