"""Any benchmark of inspect_ai, with our student: its data, prompts, tools and scorer as they are.

    dataenvgym eval task=inspect task.name=inspect_evals/gsm8k model=vllm/NAME

inspect_ai runs the samples, with its own solver, and asks our predictor through a model of its own.
So a sample's score is the one that inspect_ai gives to the same replies. What is over all samples
is ours: the mean of the scores, metrics, and files that can be resumed.

The student is drawn as `task.sampling` says. A benchmark's own stop texts and token limits are
kept. `answer` of an instance is the sample's target, for people to read.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from dataenvgym.errors import ConfigurationError, EvaluationError, InvalidInstanceError, need
from dataenvgym.events import counting
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    can,
)
from dataenvgym.options import takes
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    Message,
    TaskInstance,
    Tool,
    ToolCall,
)
from dataenvgym.records.instances import STUDENT
from dataenvgym.records.tool_formats import read_reply
from dataenvgym.records.usage import Usage
from dataenvgym.tasks.base import Task, sample_seed
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.options import TaskOptions
from dataenvgym.tasks.source import Split

_TOGETHER_S = 0.05
"""How long a predictor without `submit` waits for more questions to answer in one batch."""


@dataclass(frozen=True)
class InspectOptions(TaskOptions):
    """Options of `InspectTask`.

    Attributes:
        name: the benchmark, PACKAGE/TASK, of an installed package such as inspect_evals.
        arguments: those of its function, by name.
    """

    name: str
    _: KW_ONLY
    arguments: Mapping[str, Any] = field(default_factory=dict)


class InspectTask(Task):
    """A benchmark of inspect_ai; it has only a validation split.

    InspectTask("inspect_evals/gsm8k", arguments={"fewshot": 5})
    """

    @takes(InspectOptions)
    def __init__(self, options: InspectOptions) -> None:
        parts = options.name.replace("-", "_").split("/")
        if len(parts) != 2 or not all(part.isidentifier() for part in parts):
            raise ConfigurationError(
                f"name is {options.name!r}, expected PACKAGE/TASK, such as inspect_evals/gsm8k"
            )
        self.arguments = dict(options.arguments)
        self.set_up(None, None, options)

    @property
    def splits(self) -> tuple[Split, ...]:
        return ("validation",)

    @cached_property
    def benchmark(self) -> Any:
        """inspect_ai's task; each of its samples has an id.

        Raises:
            ConfigurationError: if inspect_ai or the benchmark is not installed, or refuses its
                arguments.
        """
        try:
            from inspect_ai._util.registry import registry_lookup
        except ImportError as error:
            lacks = ConfigurationError(
                "task=inspect needs the package inspect_ai: pip install 'dataenvgym[inspect]', "
                "and the package with the benchmark, such as inspect_evals"
            )
            need(lacks)
            raise lacks from error
        make: Any = registry_lookup("task", self.name)
        if make is None:
            package = self.name.partition("/")[0]
            raise ConfigurationError(
                f"there is no benchmark {self.name!r}: install {package}, or see its list of tasks "
                f"(inspect list tasks)"
            )
        try:
            found = make(**self.arguments)
        except TypeError as error:
            raise ConfigurationError(
                f"task.arguments are {self.arguments!r}, which {self.name} does not take: {error}"
            ) from error
        for number, sample in enumerate(found.dataset, start=1):
            if sample.id is None:
                sample.id = number
        return found

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The samples of the benchmark."""
        if split != "validation":
            raise ConfigurationError(
                f"{self.name} has no {split} split: benchmarks of inspect_ai have validation only"
            )
        return [_instance(sample, self.name) for sample in self.benchmark.dataset]

    def make_environment(self) -> TaskEnvironment:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ConfigurationError(
            f"{self.name} is run by inspect_ai's own solver, so it has no environment: evaluate a "
            "student on it (dataenvgym eval), with samples that are judged when they are drawn"
        )

    def attempt(
        self,
        predictor: PredictorInterface,
        instances: Sequence[TaskInstance] | None = None,
        *,
        samples: int = 1,
        sampling: SamplingParameters | None = None,
        adapters: Sequence[Path | None] | None = None,
    ) -> list[CompletedTaskInstance]:
        """Let inspect_ai run these samples with the predictor; see `Task.attempt`.

        Raises:
            EvaluationError: if inspect_ai could not run the benchmark.
        """
        if adapters is not None:
            self._refuse()
        instances = self.instances if instances is None else instances
        sampling = SamplingParameters.model_validate(sampling or self.sampling)
        if can(predictor, "connect"):
            predictor.connect()
        tries: list[CompletedTaskInstance] = []
        for sample in range(samples):
            drawn = sampling.model_copy(update={"seed": sample_seed(sampling.seed, sample)})
            tries += self._run(predictor, instances, drawn)
        return tries

    def _run(
        self,
        predictor: PredictorInterface,
        instances: Sequence[TaskInstance],
        sampling: SamplingParameters,
    ) -> list[CompletedTaskInstance]:
        from inspect_ai import eval as run
        from inspect_ai.model import GenerateConfig, Model

        by_id = {str(sample.id): sample.id for sample in self.benchmark.dataset}
        with tempfile.TemporaryDirectory() as folder, counting("problems", len(instances)) as count:
            asking = _Asking(predictor, sampling, self.chunk_size)
            (log,) = run(
                self.benchmark,
                model=Model(_model(asking), GenerateConfig()),
                sample_id=[by_id[instance.id] for instance in instances],
                epochs=1,
                max_samples=len(instances),
                fail_on_error=False,
                log_dir=folder,
                log_format="json",
                log_level="error",
                display="none",
            )
            count.reach(len(instances))
        if asking.broken is not None:
            raise asking.broken
        if log.samples is None or len(log.samples) != len(instances):
            reason = log.error.message if log.error is not None else f"its status is {log.status}"
            raise EvaluationError(f"inspect_ai could not run {self.name}: {reason}")
        found = {str(sample.id): sample for sample in log.samples}
        return [_completed(instance, found[instance.id]) for instance in instances]


