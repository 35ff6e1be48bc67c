"""A scene from the student's seat; models or scripts play the other characters.

This is `dataenvgym/Social-v0`; bare `gymnasium.make` works on the package's negotiations
(validation), with a scripted partner.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataenvgym.domains.social.actions import Action, InvalidActionText, read_action
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.problem import MODEL, SocialProblem
from dataenvgym.domains.social.prompts import news, seat_conversation
from dataenvgym.domains.social.recording import SceneRecorder
from dataenvgym.domains.social.scene import MOST_TURNS, Rules, SceneState
from dataenvgym.domains.social.scores import Scoring
from dataenvgym.domains.social.scripted_partners import scripted_partner
from dataenvgym.domains.social.strategies import PARTNER_STRATEGIST, SPEAKER, STRATEGIST, Strategies
from dataenvgym.errors import SpeakerError
from dataenvgym.interfaces import Ask, Reply, SamplingParameters
from dataenvgym.records import Conversation, Message, TaskInstance
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.options import PromptOptions

SOLVED = 5.0
"""The goal score (0..10) from which a scene counts as solved."""


@dataclass(frozen=True, kw_only=True)
class PlayOptions(Strategies, Scoring, PromptOptions):
    """How a scene is played and scored.

    Attributes:
        partner_sampling: how the speakers "partner" and "speaker" draw their replies.
    """

    partner_sampling: SamplingParameters = SamplingParameters(max_tokens=512)


class SocialEnvironment(TaskEnvironment):
    """Reward: the student's goal score divided by 10, at the end; other dimensions are `scores`.

    Each message of the student is its action in one turn (see `actions`). The others act until it
    is the student's turn again; the student then sees the actions that it can notice. A message
    that is not an action does nothing in its turn, and a note gives the reason. If the student is
    a strategist, it writes strategies instead, and the speaker "speaker" acts (see `strategies`).

    The scene ends by its rules (see `scene.Rules`), or when the student leaves. The scene's rules
    score some dimensions, the speaker "judge" the others. A judge without a verdict, or another
    speaker whose reply is not an action, raises `SpeakerError`: nothing is scored.

    Args:
        options: how the scene is played and scored.
        rules: whose turn it is, and when the scene ends.
        recorder: stores the played scenes.
        more: others and render_mode, see `TaskEnvironment`.
    """

    max_turns = MOST_TURNS + 1  # the rules end a scene before that
    max_asks = 10 * MOST_TURNS
    worst_scores = {"goal": float(DIMENSIONS["goal"].low)}

    def __init__(
        self,
        instances: Sequence[TaskInstance] = (),
        options: PlayOptions = PlayOptions(),
        *,
        rules: Rules | None = None,
        recorder: SceneRecorder | None = None,
        **more: Any,
    ):
        super().__init__(
            instances, system_prompt=options.system_prompt, template=options.template, **more
        )
        self._rules = rules or Rules()
        validate = SamplingParameters.model_validate
        self._partner_sampling = validate(options.partner_sampling)
        self._strategy_sampling = validate(options.strategy_sampling)
        self._recorder = recorder or SceneRecorder()
        self._options = options

    @property
    def state(self) -> SceneState:
        """The present state of the scene."""
        return self._state

    def begin(self, instance: TaskInstance) -> Generator[Ask, Reply, Conversation]:
        problem = instance.data_as(SocialProblem)
        self._options.check_partner(problem.partner)
        self._record = self._recorder.record(instance.id, problem, self._episode_seed)
        state = SceneState.begin(problem.cast, self._rules, seed=problem.seed)
        state = yield from self._until_student_acts(problem, state)
        if not state.acting:
            raise SpeakerError(f"partner: the scene was over before it began: {state.ending}")
        self._problem, self._state = problem, state
        seat = problem.seat
        opening = self._options.students_introduction(state.cast, seat, self._rules.kinds)
        if seen := self._options.students_lines(state.cast, seat, state.events):
            opening = f"{opening}\n\n{news(seen)}"
        return self.prompt_template.conversation(opening)

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        problem, before = self._problem, self._state
        text = conversation[-1].content
        state = before
        actions: dict[int, Action] = {}
        notes: dict[int, str] = {}
        if self._options.student_advises:
            state = self._options.advised(state, problem.seat, text)
            actions[problem.seat] = yield from self._acts(SPEAKER, state, problem.seat)
        else:
            try:
                actions[problem.seat] = read_action(text, self._rules.kinds)
            except InvalidActionText as error:
                notes[problem.seat] = f"invalid action: {error}"
        state = yield from self._turn(problem, state, actions, notes)
        state = yield from self._until_student_acts(problem, state)
        is_over = state.ending is not None or problem.seat not in state.present
        new = state.events[len(before.events) :]
        lines = self._options.students_lines(state.cast, problem.seat, new)
        messages: tuple[Message, ...] = ()
        if not is_over or any(role == "user" for role, _ in lines):
            messages = (Message(role="user", content=news(lines)),)
        if not is_over:
            self._state = state
            return Outcome(messages, done=False)
        self._record.ended(state)
        scored = state.cast.seats if self._options.scored == "all" else [problem.seat]
        found = yield from self._options.of_seats(state, scored)
        self._record.scored(found)
        of_student = found[problem.seat]
        assert of_student is not None
        self._state = state  # only now: if a speaker fails, the state is unchanged
        scores, goal = of_student.scores, of_student.scores["goal"]
        return Outcome(
            messages,
            reward=goal / DIMENSIONS["goal"].high,
            was_correct=goal >= SOLVED,
            scores=scores,
        )

    def close(self) -> None:
        if record := getattr(self, "_record", None):
            record.close()
        super().close()

    # --- a turn ---

    def _until_student_acts(
        self, problem: SocialProblem, state: SceneState
    ) -> Generator[Ask, Reply, SceneState]:
        """Play until it is the student's turn, or its scene is over."""
        seat = problem.seat
        while state.acting and seat in state.present and seat not in state.acting:
            state = yield from self._turn(problem, state, {}, {})
        if "own" in self._options.strategists and seat in state.acting:
            state = yield from self._advised(STRATEGIST, state, seat)
        return state

    def _turn(
        self,
        problem: SocialProblem,
        state: SceneState,
        students: Mapping[int, Action],
        notes: Mapping[int, str],
    ) -> Generator[Ask, Reply, SceneState]:
        """The scene after a turn in which the others act, too, if it is their turn."""
        actions = dict(students)
        for seat in state.acting:
            if seat == problem.seat:
                continue
            if problem.partner != MODEL:
                partner = scripted_partner(problem.partner, problem.seed)
                actions[seat] = partner.act(state, seat)
                continue
            if "partner" in self._options.strategists:
                state = yield from self._advised(PARTNER_STRATEGIST, state, seat)
            actions[seat] = yield from self._acts("partner", state, seat)
        state = state.after(actions, notes)
        self._record.went_on(state)
        return state

    def _advised(self, who: str, state: SceneState, seat: int) -> Generator[Ask, Reply, SceneState]:
        """The scene after a strategist has advised the seat."""
        asked = self._options.conversation(state, seat)
        reply = yield Ask(who, asked, self._strategy_sampling)
        return self._options.advised(state, seat, reply.text)

    def _acts(self, who: str, state: SceneState, seat: int) -> Generator[Ask, Reply, Action]:
        """The action of a speaker for the seat."""
        reply = yield Ask(who, seat_conversation(state, seat), self._partner_sampling)
        try:
            return read_action(reply.text, self._rules.kinds)
        except InvalidActionText as error:
            raise SpeakerError(f"{who}: invalid action: {error}") from None
