"""Requests: parts of a plan that one answer of a language model can fill.

An assignment to a skill becomes requests of at most `batch` records, each with its own sample of
the examples. Assignments with examples only are often tiny, so neighbors of the same skill share a
request. A request without examples shows problems of the training split instead, so that the
teacher knows what a problem looks like.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

import numpy as np

from dataenvgym.errors import shorten
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    Provenance,
    SupervisedDatum,
    TaskInstance,
)
from dataenvgym.records.plans import Plan
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import Domain, last_reply
from dataenvgym.teachers.prompts import Prompt

T = TypeVar("T")
_LONGEST_TEXT = 2000
_MOST_WRITTEN = 20


class _PlainDomain(Domain):
    """Problems and tries as texts, without a task."""

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> NoReturn:
        raise NotImplementedError


PLAIN_DOMAIN = _PlainDomain()
DomainOf = Callable[[TaskInstance | Provenance], Domain]


@dataclass
class RecordRequest:
    """A request for `count` records of a skill, modeled on the examples or the samples.

    Examples are mostly errors of the student; samples are training problems.
    """

    count: int
    provenance: Provenance
    examples: tuple[CompletedTaskInstance, ...]
    samples: tuple[TaskInstance, ...] = ()
    records: list[SupervisedDatum] = field(default_factory=list)

    @property
    def missing(self) -> int:
        return self.count - len(self.records)

    def conversation(self, prompt: Prompt, domain_of: DomainOf) -> Conversation:
        """Write the request for the missing records; their domains render the problems.

        An example that the student solved or was not asked (see `BlindPolicy`) is shown as a
        sample.
        """
        skill, subskill = self.provenance.skill, self.provenance.subskill
        domain = domain_of(self.provenance)
        wrong = [e for e in self.examples if is_error(e)]
        samples = [*(e.instance for e in self.examples if not is_error(e)), *self.samples]
        return prompt.render(
            count=self.missing,
            skill=f"{skill}, and of it: {subskill}" if skill and subskill else subskill or skill,
            examples="\n\n".join(shown_example(e, i + 1, domain_of) for i, e in enumerate(wrong)),
            samples="\n\n".join(
                _shown(s, i + 1, None, domain_of(s)) for i, s in enumerate(samples)
            ),
            told=domain.teacher_context
            if isinstance(domain, DialogueDomain)
            else domain.prompt_template.system,
            hypotheses="\n".join(f"- {h}" for h in self.provenance.hypotheses),
            written="\n".join(f"- {_cut(r.instruction)}" for r in self.records[-_MOST_WRITTEN:]),
        )


def requests_of(
    plan: Plan, *, batch: int, most_examples: int, rng: np.random.Generator
) -> list[RecordRequest]:
    """Cut the plan into requests."""
    requests: list[RecordRequest] = []
    for assignment in plan:
        skill = assignment.skill
        if skill is None and len(skills := {e.instance.skill for e in assignment.examples}) == 1:
            skill = skills.pop()
        provenance = Provenance(skill=skill, subskill=assignment.subskill, task=assignment.task)
        taken = 0
        is_unnamed = assignment.skill is None and assignment.subskill is None
        if is_unnamed and assignment.examples and requests:
            last = requests[-1]
            room = most_examples - len(last.examples)
            fits = last.provenance == provenance and last.count < batch
            if fits and last.examples and room > 0:
                taken = min(batch - last.count, assignment.count)
                last.count += taken
                last.examples += _sample(assignment.examples, room, rng)
        for begin in range(taken, assignment.count, batch):
            count = min(batch, assignment.count - begin)
            requests.append(
                RecordRequest(count, provenance, _sample(assignment.examples, most_examples, rng))
            )
    return requests


def add_samples(
    requests: Sequence[RecordRequest],
    problems: Sequence[TaskInstance],
    most: int,
    rng: np.random.Generator,
    tasks: Sequence[str] = (),
) -> None:
    """Add sample problems to requests without examples, of the request's skill if there are any.

    With several `tasks`, such a request is for one of those with the skill, drawn at random.
    """
    by_skill: dict[str | None, list[TaskInstance]] = {}
    for problem in problems:
        by_skill.setdefault(problem.skill, []).append(problem)
    for request in requests:
        if not request.examples:
            of_skill = problems
            if (skill := request.provenance.skill) is not None:
                of_skill = by_skill.get(skill, [])
            if len(tasks) > 1:
                names = [n for n in tasks if any(p.task == n for p in of_skill)] or tasks
                task = names[int(rng.integers(len(names)))]
                of_skill = [problem for problem in of_skill if problem.task == task]
                request.provenance = request.provenance.model_copy(update={"task": task})
            request.samples = _sample(of_skill, most, rng)


def next_round(missing: Sequence[T], fruitless: int, attempts: int) -> Sequence[T]:
    """Choose the missing records to ask for in the next round.

    If the last round brought something new (`fruitless` is 0), all of them; else `attempts` of them
    at most, spread evenly over the list, and different ones each time: each further whole round
    would cost as much as one that fills the plan.
    """
    step = math.ceil(len(missing) / attempts) if fruitless else 1
    return missing[fruitless % step :: step]


def shown_example(example: CompletedTaskInstance, number: int, domain_of: DomainOf) -> str:
    """Show a problem, the student's reply and, if there is one, the gold answer."""
    domain = domain_of(example.instance)
    tried_text = domain.tried_text if isinstance(domain, DialogueDomain) else last_reply
    reply = tried_text(example)
    said = None if reply is None else reply.strip() or "(nothing)"
    return _shown(example.instance, number, said, domain)


def _shown(instance: TaskInstance, number: int, said: str | None, domain: Domain) -> str:
    text, gold = instance.instruction, instance.answer
    if isinstance(domain, DialogueDomain):
        text, gold = domain.text_of(instance), domain.gold_text(instance)
    lines = [f"Problem {number}: {_cut(text)}"]
    if said is not None:
        lines.append(f"The student's answer: {_cut(said)}")
    if gold is not None:
        lines.append(f"The right answer: {_cut(gold)}")
    return "\n".join(lines)


def is_error(example: CompletedTaskInstance) -> bool:
    """Whether the student answered, and wrongly."""
    return example.response is not None and not example.was_correct


def _sample(items: Sequence[T], size: int, rng: np.random.Generator) -> tuple[T, ...]:
    if len(items) <= size:
        return tuple(items)
    picks = rng.choice(len(items), size, replace=False)
    return tuple(items[int(i)] for i in picks)


def _cut(text: str) -> str:
    return shorten(text, _LONGEST_TEXT, end=" ...")
