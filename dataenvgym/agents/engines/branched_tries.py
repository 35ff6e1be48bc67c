"""Scored records that differ from one turn on: a try, and other continuations from that turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from dataenvgym.agents.engines.scored_tries import TURN_VALUES, JudgedTriesEngine, named_turns
from dataenvgym.interfaces import (
    Failure,
    ForwardingPredictor,
    PredictorInterface,
    Reply,
    SamplingParameters,
)
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.tasks.judging import Unscored
from dataenvgym.tasks.record_conversion import scored_record_of, students_turns
from dataenvgym.tasks.rollouts.speakers import with_student
from dataenvgym.teachers.prompts import as_prompt


@dataclass(kw_only=True, eq=False)
class BranchedTriesEngine(JudgedTriesEngine):
    """Scored records that differ from one turn on, named by a judge (SDPO: trainer.scored_as=dpo).

    The student plays a problem. The task's judge names the turn where another reply would most
    likely have come closer to the goal; without a judge, a turn is drawn at random. The student
    then plays the problem again from that turn on. In each record only this turn has a weight: the
    reward of the try. With `trainer.scored_as=dpo`, the records become pairs that first differ at
    that turn; `trainer.scored_segment` makes the compared part longer: SDPO (Kong et al., 2025,
    "SDPO: Segment-Level Direct Preference Optimization for Social Agents").

    A try with the full reward is not played again, and has no record. A try also has no record if
    it failed, if the judge gave no verdict, or if another speaker said something else before that
    turn; the run warns about these. So speakers should be scripted, greedy or cached.

    Args:
        samples: plays of each problem, 2 or more: one whole, the others from that turn on.
        name_turns: ask the judge, if the task has one, for the turn; False draws it at random.
    """

    name = "branched_tries"

    samples: Annotated[int, Ge(2)] = 6  # one try, and another to compare with it

    def __post_init__(self) -> None:
        super().__post_init__()
        self._turn_prompt = as_prompt("social_error_turn", may=TURN_VALUES)
        self._branched_at: dict[str, int] = {}  # by problem, for the tries of the last `play`

    def play(
        self, problems: Sequence[TaskInstance], predictor: PredictorInterface, seed: int
    ) -> Sequence[Sequence[CompletedTaskInstance]]:
        """For each problem, a try and its continuations; empty if the try has the full reward."""
        with with_student(self.task.others, predictor) as others:  # not a replaying one
            task = copy(self.task)
            task.others = self.speakers(others)
            # examples go in front of what is replayed, which is stored without them
            predictor, task.examples = task.with_examples(predictor), None
            sampling = self.sampling.model_copy(update={"seed": seed % 2**31})
            first = task.attempt(predictor, problems, sampling=sampling)
            kept = [done for done in first if self._lost.keeps(done)]
            lacking = [done for done in kept if self.is_improvable(done)]
            places = self._branched_at = self._located(lacking, seed)
            again = [(d, places[d.instance.id]) for d in lacking if d.instance.id in places]
            tries = {done.instance.id: [done] for done, _ in again}
            for number in range(1, self.samples if again else 1):
                anew = derive_seed(seed, "branch", number) % 2**31
                student = ReplayedPredictor(predictor, again, seed=anew)
                chosen = [done.instance for done, _ in again]
                for done in task.attempt(student, chosen, sampling=sampling):
                    if self._lost.keeps(done):
                        tries[done.instance.id].append(done)
            return [tries.get(problem.id, []) for problem in problems]

    def speakers(self, others: Mapping[str, PredictorInterface]) -> dict[str, PredictorInterface]:
        """The speakers of a play and its continuations; a subclass may change them."""
        return dict(others)

    def is_improvable(self, done: CompletedTaskInstance) -> bool:
        """Whether a try lacks something, and is played again."""
        return done.reward < 1.0

    def alike(self, tries: Sequence[CompletedTaskInstance]) -> list[CompletedTaskInstance]:
        """A try and those of its continuations that are equal to it before the turn."""
        if not tries:
            return []
        first, *branches = tries
        place = self._branched_at[first.instance.id]
        start = first.transcript[:place]
        alike = [first]
        for done in branches:
            if done.transcript[:place] == start:
                alike.append(done)
            else:
                self._lost.astray.append("another speaker said something else before that turn")
        return alike

    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[TrainingDatum]:
        """Make the records of a try and its continuations, if there are any."""
        alike = self.alike(tries)
        if len(alike) < 2:
            return ()
        place = self._branched_at[alike[0].instance.id]
        prompt = self.task.prompt(alike[0].instance)
        records = []
        for done in alike:
            turns = students_turns(done, prompt)
            weights = [done.reward if turn == place else None for turn in turns]
            records.append(scored_record_of(done, weights, prompt))
        return [record for record in records if record is not None]

    def _located(self, tries: Sequence[CompletedTaskInstance], seed: int) -> dict[str, int]:
        """By problem, the index in the transcript of the turn to play again."""
        turns = [students_turns(d, self.task.prompt(d.instance)) for d in tries]
        if self.judge is None:
            drawn = [derive_rng(seed, "turn", d.instance.id) for d in tries]
            return {
                done.instance.id: int(rng.choice(places))
                for done, places, rng in zip(tries, turns, drawn, strict=True)
            }
        found: dict[str, int] = {}
        played = [*zip(tries, turns, strict=True)]
        verdicts = named_turns(
            self.judge,
            played,
            task=self.task,
            most=1,
            prompt=self._turn_prompt,
            several=False,
        )
        for done, verdict in zip(tries, verdicts, strict=True):
            if isinstance(verdict, Unscored):
                self._lost.unscored.append(verdict.reason)
            elif verdict:
                found[done.instance.id] = verdict[0].turn
        return found


class ReplayedPredictor(ForwardingPredictor):
    """The student, but it begins each conversation as in an earlier try, up to a place in it.

    If the other speakers repeat themselves too, the conversation is the same up to that turn. So
    play it with the seed of the earlier try, from which the environment and the other speakers
    derive theirs. The student's later turns are drawn with `seed`.
    """

    def __init__(
        self,
        student: PredictorInterface,
        tries: Iterable[tuple[CompletedTaskInstance, int]],
        *,
        seed: int,
    ) -> None:
        super().__init__(student)
        self._seed = seed
        self._said = {
            conversation_key(done.transcript[:i]): as_reply(done.transcript[i])
            for done, place in tries
            for i in range(place)
            if done.transcript[i].role == "assistant"
        }

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """Return the earlier message of each conversation, or a new reply."""
        replies: dict[int, Reply | Failure] = {}
        for i, conversation in enumerate(conversations):
            if (text := self._said.get(conversation_key(conversation))) is not None:
                replies[i] = Reply(text=text)
        new = [i for i in range(len(conversations)) if i not in replies]
        if new:
            anew = sampling.model_copy(update={"seed": self._seed})
            found = super().predict([conversations[i] for i in new], anew)
            replies |= zip(new, found, strict=True)
        return [replies[i] for i in range(len(conversations))]


def conversation_key(conversation: Conversation) -> tuple[str, ...]:
    """Identifies a conversation; hashable."""
    return tuple(message.model_dump_json() for message in conversation)
