"""`Judge`: teachers that return structured verdicts, asked many questions at once."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Generic

from dataenvgym.errors import BudgetSpentError, ConfigurationError, check_at_least
from dataenvgym.interfaces import Closes, Failure, SamplingParameters, TeacherInterface
from dataenvgym.judging.asking import RETRIES, SAMPLING, inquiry
from dataenvgym.judging.panel import Judged
from dataenvgym.judging.verdicts import Unscored, VerdictT, verdict_schema
from dataenvgym.llm.usage import count_malformed
from dataenvgym.records import Conversation
from dataenvgym.threads import ContextThreadPool

_Inquiry = Generator[Conversation, str, VerdictT | Unscored]


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

    Raises:
        ConfigurationError: if there are no teachers, if one is not a teacher, or for a negative
            `retries`.
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
        if not teachers:
            raise ConfigurationError("teachers is empty, expected at least one teacher by name")
        for name, teacher in teachers.items():
            if not isinstance(teacher, TeacherInterface):
                raise ConfigurationError(
                    f"the judge {name!r} is a {type(teacher).__name__}, expected a teacher (with "
                    "`ask`)"
                )
        check_at_least(0, retries=retries)
        self.teachers = dict(teachers)
        self.verdict = verdict
        self._retries = retries
        self._sampling = sampling.model_copy(update={"json_schema": verdict_schema(verdict)})
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
            new = {n: v for n, v in found.items() if v is not None}
            verdicts = {n: v for n, v in new.items() if not isinstance(v, Unscored)}
            unscored = {n: v.reason for n, v in new.items() if isinstance(v, Unscored)}
            judged.append(Judged({**already, **verdicts}, unscored))
        return judged

    def close(self) -> None:
        """Disconnect."""
        for teacher in self.teachers.values():
            if isinstance(teacher, Closes):
                teacher.close()

    def _ask_one(
        self, questions: Sequence[Conversation], known: Sequence[Mapping[str, VerdictT]], name: str
    ) -> list[VerdictT | Unscored | None]:
        """One judge's verdicts; None if it need not be asked."""
        teacher = self.teachers[name]
        found: list[VerdictT | Unscored | None] = [None] * len(questions)
        inquiries: dict[int, _Inquiry[VerdictT]] = {}
        waiting: dict[int, Conversation] = {}
        for i, asked in enumerate(questions):
            if name not in known[i]:
                inquiries[i] = inquiry(asked, self.verdict, retries=self._retries)
                waiting[i] = next(inquiries[i])
        while waiting:
            batch = list(waiting.values())
            try:
                replies = teacher.ask(batch, self._sampling, purpose=self._purpose)
            except BudgetSpentError as error:
                replies = [Failure(reason=f"not asked: {error}")] * len(batch)
            answered, waiting = dict(zip(waiting, replies, strict=True)), {}
            unread = 0
            for i, reply in answered.items():
                if isinstance(reply, Failure):
                    found[i] = Unscored(reply.reason)
                    continue
                try:
                    waiting[i] = inquiries[i].send(reply.text)
                    unread += 1
                except StopIteration as end:
                    found[i] = end.value
                    unread += isinstance(end.value, Unscored)
            count_malformed(teacher, unread)
        return found
