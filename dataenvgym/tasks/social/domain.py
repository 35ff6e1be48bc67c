"""The domain of social simulation: the student's goal decides how a conversation is scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    TaskInstance,
)
from dataenvgym.store import Store
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate
from dataenvgym.tasks.social.actions import Action, ActionKind, write_action
from dataenvgym.tasks.social.environment import PARTNER_SAMPLING, SocialEnvironment
from dataenvgym.tasks.social.partners import rounded, written
from dataenvgym.tasks.social.problem import MODEL, problem_of
from dataenvgym.tasks.social.recording import SceneRecorder
from dataenvgym.tasks.social.seat_scores import Scored
from dataenvgym.tasks.social.strategies import Strategies
from dataenvgym.tasks.social.turns import MOST_TURNS, Rules

_ASKS = ("I {verb} {price} for the {item}.", "{price} is what I can do.", "What about {price}?")


class SocialDomain(DialogueDomain):
    """Scenes played from one seat.

    Args:
        rules, dimensions, partner_sampling, strategies: see `SocialEnvironment`.
        judges, scored, template, system_prompt: see there.

    Attributes:
        recorder: stores the played scenes, once it is given a store.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        dimensions: Sequence[str] = ("goal",),
        partner_sampling: SamplingParameters = PARTNER_SAMPLING,
        judges: Sequence[str] = ("judge",),
        scored: Scored = "student",
        strategies: Strategies | None = None,
        system_prompt: str = "",
        template: str = INSTRUCTION,
    ) -> None:
        self.prompt_template = PromptTemplate(system_prompt, template)
        self._kinds = (rules or Rules()).kinds
        self.judges, self.scored = tuple(judges), scored
        self.recorder: SceneRecorder | None = None
        self._strategies = strategies or Strategies()
        self._environment = partial(
            SocialEnvironment,
            rules=rules,
            dimensions=dimensions,
            partner_sampling=partner_sampling,
            judges=judges,
            scored=scored,
            strategies=strategies,
            system_prompt=system_prompt,
            template=template,
        )
        self.make_environment()  # raises here if an option is invalid

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> SocialEnvironment:
        return self._environment(instances, recorder=self.recorder)

    def record_in(
        self, store: Store, models: Mapping[str, str] | None = None, *, events: bool = True
    ) -> None:
        """Also store scenes that are played from now on in this store.

        Args:
            models: the name of each model (see `SceneRecorder`).
            events: also store each action when it happens.
        """
        self.recorder = self.recorder or SceneRecorder()
        self.recorder.models |= models or {}
        self.recorder.keep_in(store, events=events)

    def prompt(self, instance: TaskInstance) -> Conversation:
        """The conversation that the student sees first, without a model's opening words."""
        if problem_of(instance).partner == MODEL or self._strategies.strategists:
            return self.prompt_template.conversation(self.text_of(instance))
        return super().prompt(instance)

    def text_of(self, instance: TaskInstance) -> str:
        """The introduction that the student reads before the scene begins, with its character."""
        problem = problem_of(instance)
        return self._strategies.students_introduction(problem.cast, problem.seat, self._kinds)

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        """The conversation from the student's first message on."""
        said = [m for m in completed.transcript if m.role in ("assistant", "user")]
        first = next((i for i, m in enumerate(said) if m.role == "assistant"), None)
        if first is None:
            return None
        names = {"assistant": "You", "user": "Scene"}
        return "\n".join(f"{names[m.role]}: {m.content}" for m in said[first:])

    def asks_model(self, instance: TaskInstance) -> bool:
        """Whether another model takes part: in another seat, as strategist, or as speaker."""
        strategies = self._strategies
        is_played = problem_of(instance).partner == MODEL
        return is_played or strategies.student_advises or bool(strategies.strategists)

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """The messages of a student that knows both limits of a deal.

        It offers the other's limit in its third turn, and keeps to it. If no price serves both, it
        leaves.
        """
        problem = problem_of(instance)
        deal = problem.scene.deal
        if deal is None or problem.seat not in (deal.seller, deal.buyer):
            return
        if not deal.is_possible:
            yield write_action(Action(ActionKind.LEAVE, "I am sorry, we are too far apart."))
            return
        sells = problem.seat == deal.seller
        aim = deal.buyer_most if sells else deal.seller_least
        verb = "ask" if sells else "offer"
        for turn in range(MOST_TURNS + 1):
            away = (0.5, 0.25)[turn] if turn < 2 else 0.0
            price = written(rounded(aim * (1 + away if sells else 1 - away), up=sells))
            price = price if away else written(aim)
            yield _ASKS[turn % len(_ASKS)].format(verb=verb, price=price, item=deal.item)
