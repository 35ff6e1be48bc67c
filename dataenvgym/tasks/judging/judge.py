"""`Judge`: teachers that return structured verdicts, asked many questions at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Generic

from dataenvgym.events import ContextThreadPool
from dataenvgym.interfaces import SamplingParameters, TeacherInterface
from dataenvgym.records import Conversation
from dataenvgym.records.usage import NOTHING
from dataenvgym.tasks.judging.panel import Judged
from dataenvgym.tasks.judging.verdict_asks import RETRIES, SAMPLING, judge_ask
from dataenvgym.tasks.judging.verdicts import Unscored, VerdictT
from dataenvgym.tasks.rollouts.driver import asked_together
from dataenvgym.tasks.rollouts.instance_rollout import Asking
from dataenvgym.tasks.rollouts.speakers import TeacherSpeaker, close_speakers
from dataenvgym.teachers.budget import count_malformed


class Judge(Generic[VerdictT]):
    """Asks each of several teachers for a verdict on each question.

    After a reply that cannot be parsed, the question is asked again, with the reason. A question
    that never gets a valid reply is unscored. Cache, budget and transcript are the teachers'.

    Args:
        teachers: the judges by name.
        verdict: the model of their verdicts.
        retries: how often a judge is asked again after a reply that cannot be parsed.
        sampling: how the judges answer; `json_schema` is set to that of the verdict.
        purpose: of the calls, for the teachers' transcripts.
    """

    def __init__(
        self,
        teachers: Mapping[str, TeacherInterface],
        verdict: type[VerdictT],
        *,
        retries: int = RETRIES,
        sampling: SamplingParameters = SAMPLING,
        purpose: str = "judge",
    ) -> None:
        self.teachers = dict(teachers)
        self.verdict = verdict
        self._retries = retries
        self._sampling = sampling
        self._purpose = purpose

    def ask(
        self,
        questions: Sequence[Conversation],
        *,
        but: Sequence[Mapping[str, VerdictT]] | None = None,
    ) -> list[Judged[VerdictT]]:
        """The judges' verdicts, in the order of the questions; all judges are asked at once.

        Args:
            but: for each question, the verdicts that exist already: those judges are not asked.

        Raises:
            ServerError: if a judge's server refuses the key, or does not have the model.
            ExternalError: if a judge's cache cannot be reached.
        """
        known = [{}] * len(questions) if but is None else but
        with ContextThreadPool(len(self.teachers), thread_name_prefix="judge") as pool:
            said = list(pool.map(partial(self._ask_one, questions, known), self.teachers))
        judged = []
        for i, already in enumerate(known):
            found = {name: each[i] for name, each in zip(self.teachers, said, strict=True)}
            asked = {n: one for n, one in found.items() if one is not None}
            new = {n: one.result for n, one in asked.items()}
            verdicts = {n: v for n, v in new.items() if not isinstance(v, Unscored)}
            unscored = {n: v.reason for n, v in new.items() if isinstance(v, Unscored)}
            usage = sum((u for n, one in asked.items() for u in one.usage.get(n, ())), NOTHING)
            judged.append(Judged({**already, **verdicts}, unscored, usage))
        return judged

    def close(self) -> None:
        close_speakers(self.teachers)

    def _ask_one(
        self, questions: Sequence[Conversation], known: Sequence[Mapping[str, VerdictT]], name: str
    ) -> list[Asking[VerdictT | Unscored] | None]:
        """One judge, asked for its verdicts; None where it need not be asked."""
        judge = TeacherSpeaker(self.teachers[name], self._purpose)
        asking = {
            i: judge_ask(
                asked,
                self.verdict,
                who=name,
                retries=self._retries,
                sampling=self._sampling,
                may_fail=True,
            )
            for i, asked in enumerate(questions)
            if name not in known[i]
        }
        said = asked_together([*asking.values()], {name: judge})
        n_replies = sum(len(replies) for one in said for replies in one.usage.values())
        n_verdicts = sum(not isinstance(one.result, Unscored) for one in said)
        count_malformed(judge.teacher, n_replies - n_verdicts)
        found = dict(zip(asking, said, strict=True))
        return [found.get(i) for i in range(len(questions))]
