"""Stores scenes: each as a `SceneLog` once it is over, and as events while it is played.

Only scenes played for a run or an evaluation are stored (see `attempts_for`).

An episode is written when its scene ends, and again with its scores. If the judge fails, the
utterances are still stored; a scene that breaks off leaves no episode. The events of a run are one
stream under the run's name; its secrets are redacted:

    {"event": "began", "episode": ID, "scene": ID, "characters": [...], "models": [...]}
    {"event": "turn", "episode": ID, "turn": 0, "from": NAME, "to": [...], "kind": ..., "text": ...}
    {"event": "ended", "episode": ID, "turns": 20, "why": "20 turns are over"}
    {"event": "scored", "episode": ID, "scores": [...]}
    {"event": "failed", "episode": ID}     # instead of scores: a partner or the judge failed

If a killed run is resumed and a scene is played again, it begins again under the same id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import fsum

from dataenvgym.domains.social.actions import ActionKind
from dataenvgym.domains.social.problem import MODEL, SocialProblem
from dataenvgym.domains.social.scene import Event, SceneState
from dataenvgym.domains.social.scene_log import EPISODES, SceneLog, SeatScore, Utterance
from dataenvgym.domains.social.scores import SeatScores
from dataenvgym.errors import StoreError
from dataenvgym.records.store import Store
from dataenvgym.records.store.documents import Ledger
from dataenvgym.tasks.base import Purpose, current_purpose

ENVIRONMENT = "Environment"
"""Sotopia's name for the environment, which receives public actions and describes the scene."""
_LONGEST_ID = 150


class SceneRecorder:
    """Stores the played scenes.

    Args:
        models: the model in each role, such as {"student": "openai/NAME", "partner": ...,
            "judge": ...}; also "strategist", "partner_strategist" and "speaker", if they exist.

    Attributes:
        is_lost: whether the last write to a store failed.
        documents, events: the stores of episodes, and of what happens in them.
        ledger: of the episodes, if their store is that of a run.
    """

    kind = EPISODES

    def __init__(self, models: Mapping[str, str] | None = None) -> None:
        self.models = dict(models or {})
        self.is_lost = False
        self.ledger: Ledger | None = None
        self.documents: list[Store] = []
        self.events: list[Store] = []

    def put(self, episode: SceneLog) -> None:
        """Keep an episode."""
        with self._losing():
            for store in self.documents:
                store.put(EPISODES, episode.id, episode)
        if self.ledger is not None:
            self.ledger.add(episode.id)

    def tell(self, stream: str, event: Mapping[str, object]) -> None:
        """Add an event to a stream."""
        with self._losing():
            for store in self.events:
                store.add_event(stream, event)

    @contextmanager
    def _losing(self) -> Iterator[None]:
        self.is_lost = True
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the store of episodes cannot be written: {error}. Once it can, the same command "
                "continues"
            ) from error
        self.is_lost = False

    def record(self, instance_id: str, problem: SocialProblem, seed: int | None) -> SceneRecord:
        """Start the record of a scene; it is in no store outside of `attempts_for`.

        Args:
            seed: of the environment's episode.
        """
        purpose = current_purpose()
        episode = SceneLog(
            id=episode_id(purpose, instance_id, seed),
            scene=problem.scene.id,
            characters=tuple(c.id for c in problem.characters),
            tag=purpose.run,
            models=self.models_of(problem),
        )
        return SceneRecord(episode, self if purpose.run else SceneRecorder())

    def models_of(self, problem: SocialProblem) -> tuple[str, ...]:
        """The judge ("rules" without one), then the model in each seat, and its adviser."""
        named = self.models
        student = _advised(named.get("student", "student"), named.get("strategist"))
        if speaker := named.get("speaker"):
            student = _advised(speaker, named.get("student", "student"))
        other: str = problem.partner
        if other == MODEL:
            other = _advised(named.get("partner", MODEL), named.get("partner_strategist"))
        seats = (student if seat == problem.seat else other for seat in problem.cast.seats)
        return (named.get("judge", "rules"), *seats)


