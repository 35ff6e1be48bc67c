"""A scene as a PettingZoo environment, for training all seats (`dataenvgym[pettingzoo]`).

    env = SocialAECEnv()
    env.reset(seed=0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        env.step(None if termination or truncation else policy(observation["conversation"]))

The rules, actions and scores are those of `Social-v0`; no seat is scripted or asked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, MultiBinary
from gymnasium.utils import seeding

from dataenvgym.domains.social.actions import (
    ALL_KINDS,
    NOTHING,
    Action,
    ActionKind,
    InvalidActionText,
    read_action,
    write_action,
)
from dataenvgym.domains.social.environment import SOLVED
from dataenvgym.domains.social.evaluators import DIMENSIONS, DimensionName
from dataenvgym.domains.social.problem import SocialProblem
from dataenvgym.domains.social.prompts import dialogue, seat_conversation
from dataenvgym.domains.social.scene import Rules, SceneState
from dataenvgym.domains.social.scores import Scoring, SeatScores
from dataenvgym.domains.social.task import SocialTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, TeacherInterface
from dataenvgym.records import TaskInstance
from dataenvgym.records.spaces import ConversationSpace, TextSpace
from dataenvgym.records.tool_formats import said_in
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.asks import SEEDS, answered, asks_of
from dataenvgym.tasks.environment import chosen_instance
from dataenvgym.tasks.judging import dialogue_text
from dataenvgym.tasks.rollouts import speakers_of

try:
    from pettingzoo import AECEnv
except ImportError as error:
    raise ConfigurationError(
        "this needs the package pettingzoo, which is not installed: "
        'pip install "dataenvgym[pettingzoo]"'
    ) from error

_MOST_ASKS = 32  # of judges, for one seat


class ActionTextSpace(TextSpace):
    """Any text; `sample` draws the text of an action."""

    def draw(self, rng: np.random.Generator) -> str:
        return write_action(Action(ActionKind.SPEAK, super().draw(rng)))

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """The text of an action of a kind that the mask allows; without a mask, of any kind."""
        kinds = ALL_KINDS if mask is None else tuple(compress(ALL_KINDS, mask))
        kind = kinds[int(self.np_random.integers(len(kinds)))]
        if kind is ActionKind.NONE:
            return write_action(NOTHING)
        return write_action(Action(kind, super().draw(self.np_random)))


class SocialAECEnv(AECEnv):  # type: ignore[misc]  # pettingzoo has no types
    """One scene at a time; the agents are its seats, "seat_0", "seat_1", ...

    An action is a text as in `Social-v0`. A text that is not an action does nothing, and a note
    gives its seat the reason. An observation is a dict:

    - "conversation": the scene as the seat notices it (see `prompts.seat_conversation`); it ends
      with the message to answer;
    - "action_mask": 1 if the seat may now do nothing, speak, communicate without words, act, leave.

    In the order `simultaneous`, all seats are selected one after the other, and their actions take
    effect when the last seat has acted. Otherwise only the seat whose turn it is is selected.

    A seat is terminated when it leaves, or when the scene ends by its rules. It then gets its
    reward: its goal score divided by 10. `infos[agent]` has its `scores`, `was_correct` (goal score
    of 5 or more) and the `ending` of the scene, if it is over. Nothing is truncated.

    Args:
        instances: the scenes (see `SocialTask`); their `seat` and `partner` are ignored. None: the
            negotiations in the package (validation), which are scored by rule.
        rules: how they are played.
        dimensions: the dimensions to score, `goal` among them.
        others: {"judge": a predictor or teacher}, for what the rules of a scene do not score.
        every_seat: also select seats out of turn, which can only do `none`; their actions are not
            recorded. `aec_to_parallel` needs it, unless the order is simultaneous.
        render_mode: "ansi" (`render` returns the scene as text) or None.

    Attributes:
        scene: the current scene.
    """

    metadata: dict[str, Any] = {"name": "social_v0", "render_modes": ["ansi"]}

    def __init__(
        self,
        instances: Sequence[TaskInstance] | None = None,
        *,
        rules: Rules | None = None,
        dimensions: Sequence[DimensionName] = ("goal",),
        others: Mapping[str, PredictorInterface | TeacherInterface] | None = None,
        every_seat: bool = False,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.render_mode = render_mode
        self.instances = tuple(
            SocialTask(seats="first").instances if instances is None else instances
        )
        self.rules = rules or Rules()
        self.others = speakers_of(others)
        self._every_seat = every_seat or self.rules.order == "simultaneous"
        self.metadata = {**type(self).metadata, "is_parallelizable": self._every_seat}
        self._scoring = Scoring(dimensions=dimensions)
        seats = max(instance.data_as(SocialProblem).scene.seats for instance in self.instances)
        self.possible_agents = [f"seat_{seat}" for seat in range(seats)]
        mask = MultiBinary(len(ALL_KINDS))
        seen = {"conversation": ConversationSpace(), "action_mask": mask}
        self.observation_spaces = {agent: Dict(seen) for agent in self.possible_agents}
        self.action_spaces = {agent: ActionTextSpace() for agent in self.possible_agents}
        self._rng, _ = seeding.np_random()
        self.agents: list[str] = []
        self.agent_selection = ""
        self._texts: dict[int, str] = {}  # the texts of the seats in this turn
        self._waiting: list[str] = []  # the agents that are selected next in this turn

    def observation_space(self, agent: str) -> Dict:
        """The space of a seat's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> ActionTextSpace:
        """The space of a seat's texts; its `sample` takes the mask."""
        return self.action_spaces[agent]

    # --- PettingZoo's methods ---

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a scene: the one that `options` name, or one picked at random.

        Args:
            options: {"instance": TaskInstance} or {"instance_id": id}; others are ignored.

        Raises:
            InvalidInstanceError: if the instance does not exist.
        """
        if seed is not None:
            self._rng, _ = seeding.np_random(seed)
        instance = chosen_instance(self.instances, options or {}, self._rng)
        problem = instance.data_as(SocialProblem)
        self.scene = SceneState.begin(problem.cast, self.rules, seed=problem.seed)
        self.agents = [f"seat_{seat}" for seat in problem.cast.seats]
        self.rewards, self._cumulative_rewards = (dict.fromkeys(self.agents, 0.0) for _ in "12")
        self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in "12")
        self.infos: dict[str, dict[str, Any]] = {
            agent: {"instance_id": instance.id} for agent in self.agents
        }
        self._skip_agent_selection = None
        self._select()

    def observe(self, agent: str) -> dict[str, Any]:
        """A seat's view of the scene, and the kinds of action that it may do now."""
        seat = _seat_of(agent)
        kinds = self.rules.kinds if seat in self.scene.acting else (ActionKind.NONE,)
        return {
            "conversation": seat_conversation(self.scene, seat),
            "action_mask": np.array([kind in kinds for kind in ALL_KINDS], np.int8),
        }

    def step(self, action: str | None) -> None:
        """Act as the selected seat; None if it is terminated.

        Raises:
            SpeakerError: if a judge gives no verdict. Nothing is scored and the environment is
                unchanged; the same step asks the judge again.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        assert isinstance(action, str), action
        texts = {**self._texts, _seat_of(agent): action}
        if self._waiting:
            self._cumulative_rewards[agent] = 0.0
            self._clear_rewards()
            self._texts = texts
            self.agent_selection = self._waiting.pop(0)
            return
        actions, notes = dict[int, Action](), dict[int, str]()
        for seat in self.scene.acting:
            try:
                actions[seat] = read_action(said_in(texts[seat]), self.rules.kinds)
            except InvalidActionText as error:
                notes[seat] = f"invalid action: {error}"
        scene = self.scene.after(actions, notes)
        live = (_seat_of(agent) for agent in self.agents if not self.terminations[agent])
        over = [seat for seat in live if scene.ending is not None or seat not in scene.present]
        scored = {seat: self._scores(scene, seat) for seat in over}
        self.scene = scene
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        for seat, scores in scored.items():
            goal, done = scores["goal"], f"seat_{seat}"
            self.terminations[done] = True
            self.rewards[done] = goal / DIMENSIONS["goal"].high
            self.infos[done] |= {"scores": dict(scores), "was_correct": goal >= SOLVED}
            if scene.ending is not None:
                self.infos[done]["ending"] = scene.ending
        self._accumulate_rewards()
        self._select()
        self._deads_step_first()

    def render(self) -> str | None:
        """The scene as text in render mode "ansi", otherwise None."""
        return None if self.render_mode is None else dialogue_text(dialogue(self.scene))

    def close(self) -> None:
        """Do nothing: the caller closes `others`."""

    # --- a turn ---

    def _select(self) -> None:
        """Select the first seat of the next turn; the other seats of the turn wait."""
        self._texts = {}
        seats = self.scene.present if self._every_seat else self.scene.acting
        self._waiting = [f"seat_{seat}" for seat in seats]
        if self._waiting:
            self.agent_selection = self._waiting.pop(0)

    def _scores(self, scene: SceneState, seat: int) -> dict[str, float]:
        asking: Any = self._scoring.of_seat(scene, seat)
        asks = asks_of(
            asking,
            f"{type(self).__name__}.step()",
            seeds=lambda number: derive_seed(scene.seed, "judge", seat, number) % SEEDS,
            most=_MOST_ASKS,
        )
        found: SeatScores = answered(asks, self.others, self)
        return found.scores


def _seat_of(agent: str) -> int:
    return int(agent.removeprefix("seat_"))
