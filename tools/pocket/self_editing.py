"""Pretrains the students of 0.4 million parameters (see `tools.pocket.build`).

`pocket-knowledge-v1`, `pocket-few-shot-v1` and `pocket-orchestrate-v1` are Llamas of 3 layers and
width 96, pretrained on rows (`tools.pocket.self_edit_rows`). That of knowledge then practices
learning: a LoRA adapter for each of some people is trained on texts about them; the gradient of
the loss of questions about them, asked without the texts, changes the student itself, as if the
adapters were constant (first-order MAML, https://arxiv.org/abs/1703.03400).

The same seed, torch version and processor give the same weights.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dataenvgym.domains.few_shot.pocket import POCKET_FEW_SHOT
from dataenvgym.domains.knowledge.pocket import NAMES, OTHERS
from dataenvgym.domains.knowledge.pocket import SKILLS as FACTS
from dataenvgym.domains.orchestrate.pocket import PLACE
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.storage import publishing, write_text
from dataenvgym.students.trainers.compute import global_rng
from tools.pocket.build import padded
from tools.pocket.self_edit_rows import (
    Person,
    Row,
    called_row,
    chat,
    few_shot_row,
    first_row,
    knowledge_row,
    named_row,
    pick,
    puzzling_row,
    said,
    studied,
    text,
)
from tools.pocket.tokenizer import build_tokenizer

_log = logging.getLogger(__name__)

_CPU = torch.device("cpu")
_RANK, _SCALE = 16, 2.0  # the defaults of the trainer
_QUESTIONS = 4
"""Asked about each person after the adapter's training."""


@dataclass(frozen=True)
class Recipe:
    """How a student is made.

    Attributes:
        subject: of its pretraining, for its card.
        draw: draws a row.
        vocabulary: number of tokens.
        steps, rows: of the pretraining, and the rows of each step.
        first: draws the easier rows of the first `n_first` steps.
        last: draws the rows of `n_last` more steps, at half the learning rate.
        loops: steps in which it practices learning, each with `people` adapters and as many rows.
    """

    name: str
    subject: str
    draw: Callable[[np.random.Generator], Row]
    vocabulary: int
    steps: int
    rows: int
    first: Callable[[np.random.Generator], Row] | None = None
    n_first: int = 0
    last: Callable[[np.random.Generator], Row] | None = None
    n_last: int = 0
    loops: int = 0
    people: int = 8


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "pocket-knowledge-v1",
            "made-up facts and self-edits of passages",
            knowledge_row,
            vocabulary=640,
            steps=1500,
            rows=32,
            first=first_row,
            n_first=150,
            loops=150,
        ),
        Recipe(
            "pocket-few-shot-v1",
            "puzzles with small grids and the choice of augmentations",
            few_shot_row,
            vocabulary=448,
            steps=600,
            rows=40,
            first=named_row,
            n_first=400,
            last=puzzling_row,
            n_last=200,
        ),
        Recipe(
            "pocket-orchestrate-v1",
            "calls of models, mostly of the dearest one",
            called_row,
            vocabulary=384,
            steps=200,
            rows=32,
        ),
    )
}


def build(recipe: Recipe, output: Path, *, seed: int = 0) -> None:
    """Pretrain the student and publish it at `output`, in Hugging Face format."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer: Any = build_tokenizer(_wordings(recipe), vocab_size=recipe.vocabulary)
    config = LlamaConfig(
        vocab_size=recipe.vocabulary,
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=3,
        num_key_value_heads=3,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        initializer_range=0.05,
        rms_norm_eps=1e-5,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with global_rng(derive_seed(seed, "weights") % 2**32, _CPU):
            model: Any = LlamaForCausalLM(config)
            model.generation_config.do_sample = False
            learner = _Learner(model, tokenizer, recipe)
            learner.pretrain(derive_rng(seed, "rows"))
            if recipe.loops:
                learner.learn_to_learn(derive_rng(seed, "loops"))
            if recipe.last:
                learner.settle(derive_rng(seed, "last"), recipe.last)
    finally:
        torch.set_num_threads(threads)
    with publishing(output) as folder:
        learner.restore()
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (folder / "model.safetensors").chmod(0o644)
        write_text(
            folder / "README.md",
            f"# {recipe.name}\n\nA pocket student of dataenvgym: a Llama of 0.4 million parameters,"
            f" pretrained on {recipe.subject}.\nMade by `python -m tools.pocket.build "
            f"--student {recipe.name} --seed {seed}`. Apache-2.0.\n",
        )


def _wordings(recipe: Recipe) -> list[str]:
    """Texts that contain every word of the student's rows, and of the questions of all splits."""
    rng = derive_rng(0, "wordings")
    texts = [part for _ in range(1500) for part in recipe.draw(rng)]
    if recipe.draw is called_row:  # names of places are read as bytes, as those of other splits
        return [re.sub(f" {PLACE}", "", text) for text in texts]
    if recipe.draw is few_shot_row:
        return [*texts, *(p for skill in POCKET_FEW_SHOT.skills.values() for p in skill.phrasings)]
    people = [f"{before}{name}" for name in (*NAMES, *OTHERS) for before in ("", "of ")]
    values = [f"{v.capitalize()}. {v}" for fact in FACTS.values() for v in fact.values]
    asked = [q.format(x=name, o="x") for f in FACTS.values() for q in f.questions for name in NAMES]
    return [*texts, *people, *values, *asked]