class _Asking:
    """Asks the predictor for inspect_ai's event loop.

    Attributes:
        broken: what the predictor raised, after which nothing more is asked.
    """

    def __init__(
        self, predictor: PredictorInterface, sampling: SamplingParameters, most: int
    ) -> None:
        self.broken: Exception | None = None
        self._predictor = predictor
        self._sampling = sampling
        self._most = most
        self._waiting: list[tuple[Conversation, SamplingParameters, Future[Reply | Failure]]] = []
        self._answering: asyncio.Task[None] | None = None

    async def ask(self, conversation: Conversation, **changes: Any) -> Reply:
        """The reply to one conversation; RuntimeError for a failure, which fails the sample."""
        if self.broken is not None:
            raise RuntimeError("the predictor has failed")
        sampling = self._sampling.model_copy(update=changes)
        if can(self._predictor, "submit"):
            future = self._predictor.submit(conversation, sampling)
        else:
            future = Future()
            self._waiting.append((conversation, sampling, future))
            if self._answering is None or self._answering.done():
                self._answering = asyncio.ensure_future(self._answer())
        try:
            reply = await asyncio.wrap_future(future)
        except Exception as error:
            self.broken = error
            raise
        if isinstance(reply, Failure):
            raise RuntimeError(reply.reason)
        return reply

    async def _answer(self) -> None:
        """Answer what is waiting in batches, until nothing is."""
        while self._waiting:
            before = -1
            while len(self._waiting) != before:  # as long as more questions come
                before = len(self._waiting)
                await asyncio.sleep(_TOGETHER_S)
            batch = sorted(self._waiting, key=lambda one: (one[1].model_dump_json(), repr(one[0])))
            batch = [one for one in batch if one[1] == batch[0][1]][: self._most]
            self._waiting = [one for one in self._waiting if not any(one is b for b in batch)]
            conversations = [conversation for conversation, _, _ in batch]
            try:
                replies = await asyncio.to_thread(
                    self._predictor.predict, conversations, batch[0][1]
                )
                for (_, _, future), reply in zip(batch, replies, strict=True):
                    future.set_result(reply)
            except Exception as error:  # noqa: BLE001  each sample that waits gets it
                for _, _, future in batch:
                    if not future.done():
                        future.set_exception(error)


