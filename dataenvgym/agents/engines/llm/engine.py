"""The LLM engine: a language model, the teacher, writes the records.

    plan -> requests -> answers -> records, until the requests are filled

Answers are not trusted: broken JSON is repaired. Malformed records, duplicates and copies of
examples are dropped, counted, and requested again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from pydantic import PositiveInt

from dataenvgym.agents.engines.llm.record_requests import (
    PLAIN_DOMAIN,
    RecordRequest,
    add_samples,
    next_round,
    requests_of,
    shown_example,
)
from dataenvgym.agents.engines.llm.records import (
    PROBLEM,
    check_form,
    records_in,
    records_schema,
)
from dataenvgym.agents.engines.llm.side_requests import (
    add_hypotheses,
    propose_subskills,
    text_key,
    with_outputs,
)
from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.events import tell, warn_run
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TeacherInterface,
)
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.records.plans import EngineFit, Plan
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import Domain
from dataenvgym.teachers.budget import count_malformed
from dataenvgym.teachers.prompts import PromptLike, as_prompt
from dataenvgym.teachers.structured import Schema

_EXAMPLES_OF_A_SKILL = 5
_MAY_HAVE = ("skill", "examples", "samples", "written", "told", "hypotheses")


@dataclass(eq=False)
class LLMEngine:
    """Writes supervised records with a teacher, as structured output.

    The same plan and generator give the same requests in the same order, so a teacher with a cache
    answers a repeated run from it.

    Args:
        teacher: the model that writes the records.
        task: its training split gives the skills, and sample problems for requests without
            examples. The records get its prompts.
        prompt: has `{count}`, and may have `{skill}`, `{examples}`, `{samples}`, `{written}` (see
            `configs/prompt/records.yaml`) and `{told}` (see `configs/prompt/plan_records.yaml`);
            one of our names, a mapping, or a `Prompt`.
        subskill_prompt: has `{count}` and `{skill}`, and may have `{known}` and `{examples}`.
        solution_prompt: asks for the output of each record in a second request, after `prompt` has
            asked for the instructions alone (such as `code_problems`); has `{instruction}` and may
            have `{answer_form}`. None: one request asks for both.
        hypotheses_prompt: first asks what the student lacks, and why, for each request with
            examples, such as `hypotheses`; has `{examples}`, and may have `{count}` (of hypotheses,
            one for each record), `{skill}` and `{told}`. `prompt` then has `{hypotheses}`, as
            `math_records_for_hypotheses`, and each record's provenance keeps them.
        batch_size: the most records that one request asks for.
        examples_per_request: the most examples (or else samples) that a request shows.
        temperature, top_p, max_tokens: of the teacher's answers.
        attempts: rounds of requests in a row without a new record before the rest is given up. All
            but the first of these rounds have at most that many requests.
        exact_schema: put the number of records into the JSON schema; not all servers accept that.
        max_length: the longest instruction or output in the JSON schema, in characters, or None; a
            weak model may never end a text by itself. Not all servers accept that.

    Attributes:
        dropped: the number of records that the last call dropped, by reason: "malformed",
            "duplicate", "example" (it has the text of an example), "calls" (its tool calls are
            missing or do not work), or by the task's domain (`DialogueDomain.record_fault`).
    """

    fit = EngineFit(needs="counts")  # without skill and examples it uses samples

    teacher: TeacherInterface
    task: Task | None = None
    prompt: PromptLike = "records"
    _: KW_ONLY
    subskill_prompt: PromptLike = "propose_subskills"
    solution_prompt: PromptLike | None = None
    hypotheses_prompt: PromptLike | None = None
    batch_size: PositiveInt = 10
    examples_per_request: PositiveInt = 5
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 4096
    attempts: PositiveInt = 5
    exact_schema: bool = False
    max_length: PositiveInt | None = None

    def __post_init__(self) -> None:
        self._prompt = as_prompt(self.prompt, needs=("count",), may=_MAY_HAVE)
        self._solution = self._hypotheses = None
        if self.solution_prompt is not None:
            self._solution = as_prompt(
                self.solution_prompt, needs=("instruction",), may=("answer_form",)
            )
        if (self._prompt.form == PROBLEM) != (self._solution is not None):
            raise ConfigurationError(
                "agent.engine.solution_prompt and a prompt that asks for problems alone, such as "
                "prompt=code_problems, go together: set both, or neither"
            )
        if self.hypotheses_prompt is not None:
            self._hypotheses = as_prompt(
                self.hypotheses_prompt, needs=("examples",), may=("count", "skill", "told")
            )
        if (self._hypotheses is not None) != ("hypotheses" in self._prompt.names):
            raise ConfigurationError(
                "agent.engine.hypotheses_prompt and a prompt with {hypotheses} in it, such as "
                "prompt=math_records_for_hypotheses, go together: set both, or neither"
            )
        if self._solution is None and self.task is not None:
            for name, part in self.task.parts.items():
                check_form(self._prompt, name, part.domain.record_forms)
        self._subskills = as_prompt(
            self.subskill_prompt, needs=("count", "skill"), may=("known", "examples")
        )
        self.sampling = SamplingParameters(
            temperature=self.temperature, top_p=self.top_p, max_tokens=self.max_tokens
        )
        self.dropped: Counter[str] = Counter()

    # --- what a subclass may override ---

    def schema(self, count: int | None) -> Schema:
        """The JSON schema of an answer, with exactly `count` records unless that is None."""
        return records_schema(count, self.max_length, fields=self.fields)

    def read(self, reply: Reply, provenance: Provenance) -> tuple[list[SupervisedDatum], int]:
        """Parse the records in an answer; also return how many were malformed.

        Records dropped for another reason are counted in `dropped`. An instruction is only the
        problem; `generate` puts it into the task's prompt.
        """
        return records_in(reply, provenance)

    @property
    def fields(self) -> Sequence[str]:
        """The texts of a record that the first request asks for."""
        return ("instruction", "output") if self._solution is None else ("instruction",)

    # --- what an agent asks ---

    @cached_property
    def skills(self) -> Sequence[str]:
        """The gold skills of the task's training split; perhaps none."""
        return tuple(sorted({p.skill for p in self._problems if p.skill}))

    @cached_property
    def _problems(self) -> tuple[TaskInstance, ...]:
        """The task's training problems; empty if it has no training split."""
        try:
            return () if self.task is None else self.task.on("train").instances
        except ConfigurationError:
            return ()

    def _domain_of(self, of: TaskInstance | Provenance) -> Domain:
        return PLAIN_DOMAIN if self.task is None else self.task.domain_of(of)

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Write the records of the plan, all different, in the plan's order.

        There are fewer only if `attempts` rounds in a row brought nothing new, or if the teacher's
        budget is spent.

        Raises:
            BudgetSpentError: if the budget is spent before the first record.
            PredictionError: if no call was answered at all.
        """
        requests = requests_of(
            plan, batch=self.batch_size, most_examples=self.examples_per_request, rng=rng
        )
        tasks = [] if self.task is None else [*self.task.parts]
        add_samples(requests, self._problems, self.examples_per_request, rng, tasks)
        seed = int(rng.integers(2**31))
        if self._hypotheses is not None:
            sampling = self.sampling.model_copy(update={"seed": seed})
            add_hypotheses(requests, self.teacher, self._hypotheses, sampling, self._domain_of)
        self.dropped = Counter()
        seen: set[str] = set()
        was_answered = False
        n_rounds = n_fruitless = n_asked = n_useless = 0
        while (missing := [o for o in requests if o.missing]) and n_fruitless < self.attempts:
            open_requests = next_round(missing, n_fruitless, self.attempts)
            try:
                replies = self._ask(open_requests, derive_seed(seed, n_rounds) % 2**31)
            except BudgetSpentError:
                if not seen:
                    raise
                break
            n_before = len(seen)
            n_useless_before = n_useless
            for request, reply in zip(open_requests, replies, strict=True):
                if isinstance(reply, Reply):
                    was_answered = True
                    n_useless += not self._take(request, reply, seen)
            count_malformed(self.teacher, n_useless - n_useless_before)
            n_rounds += 1
            n_asked += len(open_requests)
            n_fruitless = n_fruitless + 1 if len(seen) == n_before else 0
            if n_fruitless == self.attempts and not was_answered:
                reason = next(reply.reason for reply in replies if isinstance(reply, Failure))
                raise PredictionError(
                    f"the teacher answered none of {n_asked} requests for records, in {n_rounds} "
                    f"rounds. The first failure of the last round: {reason}. Does the server of "
                    "teacher.base_url run? The same command continues from here"
                )
            tell(f"teacher: {len(seen)} of {sum(o.count for o in requests)} records")
        if n_fruitless == self.attempts:
            why = ", ".join(f"{n} {why}" for why, n in self.dropped.items() if n) or "none"
            warn_run(
                f"the teacher wrote {len(seen)} of {sum(o.count for o in requests)} records, and "
                f"nothing new in the last {n_fruitless} rounds: the missing records are given up "
                f"({n_asked} requests, {n_useless} answers without any record; dropped: {why})"
            )
        written = [record for request in requests for record in request.records]
        return [self._domain_of(record.provenance).frame(record) for record in written]

    def propose_subskills(
        self,
        skill: str,
        known: Sequence[str],
        count: int,
        examples: Sequence[CompletedTaskInstance],
        rng: np.random.Generator,
    ) -> Sequence[str]:
        """Let the teacher name up to `count` new subskills, for `SkillTree-v0`.

        Names that differ only in case and spacing are the same. Missing names are asked for again.

        Raises:
            BudgetSpentError: if the budget is spent before the first name.
        """
        wrong = [c for c in examples if not c.was_correct][:_EXAMPLES_OF_A_SKILL]
        shown = "\n\n".join(shown_example(c, i + 1, self._domain_of) for i, c in enumerate(wrong))
        return propose_subskills(
            self.teacher,
            self._subskills,
            self.sampling.model_copy(update={"seed": int(rng.integers(2**31))}),
            skill=skill,
            known=known,
            count=count,
            examples=shown,
        )

    def _ask(self, requests: Sequence[RecordRequest], seed: int) -> Sequence[Reply | Failure]:
        """Ask for each request; return one reply or failure each. Equal schemas share a call."""
        replies: dict[int, Reply | Failure] = {}
        counts = [request.missing if self.exact_schema else 0 for request in requests]
        for count in sorted(set(counts), reverse=True):
            chosen = [i for i, n in enumerate(counts) if n == count]
            schema = self.schema(count or None)
            sampling = self.sampling.model_copy(update={"seed": seed, "json_schema": schema})
            try:
                answers = self.teacher.ask(
                    [requests[i].conversation(self._prompt, self._domain_of) for i in chosen],
                    sampling,
                    purpose="records",
                )
            except BudgetSpentError as error:
                if not replies:
                    raise
                answers = [Failure(reason=str(error))] * len(chosen)
            replies.update(zip(chosen, answers, strict=True))
        answered = [replies[i] for i in range(len(requests))]
        if self._solution is None:
            return answered
        return with_outputs(
            answered,
            self.teacher,
            self._solution,
            self.sampling.model_copy(update={"seed": seed}),
            schema=self.schema(None),
            answer_forms=[self._domain_of(request.provenance).answer_form for request in requests],
        )

    def _take(self, request: RecordRequest, reply: Reply, seen: set[str]) -> bool:
        """Add new records to the request, up to the missing number; True if the reply has any."""
        records, malformed = self.read(reply, request.provenance)
        self.dropped["malformed"] += malformed
        examples = {text_key(example.instance.instruction) for example in request.examples}
        for record in records:
            key = text_key(record.instruction)
            if not request.missing:
                break
            if key in examples or key in seen:
                self.dropped["example" if key in examples else "duplicate"] += 1
                continue
            domain = self._domain_of(record.provenance)
            framed = domain.frame(record)
            fault = domain.record_fault(framed) if isinstance(domain, DialogueDomain) else None
            if domain.record_forms[0] == "tool" and not isinstance(framed, ChatDatum):
                fault = "calls"
            if fault:
                self.dropped[fault] += 1
            else:
                seen.add(key)
                request.records.append(record)
        return bool(records)