class _WithAdapters(nn.Module):
    """A linear layer, with another LoRA pair for each group of rows of the batch, if there are any.

    The rows of a group follow each other; all groups have the same number of rows.
    """

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.pairs: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.base(x)
        if self.pairs is None:
            return y
        down, up = self.pairs
        inner = torch.bmm(x.reshape(len(down), -1, x.shape[-1]), down.transpose(1, 2))
        return y + (torch.bmm(inner, up.transpose(1, 2)) * _SCALE).reshape(y.shape)

    def begin(self, count: int) -> tuple[Tensor, Tensor]:
        """New adapters, as PEFT initializes them."""
        n_in, n_out = self.base.in_features, self.base.out_features
        bound = 1 / math.sqrt(n_in)
        down = torch.empty(count, _RANK, n_in).uniform_(-bound, bound).requires_grad_()
        self.pairs = (down, torch.zeros(count, n_out, _RANK, requires_grad=True))
        return self.pairs


class _Learner:
    def __init__(self, model: Any, tokenizer: Any, recipe: Recipe) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.recipe = recipe
        self.weights = list(model.parameters())
        self.layers: list[_WithAdapters] = []
        for block in model.model.layers:
            for part in (block.self_attn, block.mlp):
                for name, layer in list(part.named_children()):
                    if isinstance(layer, nn.Linear):
                        self.layers.append(_WithAdapters(layer))
                        setattr(part, name, self.layers[-1])

    def restore(self) -> None:
        """Put the plain layers back."""
        for block in self.model.model.layers:
            for part in (block.self_attn, block.mlp):
                for name, layer in list(part.named_children()):
                    if isinstance(layer, _WithAdapters):
                        setattr(part, name, layer.base)

    def pretrain(self, rng: np.random.Generator) -> None:
        steps, began = self.recipe.steps, time.process_time()
        optimizer = self._optimizer()
        for step in range(1, steps + 1):
            draw = self.recipe.first if step <= self.recipe.n_first else None
            draw = draw or self.recipe.draw
            optimizer.zero_grad()
            loss = self._add_gradients([draw(rng) for _ in range(self.recipe.rows)])
            self._step(optimizer, 3e-3 * _schedule(step, steps, warm_up=50))
            if step % 50 == 0:
                _log.info("step %d: loss %.3f, %.0f s", step, loss, time.process_time() - began)

    def settle(self, rng: np.random.Generator, draw: Callable[[np.random.Generator], Row]) -> None:
        optimizer = self._optimizer()
        for step in range(1, self.recipe.n_last + 1):
            optimizer.zero_grad()
            loss = self._add_gradients([draw(rng) for _ in range(self.recipe.rows)])
            self._step(optimizer, 1.5e-3 * _schedule(step, self.recipe.n_last, warm_up=10))
            if step % 50 == 0:
                _log.info("last step %d: loss %.3f", step, loss)

    def learn_to_learn(self, rng: np.random.Generator) -> None:
        """The second part: see the module."""
        loops, began = self.recipe.loops, time.process_time()
        optimizer = self._optimizer()
        for loop in range(1, loops + 1):
            people = [Person.drawn(rng) for _ in range(self.recipe.people)]
            learned = [studied(person, rng) for person in people]
            trained = self._train_adapters([texts for texts, _ in learned], int(rng.integers(3, 5)))
            optimizer.zero_grad()
            asked = [
                chat(person.asked(fact, rng, garbled=rng.random() < 0.4), said(person.facts[fact]))
                for person, (_, given) in zip(people, learned, strict=True)
                for fact in (pick(rng, sorted(given)) for _ in range(_QUESTIONS))
            ]
            loss = self._add_gradients(asked, parts=1)
            for layer in self.layers:
                layer.pairs = None
            self._add_gradients([self.recipe.draw(rng) for _ in range(self.recipe.people)])
            self._step(optimizer, 2e-3 * _schedule(loop, loops, warm_up=10))
            if loop % 10 == 0:
                _log.info(
                    "loop %d: texts %.2f, then questions %.3f, %.0f s",
                    loop, trained, loss, time.process_time() - began,
                )  # fmt: skip

    def _train_adapters(self, texts: Sequence[Sequence[str]], steps: int) -> float:
        """Train an adapter on each of these lists of texts; return the last loss."""
        for weight in self.weights:
            weight.requires_grad_(False)
        pairs = [tensor for layer in self.layers for tensor in layer.begin(len(texts))]
        optimizer = torch.optim.AdamW(pairs, weight_decay=0.0)
        n_short = max(map(len, texts)) - 1  # the last text, often the passage, is the longest
        parts = [[each[:-1] for each in texts]] if n_short else []
        parts.append([each[-1:] for each in texts])
        batches = [
            padded([row for each in part for row in self._filled(each, max(map(len, part)))])
            for part in parts
        ]
        n_tokens = sum(int((labels != -100).sum()) for *_, labels in batches) / len(texts)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 6e-3 * (1 - step / steps)
            optimizer.zero_grad()
            total = 0.0
            for batch in batches:
                loss = self._loss(batch) / n_tokens  # nearly a mean over each adapter's own tokens
                loss.backward()  # type: ignore[no-untyped-call]
                total += loss.item()
            optimizer.step()
        for layer in self.layers:
            assert layer.pairs is not None
            down, up = layer.pairs
            layer.pairs = (down.detach(), up.detach())
        for weight in self.weights:
            weight.requires_grad_(True)
        return total / len(texts)

    def _filled(self, texts: Sequence[str], count: int) -> list[list[list[int]]]:
        """Encoded rows of these texts, with rows that teach nothing up to that number."""
        rows = self._encoded([text(each) for each in texts])
        return rows + [[self.tokenizer("x")["input_ids"], []]] * (count - len(rows))

    def _encoded(self, rows: Sequence[Row]) -> list[list[list[int]]]:
        texts = [part for row in rows for part in row]
        ids = iter(self.tokenizer(texts)["input_ids"] if texts else ())
        return [[next(ids) for _ in row] for row in rows]

    def _optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.weights, betas=(0.9, 0.98), weight_decay=0.01)

    def _step(self, optimizer: torch.optim.Optimizer, rate: float) -> None:
        optimizer.param_groups[0]["lr"] = rate
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
        optimizer.step()

    def _add_gradients(self, rows: Sequence[Row], *, parts: int = 3) -> float:
        """Add the gradients of the mean loss over all learned tokens; return the loss.

        Several parts hold rows of similar length, which saves padding. Adapters need one part.
        """
        encoded = self._encoded(rows)
        if parts > 1:
            encoded.sort(key=lambda row: sum(map(len, row)))
        size = math.ceil(len(encoded) / parts)
        batches = [padded(encoded[at : at + size]) for at in range(0, len(encoded), size)]
        n_tokens = sum(int((labels != -100).sum()) for *_, labels in batches)
        total = 0.0
        for batch in batches:
            loss = self._loss(batch) / n_tokens
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        return total

    def _loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """The sum over the learned tokens."""
        ids, mask, labels = batch
        states = self.model.model(input_ids=ids, attention_mask=mask).last_hidden_state[:, :-1]
        learned = labels[:, 1:] != -100
        logits = states[learned] @ self.model.model.embed_tokens.weight.T
        return F.cross_entropy(logits, labels[:, 1:][learned], reduction="sum")


def _schedule(step: int, steps: int, *, warm_up: int) -> float:
    """Linear warm-up, then half a cosine from 1 down to 0.1."""
    return min(1.0, step / warm_up) * (0.55 + 0.45 * math.cos(math.pi * step / steps))
