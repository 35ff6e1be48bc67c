"""A policy around another one; what has to be asked of the inner one, it answers the same."""

from __future__ import annotations

from dataenvgym.plans import Policy


class WrappingPolicy:
    """Holds `policy` and needs what it needs (see `plans`)."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    @property
    def needs_skills(self) -> bool:
        return bool(getattr(self.policy, "needs_skills", False))

    @property
    def needs_engine_skills(self) -> bool:
        return bool(getattr(self.policy, "needs_engine_skills", False))

    @property
    def leaves_choice(self) -> bool:
        return bool(getattr(self.policy, "leaves_choice", False))

    @property
    def asks_student(self) -> bool:
        return bool(getattr(self.policy, "asks_student", False))

    @property
    def plans_nothing(self) -> bool:
        return bool(getattr(self.policy, "plans_nothing", False))

    @property
    def gives_examples(self) -> bool:
        return bool(getattr(self.policy, "gives_examples", True))
