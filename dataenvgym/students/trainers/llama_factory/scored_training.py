"""Stage `scored`, and pairs of several turns, inside LLaMA-Factory.

    scored_training.py train training.yaml

is `llamafactory-cli train`, except for two stages. A file of stage `scored` is read by
LLaMA-Factory as one of stage `sft`, without our options, and these parts of it change:

    converter   keeps the weights: column `weights`, or `score` in each turn of the assistant (EPO)
    processor   leaves out a turn that does not fit, with its weight and all later turns
    trainer     computes the loss of `trainers.scored`; the rest is LLaMA-Factory's, so that LoRA,
                full weights, DeepSpeed and several GPUs are as in stage `sft`

In stage `dpo`, the converter keeps answers of several turns (SDPO), the processor marks all of the
assistant's turns in them as learned, and with `pref_discount` later turns count less (DMPO).

It runs in LLaMA-Factory's environment, which lacks dataenvgym, so it uses only the standard
library, torch and LLaMA-Factory. torchrun starts this script in each process.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from dataenvgym.students.trainers.scored import ScoredLoss

IGNORED = -100
PROBABILITIES = "scored_log_probabilities.pt"
"""The file in the output folder from which an interrupted training takes up the references."""


def main() -> None:
    """Run `llamafactory-cli` with the arguments of this process."""
    install()
    if sys.argv[1] == "train":
        importlib.import_module("llamafactory.cli").main()
    else:  # in a process of torchrun, as LLaMA-Factory's launcher does it
        importlib.import_module("llamafactory.train.tuner").run_exp()


def install() -> None:
    """Make LLaMA-Factory accept files of stage `scored`."""
    vars(importlib.import_module("llamafactory.launcher"))["__file__"] = __file__  # for torchrun
    tuner: Any = importlib.import_module("llamafactory.train.tuner")
    read_args = tuner.read_args

    def read(args: Any = None) -> Any:
        options = read_args(args)
        if isinstance(options, Mapping) and options.get("stage") == "dpo":
            _change_pairs(options.get("pref_discount"))
            return {name: v for name, v in options.items() if name != "pref_discount"}
        if not isinstance(options, Mapping) or options.get("stage") != "scored":
            return options
        _change_parts(_scored().ScoredLoss.of(options))
        own = {name for name in options if name.startswith("scored_")}
        return {name: v for name, v in options.items() if name not in own} | {"stage": "sft"}

    tuner.read_args = read


def _scored() -> Any:
    """The module `dataenvgym.students.trainers.scored`, without dataenvgym."""
    name = "dataenvgym_scored"
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "scored.py"
        spec: Any = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _change_parts(loss: ScoredLoss) -> None:
    converters: Any = importlib.import_module("llamafactory.data.converter").DATASET_CONVERTERS
    converters["sharegpt"] = _converter(converters["sharegpt"])
    loader: Any = importlib.import_module("llamafactory.data.loader")
    loader.SupervisedDatasetProcessor = _processor(loader.SupervisedDatasetProcessor)
    workflow: Any = importlib.import_module("llamafactory.train.sft.workflow")
    workflow.CustomSeq2SeqTrainer = _trainer(workflow.CustomSeq2SeqTrainer, loss)


def _converter(plain: Any) -> Callable[..., Any]:
    def make(attributes: Any, arguments: Any) -> Any:
        convert = plain(attributes, arguments)
        tag, replies = attributes.role_tag, (attributes.assistant_tag, attributes.function_tag)

        def converted(row: Mapping[str, Any]) -> dict[str, Any]:
            weights = row.get("weights")
            if weights is None:
                scores = [t.get("score") for t in row[attributes.messages] if t[tag] in replies]
                weights = [None if score is None else float(score) for score in scores]
            return {**convert(row), "_weights": weights}

        return converted

    return make


def _processor(plain: Any) -> Any:
    class ScoredProcessor(plain):  # type: ignore[misc]
        def preprocess_dataset(self, rows: Mapping[str, Any]) -> dict[str, list[Any]]:
            names = ("input_ids", "attention_mask", "labels", "weights", "lengths")
            found: dict[str, list[Any]] = {name: [] for name in names}
            columns = ("_prompt", "_response", "_system", "_tools", "_weights")
            for prompt, response, system, tools, weights in zip(
                *(rows[name] for name in columns), strict=True
            ):
                example = self._example(prompt + response, system, tools, weights)
                if example["lengths"]:
                    for name in names:
                        found[name].append(example[name])
            return found

        def _example(
            self, messages: Any, system: Any, tools: Any, weights: Sequence[float | None]
        ) -> dict[str, list[Any]]:
            # a template with `efficient_eos` has no end in its turns: the label of the token after
            # a turn, or after the conversation, is the end
            end = [self.tokenizer.eos_token_id] if self.template.efficient_eos else []
            tokens: list[int] = []
            labels: list[int] = []
            lengths: list[int] = []
            for prompt, reply in self.template.encode_multiturn(
                self.tokenizer, messages, system, tools
            ):
                n_tokens = len(tokens) + len(prompt) + len(reply) + len(end)
                if n_tokens > self.data_args.cutoff_len:
                    break
                first = end if lengths else []
                labels += first + [IGNORED] * (len(prompt) - len(first)) + reply
                tokens += prompt + reply
                lengths.append(len(reply) + len(end))
            if lengths:
                tokens, labels = tokens + end, labels + end
            return {
                "input_ids": tokens,
                "attention_mask": [1] * len(tokens),
                "labels": labels,
                "weights": list(weights[: len(lengths)]),
                "lengths": lengths,
            }

    return ScoredProcessor


# --- pairs of several turns -----------------------------------------------------------------------


def _change_pairs(discount: float | None) -> None:
    converters: Any = importlib.import_module("llamafactory.data.converter").DATASET_CONVERTERS
    for name in ("alpaca", "sharegpt"):
        converters[name] = _pair_converter(converters[name])
    loader: Any = importlib.import_module("llamafactory.data.loader")
    loader.PairwiseDatasetProcessor = _pair_processor(loader.PairwiseDatasetProcessor)
    if discount is not None:
        trainer: Any = importlib.import_module("llamafactory.train.dpo.trainer")
        trainer.get_batch_logps = _discounted(discount)


def _pair_converter(plain: Any) -> Callable[..., Any]:
    def make(attributes: Any, arguments: Any) -> Any:
        convert = plain(attributes, arguments)
        role, content = attributes.role_tag, attributes.content_tag

        def messages(answer: Any) -> list[dict[str, str]]:
            if isinstance(answer, str):
                return [{"role": "assistant", "content": answer}]
            turns = [answer] if isinstance(answer, Mapping) else answer
            ours = (attributes.assistant_tag, attributes.function_tag)
            return [
                {"role": "assistant" if t[role] in ours else "user", "content": t[content]}
                for t in turns
            ]

        def converted(row: Mapping[str, Any]) -> dict[str, Any]:
            answers = [messages(row[attributes.chosen]), messages(row[attributes.rejected])]
            return {**convert(row), "_response": answers}

        return converted

    return make


def _pair_processor(plain: Any) -> Any:
    utilities: Any = importlib.import_module("llamafactory.data.processor.processor_utils")

    class PairProcessor(plain):  # type: ignore[misc]
        def _encode_data_example(
            self, *, prompt: Any, response: Any, system: Any, tools: Any, **media: Any
        ) -> tuple[list[int], list[int], list[int], list[int]]:
            if all(len(answer) == 1 for answer in response):
                single = [answer[0] for answer in response]
                found: tuple[list[int], list[int], list[int], list[int]]
                found = super()._encode_data_example(prompt, single, system, tools, **media)
                return found
            end = [self.tokenizer.eos_token_id] if self.template.efficient_eos else []
            room = self.data_args.cutoff_len - len(end)
            sides = []
            n_before = len(prompt) // 2
            for answer in response:
                turns = self.template.encode_multiturn(
                    self.tokenizer, [*prompt, *answer], system, tools
                )
                before = [token for turn in turns[:n_before] for part in turn for token in part]
                heard, said = turns[n_before]
                sides.append([(before + heard, said), *turns[n_before + 1 :]])
            opening, longest = sides[0][0][0], max(len(side[0][1]) for side in sides)
            n_prompt, n_reply = utilities.infer_seqlen(len(opening), longest, room)
            tokens = [opening[:n_prompt] + side[0][1][:n_reply] for side in sides]
            labels = [[IGNORED] * n_prompt + side[0][1][:n_reply] for side in sides]
            for both in zip_longest(*(side[1:] for side in sides), fillvalue=([], [])):
                sizes = [len(p) + len(r) for p, r in both]
                if any(len(t) + n > room for t, n in zip(tokens, sizes, strict=True)):
                    break
                for i, (heard, said) in enumerate(both):
                    first = end if heard else []
                    labels[i] += first + [IGNORED] * (len(heard) - len(first)) + said
                    tokens[i] = tokens[i] + heard + said
            return tokens[0] + end, labels[0] + end, tokens[1] + end, labels[1] + end

    return PairProcessor


def _discounted(discount: float) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """In place of `get_batch_logps`: each row's weighted log-probability, and its label count."""

    def summed(
        logits: torch.Tensor, labels: torch.Tensor, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        labels = labels[:, 1:]
        learned = labels != IGNORED
        logs = logits[:, :-1].log_softmax(-1)
        each = logs.gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2)
        factors = _scored().turn_discounts(learned, discount)
        return (each * factors * learned).sum(-1), learned.sum(-1)

    return summed


