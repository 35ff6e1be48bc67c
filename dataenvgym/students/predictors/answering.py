"""From conversations to replies: how a student in this process answers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dataenvgym.errors import ConfigurationError
from dataenvgym.events import counting
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.records.tool_formats import ToolFormat
from dataenvgym.students.predictors.adapted_student import AdaptedStudent

if TYPE_CHECKING:
    from dataenvgym.students.trainers.row_adapters import RowAdapters

# Conversations from which on a large model answers in two batches at least.
_WORTH_TWO = 16


@dataclass(frozen=True)
class Answering:
    """How conversations are written and computed.

    Attributes:
        tool_format: how tools and calls are written.
        batch_size: largest number of conversations answered at the same time.
        threads: CPU cores to compute on, one batch on each.
    """

    tool_format: ToolFormat
    batch_size: int
    threads: int

    def refusals(
        self, student: AdaptedStudent, conversations: Sequence[Conversation]
    ) -> list[Failure | None]:
        """The failures of conversations that the student cannot answer; nothing is computed."""
        return [
            p if isinstance(p, Failure) else None for p in self._prompts(student, conversations)
        ]

    def _prompts(
        self, student: AdaptedStudent, conversations: Sequence[Conversation]
    ) -> list[list[int] | Failure]:
        from dataenvgym.students.predictors.generation import context_length, encode_prompts

        context = context_length(student.model)
        tokenizer = student.base.tokenizer
        return encode_prompts(tokenizer, conversations, self.tool_format, context=context)

    def replies(
        self,
        student: AdaptedStudent,
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
        adapters: RowAdapters | None = None,
        of_rows: Sequence[int] = (),
    ) -> list[Reply | Failure]:
        """One reply or failure of the student for each conversation, in their order.

        Args:
            adapters: answer in place of the student's own.
            of_rows: the number of each conversation's adapter.

        Raises:
            ConfigurationError: if `sampling` has a `json_schema`.
        """
        if sampling.json_schema is not None:
            raise ConfigurationError(
                "json_schema is set, and the student in this process cannot be held to a schema: "
                "leave it out, or use a predictor with a server"
            )
        from dataenvgym.students.predictors.generation import context_length

        context = context_length(student.model)
        prompts = self._prompts(student, conversations)
        answered = [prompt for prompt in prompts if not isinstance(prompt, Failure)]
        limits = [
            sampling.max_tokens if context is None else min(sampling.max_tokens, context - n)
            for n in map(len, answered)
        ]
        which = [i for i, p in zip(of_rows, prompts, strict=False) if not isinstance(p, Failure)]
        replies = iter(self._generate(student, answered, limits, sampling, adapters, which))
        return [p if isinstance(p, Failure) else next(replies) for p in prompts]

    def _generate(
        self,
        student: AdaptedStudent,
        prompts: list[list[int]],
        limits: list[int],
        sampling: SamplingParameters,
        adapters: RowAdapters | None,
        of_rows: Sequence[int],
    ) -> list[Reply | Failure]:
        if not prompts:
            return []
        import torch

        from dataenvgym.students.predictors.generation import (
            Generated,
            Nucleus,
            Sampler,
            StopTexts,
            generate,
            greedy,
            uniform_numbers,
        )
        from dataenvgym.students.trainers.compute import is_large, workers

        model, tokenizer = student.model, student.base.tokenizer
        if adapters is not None:
            model = adapters.model
        stops = StopTexts(tokenizer, sampling.stop) if sampling.stop else None
        end_tokens = student.base.end_tokens
        is_greedy = sampling.temperature == 0.0
        numbers = [] if is_greedy else uniform_numbers(prompts, sampling)

        n_tokens: list[int] = []
        began = time.monotonic()

        def answer(batch: list[int]) -> list[Generated]:
            draw: Sampler = greedy
            if not is_greedy:
                uniform = torch.stack([numbers[i] for i in batch]).to(model.device)
                draw = Nucleus(sampling.temperature, sampling.top_p, uniform)
            chosen, limit = [prompts[i] for i in batch], [limits[i] for i in batch]
            replies = generate(
                model,
                chosen,
                limit,
                draw,
                end_tokens=end_tokens,
                stops=stops,
                adapters=adapters,
                of_rows=[of_rows[i] for i in batch] if of_rows else (),
            )
            n_tokens.append(sum(len(reply.tokens) for reply in replies))
            pace = sum(n_tokens) / (time.monotonic() - began)
            counter.add(len(batch), note=f"{pace:.0f} tokens/s")
            return replies

        first: dict[tuple[int, ...], int] = {}
        if is_large(model):  # samples of one prompt share a batch, which computes it once
            first = {tuple(prompts[i]): i for i in reversed(range(len(prompts)))}
        order = sorted(
            range(len(prompts)),
            key=lambda i: (
                of_rows[i] if of_rows else 0,
                len(prompts[i]),
                first.get(tuple(prompts[i]), i),
            ),
        )
        size = self.batch_size
        if is_large(model) and len(order) >= _WORTH_TWO:
            # Two cores are busy with every batch. The number of batches must not depend on
            # `threads`: two almost equally likely tokens may change places with a batch's size.
            size = math.ceil(len(order) / (2 * math.ceil(len(order) / (2 * size))))
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        with workers(self.threads, model.device) as run, counting("replies", len(order)) as counter:
            generated = [reply for replies in run(answer, batches) for reply in replies]
        tokens = [reply.tokens for reply in generated]
        texts = tokenizer.batch_decode(tokens, skip_special_tokens=True)
        replies: dict[int, Reply | Failure] = {}
        for i, text, reply in zip(order, texts, generated, strict=True):
            if reply.diverged:
                replies[i] = Failure(reason="the student's logits are not numbers: it has diverged")
                continue
            kept = sampling.until_stop(text)
            has_ended = reply.ended or len(kept) < len(text)
            replies[i] = Reply(
                text=kept,
                finish_reason="stop" if has_ended else "length",
                prompt_tokens=len(prompts[i]),
                completion_tokens=len(reply.tokens),
            )
        return [replies[i] for i in range(len(prompts))]