def _model(asking: _Asking) -> Any:
    """Our predictor as a model of inspect_ai."""
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ModelAPI,
        ModelOutput,
        ModelUsage,
        modelapi,
    )
    from inspect_ai.tool import ToolCall as TheirCall

    class Student(ModelAPI):  # type: ignore[misc,unused-ignore]
        def max_connections(self) -> int:
            return 1024  # the predictor has a limit of its own

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            changes: dict[str, Any] = {}
            if config.max_tokens is not None:
                changes["max_tokens"] = config.max_tokens
            if config.stop_seqs:
                changes["stop"] = tuple(config.stop_seqs)
            conversation = _conversation(input, tools)
            reply = await asking.ask(conversation, **changes)
            said = read_reply(conversation, reply.text).message
            calls = [
                TheirCall(id=f"call-{len(input)}-{i}", function=c.name, arguments=c.arguments)
                for i, c in enumerate(said.tool_calls)
            ]
            message = ChatMessageAssistant(
                content=said.content, tool_calls=calls or None, source="generate"
            )
            stop = "max_tokens" if reply.finish_reason == "length" else "stop"
            usage = None
            if reply.prompt_tokens is not None and reply.completion_tokens is not None:
                total = reply.prompt_tokens + reply.completion_tokens
                usage = ModelUsage(
                    input_tokens=reply.prompt_tokens,
                    output_tokens=reply.completion_tokens,
                    total_tokens=total,
                )
            choice = ChatCompletionChoice(
                message=message, stop_reason="tool_calls" if calls else stop
            )
            return ModelOutput(
                model="dataenvgym/student",
                choices=[choice],
                usage=usage,
                metadata={"took": reply.usage.model_dump()},
            )

    return modelapi(name="dataenvgym")(Student)(model_name="student")


def _conversation(messages: Sequence[Any], tools: Sequence[Any] = ()) -> Conversation:
    """inspect_ai's messages as ours."""
    ours = []
    for message in messages:
        calls = getattr(message, "tool_calls", None) or ()
        ours.append(
            Message(
                role=message.role,
                content=message.text,
                tool_calls=tuple(ToolCall(name=c.function, arguments=c.arguments) for c in calls),
            )
        )
    if tools and ours:
        declared = tuple(
            Tool(
                name=tool.name,
                description=tool.description,
                parameters=tool.parameters.model_dump(exclude_none=True, mode="json"),
            )
            for tool in tools
        )
        ours[0] = ours[0].model_copy(update={"tools": declared})
    return tuple(ours)


def _instance(sample: Any, task: str) -> TaskInstance:
    asked = sample.input
    contents = [] if isinstance(asked, str) else [message.content for message in asked]
    parts = [part.type for content in contents if not isinstance(content, str) for part in content]
    if others := sorted({*parts} - {"text", "reasoning"}):
        raise InvalidInstanceError(
            f"{task}: the sample {sample.id!r} has {', '.join(others)}, and students read only "
            "text: choose a benchmark of text"
        )
    text = asked if isinstance(asked, str) else "\n\n".join(message.text for message in asked)
    target = sample.target if isinstance(sample.target, str) else "\n".join(sample.target)
    metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
    skill = next((metadata[n] for n in ("skill", "category", "subject") if n in metadata), None)
    return TaskInstance(
        id=str(sample.id),
        task=task,
        instruction=text,
        answer=target or None,
        skill=skill if isinstance(skill, str) and skill else None,
        data={"choices": list(sample.choices)} if sample.choices else {},
    )


def _completed(instance: TaskInstance, sample: Any) -> CompletedTaskInstance:
    """A sample that inspect_ai ran, with its scores as numbers.

    The reward is that of the first scorer (if it gives several values, the first one), and 1.0 is
    solved.
    """
    from inspect_ai.scorer import value_to_float

    as_number = value_to_float()
    transcript = _conversation(sample.messages)
    outputs = [event.output for event in sample.events if event.event == "model"]
    took = [Usage(**output.metadata["took"]) for output in outputs if output.metadata]
    usage = {STUDENT: tuple(took)}
    if sample.error is not None:
        return _failed(instance, transcript, sample.error.message, usage)
    scores: dict[str, float] = {}
    notes = []
    for name, score in (sample.scores or {}).items():
        several = score.value if isinstance(score.value, dict) else {"": score.value}
        for part, value in several.items():
            number = as_number(value)
            if number == number:  # no NaN, which means unscored
                scores[f"{name}.{part}" if part else name] = number
        if score.answer is not None:
            notes.append(f"{name} reads the answer {score.answer!r:.200}")
    if not scores:
        return _failed(instance, transcript, "inspect_ai gave no score", usage)
    reward = next(iter(scores.values()))
    return CompletedTaskInstance(
        instance=instance,
        transcript=transcript,
        reward=reward,
        was_correct=reward >= 1.0,
        note="; ".join(notes) or None,
        scores=scores if len(scores) > 1 else {},
        usage=usage,
    )


def _failed(
    instance: TaskInstance,
    transcript: Conversation,
    reason: str,
    usage: dict[str, tuple[Usage, ...]],
) -> CompletedTaskInstance:
    return CompletedTaskInstance(
        instance=instance,
        transcript=transcript,
        reward=0.0,
        was_correct=False,
        error=reason,
        usage=usage,
    )
