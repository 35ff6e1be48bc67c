"""Questions of files, to be answered with priced models: HLE, FRAMES and others as JSON lines.

A row has `question` and `answer`, and may have `id`, `category` and `preference`. A row with an
`image`, as HLE has, is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, PositiveInt, StringConstraints

from dataenvgym.domains.orchestrate.calls import account_of, policy_scores, priced
from dataenvgym.domains.orchestrate.domain import OrchestrateDomain
from dataenvgym.domains.orchestrate.environment import SYSTEM, TEMPLATE, CallOptions
from dataenvgym.domains.orchestrate.preferences import parse_preference
from dataenvgym.domains.orchestrate.retrievers import Retriever, make_retriever
from dataenvgym.domains.orchestrate.tiers import (
    RETRIEVAL,
    Tier,
    make_speakers,
    parse_tiers,
    read_endpoints,
)
from dataenvgym.interfaces import PredictorInterface, SamplingParameters
from dataenvgym.options import PlainText, takes
from dataenvgym.records import CompletedTaskInstance, Model, TaskInstance
from dataenvgym.records.instances import STUDENT
from dataenvgym.records.usage import NOTHING
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.options import THIRDS, FileOptions, PromptOptions, TaskOptions
from dataenvgym.tasks.rows import SourceRow, UnfitRowError, parsed
from dataenvgym.tasks.source import Split
from dataenvgym.teachers.budget import Price, parse_price


@dataclass(frozen=True, kw_only=True)
class OrchestrationOptions(TaskOptions, PromptOptions, CallOptions):
    """Options of tasks of orchestration.

    Attributes:
        tiers: changes of the default tiers, and more tiers, by name (see `Tier`).
        preference: what the user of each problem without a preference of its own wants: weights by
            name, or `{text: ..., weights: ...}` (see `Preference`).
        policy_price: of the student, in US dollars for a million tokens: `{prompt: ...,
            completion: ...}`; null if it is unknown.
        max_turns: the most messages of the student.
        sampling: how the student draws its replies.
    """

    tiers: Mapping[str, Any] | None = None
    preference: Mapping[str, Any] | None = None
    policy_price: Price | Mapping[str, float] | None = None
    max_turns: PositiveInt = 50
    system_prompt: PlainText[str] = SYSTEM
    template: PlainText[str] = TEMPLATE
    sampling: SamplingParameters = SamplingParameters(max_tokens=1024)


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(OrchestrationOptions, FileOptions):
    """Options of `OrchestrateTask`.

    Attributes:
        endpoints: a file with the servers of models, as ToolOrchestra's `model_config.json`.
        retriever: what searches search in: a folder of .txt and .md files, http://HOST:PORT or a
            list of servers, or an object with `search(query, k)`; null is the file's "retrieval".
    """

    name: str = "qa_jsonl"
    endpoints: str | Path | None = None
    retriever: Retriever | str | Path | Sequence[str] | None = None
    fractions: Mapping[Split, float] = field(default_factory=lambda: THIRDS)


class OrchestratedTask(Task):
    """A task whose attempts count what the student itself took: the scores `policy_cost`, ..."""

    def make_domain(
        self,
        options: OrchestrationOptions,
        tiers: Mapping[str, Tier],
        *,
        retriever: Retriever | None,
        kind: type[OrchestrateDomain] = OrchestrateDomain,
    ) -> OrchestrateDomain:
        """The domain of these options."""
        self.policy_price = parse_price(options.policy_price, name="policy_price")
        domain = kind(
            tiers,
            options,
            others=options.others,
            prompt_template=options.prompt,
            max_turns=options.max_turns,
            retriever=retriever,
        )
        self.preference = (
            None
            if options.preference is None
            else parse_preference(options.preference, domain.offered, "task.preference")
        )
        return domain

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems; those without a preference of their own get that of the task."""
        instances = super().load(split)
        if self.preference is None:
            return instances
        own = {"preference": self.preference.model_dump(mode="json")}
        return [i.model_copy(update={"data": {**own, **i.data}}) for i in instances]

    def attempt(
        self,
        predictor: PredictorInterface,
        instances: Sequence[TaskInstance] | None = None,
        *,
        samples: int = 1,
        sampling: SamplingParameters | None = None,
        adapters: Sequence[Path | None] | None = None,
    ) -> list[CompletedTaskInstance]:
        """See `Task.attempt`."""
        tries = super().attempt(
            predictor, instances, samples=samples, sampling=sampling, adapters=adapters
        )
        return [self._priced(done) for done in tries]

    def _priced(self, done: CompletedTaskInstance) -> CompletedTaskInstance:
        """With the student's usage as scores, and the usage of tiers as that of "tools"."""
        domain = self.domain
        assert isinstance(domain, OrchestrateDomain)
        tiers, scores = domain.tiers, done.scores
        usage = {
            who: tuple(priced(one, self.policy_price if who == STUDENT else None) for one in took)
            for who, took in done.usage.items()
            if who not in tiers
        }
        if done.error is None:
            tools = account_of(done.transcript).tools  # simulated tiers included
            if STUDENT in usage:
                scores = {**scores, **policy_scores(sum(usage[STUDENT], NOTHING))}
        else:
            asked = [(tiers[who], one) for who in tiers for one in done.usage.get(who, ())]
            tools = sum((priced(one, tier.price, tier.seconds) for tier, one in asked), NOTHING)
        usage["tools"] = (tools,)
        return done.model_copy(update={"scores": scores, "usage": usage})


class OrchestrateTask(OrchestratedTask):
    """Questions of a file (HLE, FRAMES) for an orchestrator of priced models: task.sources=FILE.

    OrchestrateTask("hle.jsonl", tiers={"answer-4": {"accuracy": 0.4}})
    """

    @takes(QuestionOptions)
    def __init__(self, options: QuestionOptions) -> None:
        tiers = parse_tiers(options.tiers)
        endpoints = {} if options.endpoints is None else read_endpoints(options.endpoints)
        given = dict(options.others or {})
        options = replace(options, others={**make_speakers(tiers, endpoints, given), **given})
        retriever = make_retriever(options.retriever, endpoints.get(RETRIEVAL, ()))
        domain = self.make_domain(options, tiers, retriever=retriever)
        read = partial(to_instance, name=options.name, offered=domain.offered)
        self.set_up_rows(domain, options, read)


_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Question(Model):
    model_config = ConfigDict(frozen=True, extra="ignore")

    question: _Words
    answer: _Words
    category: str | None = None


def to_instance(row: SourceRow, *, name: str, offered: Collection[str]) -> TaskInstance:
    """The problem in a row.

    Raises:
        UnfitRowError: if it shows an image.
        InvalidInstanceError: if its question or answer is not text, or its preference is invalid.
    """
    values = row.values
    if values.get("image"):
        raise UnfitRowError(f"{row.where}: the question shows an image, and tools get text only")
    asked = parsed(_Question, values, row.where)
    data: dict[str, Any] = {}
    if (wanted := values.get("preference")) is not None:
        data["preference"] = parse_preference(wanted, offered, row.where).model_dump(mode="json")
    return TaskInstance(
        id=str(values.get("id") or row.id),
        task=name,
        instruction=asked.question,
        answer=asked.answer,
        skill=asked.category,
        category=asked.category,
        data=data,
    )
