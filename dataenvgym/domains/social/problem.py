"""A scene to be played from one seat, as the data of a `TaskInstance`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from dataenvgym.domains.social.profiles import Character, Scene
from dataenvgym.domains.social.prompts import task_text
from dataenvgym.domains.social.scene import Cast
from dataenvgym.domains.social.scripted_partners import TEMPERAMENTS, Manner, Partner
from dataenvgym.records import Model, TaskInstance

MODEL: Literal["model"] = "model"
"""The partner that the speaker "partner" plays."""


class SocialProblem(Model):
    """A scene, the characters in its seats, and the student's seat.

    Attributes:
        partner: who plays the other seats: "model", or a temperament or manner of
            `scripted_partners`.
        seed: of the scripted partners and of a random order of turns.
    """

    scene: Scene
    characters: tuple[Character, ...]
    seat: int = Field(default=0, ge=0)
    partner: Literal[Partner, Manner] = MODEL
    seed: int = Field(default=0, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        Cast(self.scene, self.characters)
        if self.seat >= self.scene.seats:
            raise ValueError(f"seat is {self.seat}, expected 0 to {self.scene.seats - 1}")
        if self.partner in TEMPERAMENTS and self.scene.deal is None:
            raise ValueError(
                f"partner is {self.partner!r}, and the scene has no deal to negotiate about; "
                f"expected {MODEL!r}"
            )
        return self

    @property
    def cast(self) -> Cast:
        """Scene and characters."""
        return Cast(self.scene, self.characters)


def to_instance(problem: SocialProblem, *, id: str, task: str) -> TaskInstance:
    """The instance for a problem; its skill is the scene's motive.

    Its instruction contains no profiles. Problems share profiles, so a training record with the
    same characters does not leak a problem.
    """
    scene = problem.scene
    return TaskInstance(
        id=id,
        task=task,
        instruction=task_text(scene, problem.seat),
        skill=scene.motive,
        category=scene.subsets[0] if scene.subsets else None,
        data=problem.model_dump(mode="json", exclude_defaults=True),
    )