class SceneRecord:
    """One scene in the stores; `SceneRecorder.record` makes it.

    Each method raises a StoreError if a store cannot be written; documents are never half-written.
    """

    def __init__(self, episode: SceneLog, recorder: SceneRecorder) -> None:
        self._episode, self._recorder = episode, recorder
        self._n_told, self._is_over = 0, False
        who = {"characters": list(episode.characters), "models": list(episode.models)}
        self._tell("began", scene=episode.scene, **who)

    def went_on(self, state: SceneState) -> None:
        """Store the events since the last call."""
        new, self._n_told = state.events[self._n_told :], len(state.events)
        for event in new:
            said = utterance(state, event)
            kind = event.action.kind.value
            if event.note:
                kind = "strategy" if event.strategist == "wrote" else "note"
            self._tell(
                "turn",
                turn=event.turn,
                **{"from": said.sender},
                to=[] if said.recipient == ENVIRONMENT else said.recipient.split("; "),
                kind=kind,
                text=event.note or event.action.argument,
            )

    def ended(self, state: SceneState) -> None:
        """Store the episode, without scores."""
        self._put(turns=turns_of(state))
        self._tell("ended", turns=state.n_turns, why=state.ending or "the student left")

    def scored(self, seats: Sequence[SeatScores | None]) -> None:
        """Store the episode with its scores; None for a seat that is not scored."""
        found = tuple(seat and _score(seat.scores) for seat in seats)
        self._put(
            scores=found,
            by_judge=tuple({} if seat is None else seat.by_judge for seat in seats),
            reasoning="\n\n".join(seat.reasoning for seat in seats if seat and seat.reasoning),
        )
        self._tell("scored", scores=[s and s.model_dump(mode="json") for s in found])
        self._is_over = True

    def close(self) -> None:
        """Store a "failed" event if the scene has no scores yet."""
        if not self._is_over and not self._recorder.is_lost:
            self._is_over = True
            self._tell("failed")

    def _put(self, **changed: object) -> None:
        self._episode = self._episode.model_copy(update=changed)
        self._recorder.put(self._episode)

    def _tell(self, event: str, **content: object) -> None:
        told = {"event": event, "episode": self._episode.id, **content}
        self._recorder.tell(self._episode.tag, told)


def _score(scores: Mapping[str, float]) -> SeatScore:
    dimensions = {name: value for name, value in scores.items() if name != "overall"}
    mean = fsum(dimensions.values()) / len(dimensions)
    return SeatScore(overall=scores.get("overall", mean), dimensions=dimensions)


def episode_id(purpose: Purpose, instance_id: str, seed: int | None) -> str:
    """The id of an episode: the same for the same attempt."""
    made = hashlib.sha256(repr((purpose.run, purpose.phase, instance_id, seed)).encode())
    names = ".".join(filter(None, (purpose.run, purpose.phase, instance_id)))
    readable = names.encode("ascii", "replace").decode().replace("?", "_")
    return f"{readable[:_LONGEST_ID]}.{made.hexdigest()[:8]}"


def turns_of(state: SceneState) -> tuple[tuple[Utterance, ...], ...]:
    """The log in Sotopia's form: each character gets the scene's description, then all turns."""
    told = tuple(
        Utterance(sender=ENVIRONMENT, recipient=name, text=state.cast.scene.scenario)
        for name in state.cast.names
    )
    turns: list[list[Utterance]] = [[] for _ in range(state.n_turns)]
    for event in state.events:
        turns[event.turn].append(utterance(state, event))
    return (told, *map(tuple, turns))


def utterance(state: SceneState, event: Event) -> Utterance:
    """An event as Sotopia writes it."""
    names = state.cast.names
    who = names[event.seat]
    if event.note:
        return Utterance(sender=ENVIRONMENT, recipient=who, text=event.note)
    to = "; ".join(names[seat] for seat in event.to)
    kind, argument = event.action.kind, event.action.argument
    if kind is ActionKind.SPEAK:
        text = f'said: "{argument}"'
    elif kind is ActionKind.LEAVE:
        text = "left the conversation" + (f', saying: "{argument}"' if argument else "")
    else:
        text = f"[{kind.value}] {argument}"
    return Utterance(sender=who, recipient=to or ENVIRONMENT, text=text)


def _advised(who: str, strategist: str | None) -> str:
    return f"{who} advised by {strategist}" if strategist else who
