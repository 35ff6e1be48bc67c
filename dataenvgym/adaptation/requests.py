"""Requests to the adaptation server, and its answers, with the field names of SEAL's clients.

    {"train_sequences": [...], "eval_questions": [{"title", "context", "question", "answer"}, ...],
     "lora_rank": 32, "lora_alpha": 64, "lora_dropout": 0, "finetune_epochs": 10,
     "finetune_lr": 1e-3, "batch_size": 1, "gradient_accumulation_steps": 1,
     "end_mask_substring": null, "skip_training": false}
    ->
    {"baseline_accuracy", "adapter_accuracy", "adapter_gain", "baseline_texts", "adapter_texts",
     "baseline_correct", "adapter_correct", "gains"}

Other fields are ignored, and the answer names them (`ignored_fields`). A question is put and judged
by the server's task, so all tasks whose problems are a question and an answer can be asked. The
clients are those of https://github.com/Continual-Intelligence/SEAL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from dataenvgym import exact_json
from dataenvgym.adaptation.inner_loop import Adapted, Answer
from dataenvgym.errors import InvalidInstanceError, first_fault
from dataenvgym.records import (
    Model,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    Text,
    TextDatum,
    TrainingDatum,
)
from dataenvgym.records.model import Finite
from dataenvgym.tasks.domain import Domain

_NonEmpty = Annotated[Text, Field(min_length=1)]
_OPTIONS = {
    "lora_rank": "lora_rank",
    "lora_alpha": "lora_alpha",
    "lora_dropout": "lora_dropout",
    "finetune_epochs": "num_train_epochs",
    "finetune_lr": "learning_rate",
    "batch_size": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
}
"""The option of the trainer (`TrainingConfig`) for each field."""


class EvalQuestion(Model):
    """One question; other fields, such as its title and passage, are not used."""

    model_config = ConfigDict(extra="ignore")

    question: _NonEmpty
    answer: _NonEmpty


class AdaptationRequest(Model):
    """One adapter to train, and the questions to ask with it and without it.

    Options that are None are those of the server's trainer. Other fields are ignored.

    Attributes:
        train_sequences: texts, all of whose tokens are learned; none trains nothing.
        end_mask_substring: the text of a sequence up to its end is not learned. Needs a student
            that completes bare texts (student.format=completion).
        skip_training: ask the untouched student only.
        seed: of the training. Equal requests with a seed have equal answers; None draws one, so
            that a repeated request is a repeated training.
    """

    model_config = ConfigDict(extra="ignore")

    train_sequences: tuple[_NonEmpty, ...] = ()
    eval_questions: tuple[EvalQuestion, ...] = Field(default=(), max_length=100_000)
    lora_rank: int | None = Field(default=None, ge=1, le=1024, strict=True)
    lora_alpha: int | None = Field(default=None, ge=1, lt=2**31, strict=True)
    lora_dropout: Finite | None = Field(default=None, ge=0.0, lt=1.0)
    finetune_epochs: Finite | None = Field(default=None, gt=0.0)
    finetune_lr: Finite | None = Field(default=None, gt=0.0)
    batch_size: int | None = Field(default=None, ge=1, lt=2**31, strict=True)
    gradient_accumulation_steps: int | None = Field(default=None, ge=1, lt=2**31, strict=True)
    end_mask_substring: Text | None = None
    skip_training: bool = False
    seed: int | None = Field(default=None, ge=0, lt=2**32, strict=True)

    @classmethod
    def read(cls, fields: Any) -> AdaptationRequest:
        """The request in a JSON value.

        Raises:
            InvalidInstanceError: naming the first fault.
        """
        if not isinstance(fields, dict):
            raise InvalidInstanceError(
                f"the request is a {type(fields).__name__}, expected a JSON object with "
                "train_sequences and eval_questions"
            )
        try:  # null is as good as left out
            return cls.model_validate(
                {n: value for n, value in fields.items() if value is not None}
            )
        except ValidationError as error:
            raise InvalidInstanceError(first_fault(error)) from None

    def options(self) -> dict[str, Any]:
        """The options of the trainer that the request sets."""
        given = ((name, getattr(self, field)) for field, name in _OPTIONS.items())
        return {name: value for name, value in given if value is not None}

    def records(self, *, completes: bool) -> list[TrainingDatum]:
        """The training records; `completes` says that the student completes bare texts.

        Raises:
            InvalidInstanceError: if `end_mask_substring` cannot be applied to a sequence.
        """
        if self.skip_training:
            return []
        if not self.end_mask_substring:
            return [TextDatum(text=text) for text in self.train_sequences]
        if not completes:
            raise InvalidInstanceError(
                f"end_mask_substring is {self.end_mask_substring!r:.80}, and the server's student "
                "learns chats: leave it out, or start the server with student.format=completion"
            )
        records: list[TrainingDatum] = []
        for number, text in enumerate(self.train_sequences, start=1):
            before, mark, learned = text.partition(self.end_mask_substring)
            if not mark or not learned:
                raise InvalidInstanceError(
                    f"sequence {number} of train_sequences, {text!r:.80}, has no text after "
                    f"end_mask_substring {mark or self.end_mask_substring!r:.80}, expected the "
                    "text to learn there"
                )
            records.append(SupervisedDatum(instruction=before + mark, output=learned))
        return records

    def problems(self, domain: Domain) -> list[TaskInstance]:
        """The questions as problems of the server's task.

        Raises:
            InvalidInstanceError: if the task cannot put a question, or judge an answer to it.
        """
        problems = []
        for number, asked in enumerate(self.eval_questions, start=1):
            pair = exact_json.dumps([asked.question, asked.answer])
            name = hashlib.sha256(pair).hexdigest()[:32]
            record = SupervisedDatum(
                instruction=asked.question, output=asked.answer, provenance=Provenance(id=name)
            )
            problem = domain.problem_of_record(record)
            if problem is None:
                raise InvalidInstanceError(
                    f"question {number} of eval_questions, {asked.question!r:.80} with answer "
                    f"{asked.answer!r:.80}, is not a problem of the server's task: expected a "
                    "question that it can put, and an answer that it calls right"
                )
            problems.append(problem)
        return problems


def ignored_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an answer that names the ignored fields of a request; empty without any."""
    unknown = [name[:80] for name in fields if name not in AdaptationRequest.model_fields]
    return {"ignored_fields": unknown[:20]} if unknown else {}


def answer_of(adapted: Adapted) -> dict[str, Any]:
    """The answer to a request.

    A question that could not be scored has null in place of true or false and of a gain, and does
    not count in the accuracies, which are null if none was scored. Without questions, they are 0.
    """
    none = None if adapted.base else 0.0
    return {
        "baseline_accuracy": _rounded(adapted.baseline_accuracy, none),
        "adapter_accuracy": _rounded(adapted.adapter_accuracy, none),
        "adapter_gain": _rounded(adapted.gain, none),
        "baseline_texts": [answer.text or "" for answer in adapted.base],
        "adapter_texts": [answer.text or "" for answer in adapted.answers],
        "baseline_correct": [_verdict(answer) for answer in adapted.base],
        "adapter_correct": [_verdict(answer) for answer in adapted.answers],
        "gains": list(adapted.gains),
    }


def _verdict(answer: Answer) -> bool | None:
    return answer.was_correct if answer.error is None else None


def _rounded(value: float | None, none: float | None) -> float | None:
    return none if value is None else round(value, 4)