# --- the loss of stage `scored` -------------------------------------------------------------------


def _trainer(plain: Any, loss: ScoredLoss) -> Any:
    class ScoredTrainer(plain):  # type: ignore[misc]
        def __init__(self, *, data_collator: Any, train_dataset: Any, **others: Any) -> None:
            numbered = train_dataset.add_column("place", list(range(len(train_dataset))))
            collator = _collator(data_collator, loss)
            super().__init__(data_collator=collator, train_dataset=numbered, **others)
            self.model_accepts_loss_kwargs = True  # our loss is divided for a whole update
            self._references: Sequence[list[torch.Tensor]] | None = None
            if loss.is_relative:
                for module in self.model.modules():
                    if isinstance(module, torch.nn.Dropout):
                        module.p = 0.0

        def get_batch_samples(self, *arguments: Any, **named: Any) -> tuple[Any, Any]:
            """The batches of an update, and the divisor of their losses."""
            batches, _ = super().get_batch_samples(*arguments, **named)
            learned = [batch["labels"][:, 1:] != IGNORED for batch in batches]
            sizes = [sum(map(len, learned)), sum(int(mask.sum()) for mask in learned)]
            of_all = self.accelerator.gather(torch.tensor([sizes], device=self.args.device)).sum(0)
            return batches, loss.divisor(*of_all.tolist())

        def compute_loss(
            self,
            model: Any,
            inputs: dict[str, Any],
            return_outputs: bool = False,
            num_items_in_batch: int | None = None,
        ) -> torch.Tensor:
            logs = _log_probabilities(model, inputs)
            sampled = base = None
            if loss.is_relative:
                if self._references is None:
                    self._references = self._reference_log_probabilities(model)
                sampled, base = (
                    torch.cat([of[place] for place in inputs["place"].tolist()]).to(logs.device)
                    for of in self._references
                )
            total = loss.summed(logs, inputs["weights"], inputs["shares"], sampled, base)
            divisor = num_items_in_batch or loss.divisor(len(inputs["place"]), len(logs))
            # gradients are averaged over processes
            value: torch.Tensor = total / divisor * self.accelerator.num_processes
            return value

        def _reference_log_probabilities(self, model: Any) -> Sequence[list[torch.Tensor]]:
            """Those of each example's tokens by the student before the training, and by the base.

            Every process computes all: with ZeRO-3, all must call the model equally often.
            """
            path = Path(self.args.output_dir, PROBABILITIES)
            is_there = path.is_file()
            self.accelerator.wait_for_everyone()
            if is_there:
                found: Sequence[list[torch.Tensor]] = torch.load(path)
                return found
            if self.state.global_step:
                raise RuntimeError(
                    f"there is no file {path}, expected it from before the interruption: empty the "
                    "output folder to train from the beginning"
                )
            student = self._log_probabilities_of_all(model)
            base, bare = student, self.accelerator.unwrap_model(model)
            if loss.kl and hasattr(bare, "disable_adapter"):
                with bare.disable_adapter():
                    base = self._log_probabilities_of_all(model)
            if self.is_world_process_zero():
                new = path.with_suffix(".tmp")
                torch.save((student, base), new)
                os.replace(new, path)
            return student, base

        def _log_probabilities_of_all(self, model: Any) -> list[torch.Tensor]:
            found: list[torch.Tensor] = []
            was_training = model.training
            model.eval()
            size = self.args.per_device_train_batch_size
            with torch.no_grad():
                for start in range(0, len(self.train_dataset), size):
                    end = min(start + size, len(self.train_dataset))
                    batch = self.data_collator([self.train_dataset[i] for i in range(start, end)])
                    logs = _log_probabilities(model, self._prepare_inputs(batch)).cpu()
                    found += torch.split(logs, batch["sizes"].tolist())
            model.train(was_training)
            return found

    return ScoredTrainer


def _collator(plain: Callable[..., Any], loss: ScoredLoss) -> Callable[..., Any]:
    """Adds to a batch the weights and shares of its learned tokens (tokens,), row by row."""

    def collate(features: Sequence[dict[str, Any]]) -> Any:
        own = ("weights", "lengths", "place")
        batch = plain([{k: v for k, v in one.items() if k not in own} for one in features])
        weights, shares = zip(
            *(loss.of_turns(one["weights"], one["lengths"]) for one in features), strict=True
        )
        batch["weights"], batch["shares"] = torch.cat(weights), torch.cat(shares)
        batch["sizes"] = torch.tensor([sum(one["lengths"]) for one in features])
        batch["place"] = torch.tensor([one["place"] for one in features])
        return batch

    return collate


def _log_probabilities(model: Any, inputs: Mapping[str, Any]) -> torch.Tensor:
    """log p of each learned token of a batch (tokens,), row by row."""
    own = ("labels", "weights", "shares", "sizes", "place")
    logits = model(**{name: v for name, v in inputs.items() if name not in own}).logits[:, :-1]
    labels = inputs["labels"][:, 1:]
    learned = labels != IGNORED
    logs = logits[learned].float().log_softmax(-1)
    found: torch.Tensor = logs.gather(1, labels[learned].unsqueeze(1)).squeeze(1)
    return found


if __name__ == "__main__":
    main()
