"""Builds a pocket student: `python -m tools.pocket.build [--student NAME] [--output DIR]`.

Pretrains a Llama of 0.9 million parameters (4 layers, width 128, 4 heads of 32, 768 tokens) on
the student's curriculum and writes it in Hugging Face format. On 2 CPU cores this takes about 20 to
40 minutes. The students of `tools.pocket.self_editing` are smaller and take 5 or 6 minutes on
one core. The same seed, torch version and processor give the same weights.
"""

from __future__ import annotations

import argparse
import logging
import math
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dataenvgym.records import Conversation
from dataenvgym.records.tool_formats import POCKET
from dataenvgym.seeding import derive_rng, derive_seed
from dataenvgym.storage import publishing, write_text
from dataenvgym.students.pocket import STUDENT, student_path
from dataenvgym.tasks.pocket import Exercise
from tools.pocket.curriculum import Curriculum
from tools.pocket.recipes import STUDENTS, PocketStudent, Stage
from tools.pocket.tokenizer import END, build_tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from dataenvgym.students.trainers.compute import Run

_log = logging.getLogger(__name__)

VOCABULARY = 768
BATCH = 144
LONGEST = 40  # tokens of an answer, with a margin
_SHORT = 0.6  # of the rows: as much work as the longer ones
WARM_UP = 100
PROBE_EVERY, PROBE_SIZE = 50, 40
_FORMS = ("symbols", "words")
_DRAWS = 10  # of each phrasing, so that every name occurs


def build(
    student: PocketStudent,
    output: Path,
    *,
    seed: int = 0,
    stages: Sequence[Stage] | None = None,
    threads: int = 2,
) -> None:
    """Pretrain a student and publish it at `output`.

    Args:
        output: the folder to write; an existing one is replaced when the new one is complete.
        seed: of the weights and the rows.
        stages: replace the student's own; shorter ones give a weaker student, for tests.
        threads: how many cores compute; it does not change the weights.
    """
    import torch

    from dataenvgym.students.trainers.compute import global_rng, workers

    cpu = torch.device("cpu")
    with global_rng(derive_seed(seed, "weights") % 2**32, cpu):
        pretraining = _Pretraining(student, seed)
    with workers(threads, cpu) as run:
        for stage in stages or student.stages:
            pretraining.run(stage, run)
    with publishing(output) as folder:
        pretraining.model.save_pretrained(folder)
        pretraining.tokenizer.save_pretrained(folder)
        (folder / "model.safetensors").chmod(0o644)
        write_text(folder / "README.md", _card(student, seed))


class _Pretraining:
    def __init__(self, student: PocketStudent, seed: int) -> None:
        from transformers import LlamaConfig, LlamaForCausalLM

        self.student = student
        self.seed = seed
        self.tokenizer: Any = build_tokenizer(self._wordings(), vocab_size=VOCABULARY)
        config = LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=128,
            intermediate_size=352,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
            initializer_range=0.05,
            rms_norm_eps=1e-5,
            bos_token_id=None,
            eos_token_id=self.tokenizer.eos_token_id,
            pad_token_id=self.tokenizer.pad_token_id,
        )
        self.model: Any = LlamaForCausalLM(config)
        self.model.generation_config.do_sample = False

    def run(self, stage: Stage, run: Run) -> None:
        import torch

        began = time.perf_counter()
        rng = derive_rng(self.seed, *stage.path)
        curriculum = Curriculum(
            self.student,
            strong=stage.strong,
            weak_accuracy=stage.weak_accuracy,
            initial_rate=stage.initial_rate,
        )
        optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=stage.peak, betas=(0.9, 0.98), weight_decay=0.01
        )
        for step in range(1, stage.steps + 1):
            for group in optimizer.param_groups:
                group["lr"] = stage.peak * _schedule(step, stage.steps)
            loss = self._set_gradients(curriculum.draw(BATCH, rng), run)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            if step >= stage.probe_from and step % PROBE_EVERY == 0:
                curriculum.adjust(self.probe("words", step, curriculum.weak))
            if step % 200 == 0:
                symbols, words = (
                    self.probe(form, step, list(self.student.family_of)) for form in _FORMS
                )
                _log.info(
                    "%s: step %d, %.0f s, loss %.3f\n  symbols %s\n  words %s",
                    stage.name, step, time.perf_counter() - began, loss, _shown(symbols),
                    _shown(words),
                )  # fmt: skip

    def _set_gradients(self, exercises: list[Exercise], run: Run) -> float:
        """Gradients of the mean loss over all tokens of the student's.

        Two halves of similar length are computed in parallel.
        """
        import torch

        pieces = [self._pieces(exercise) for exercise in exercises]
        encoded = iter(self._encode([text for row in pieces for text in row]))
        rows = sorted(([next(encoded) for _ in row] for row in pieces), key=_length)
        half = int(len(rows) * _SHORT)
        batches = [padded(rows[half:]), padded(rows[:half])]
        n_tokens = sum(int((labels != -100).sum()) for _, _, labels in batches)
        weights = list(self.model.parameters())

        def compute(batch: tuple[Tensor, Tensor, Tensor]) -> tuple[float, tuple[Tensor, ...]]:
            ids, mask, labels = batch
            logits = self.model(input_ids=ids, attention_mask=mask).logits[:, :-1]
            total = torch.nn.functional.cross_entropy(
                logits.reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1), reduction="sum"
            )
            loss = total / n_tokens
            return loss.item(), torch.autograd.grad(loss, weights)

        (long, gradients), (short, others) = run(compute, batches)
        for weight, one, other in zip(weights, gradients, others, strict=True):
            weight.grad = one + other
        return long + short

    def probe(self, form: str, step: int, skills: Sequence[str]) -> dict[str, float]:
        """Greedy accuracy by skill on fresh exercises of the training split.

        An exercise counts if each of the student's messages is right, given right earlier ones.
        """
        family_of = self.student.family_of
        rng = derive_rng(self.seed, step, f"probe {form}")
        exercises = [
            family_of[skill].draw(skill, "train", rng, symbols=form == "symbols")
            for skill in skills
            for _ in range(PROBE_SIZE)
        ]
        right: list[bool] = []
        for _, part in groupby(exercises, key=lambda e: family_of[e.skill].name):
            right += self._are_right(list(part))  # exercises of a family have similar lengths
        means = np.array(right).reshape(len(skills), PROBE_SIZE).mean(axis=1)
        return dict(zip(skills, means.tolist(), strict=True))

    def _are_right(self, exercises: Sequence[Exercise]) -> list[bool]:
        rows = [self._pieces(exercise) for exercise in exercises]
        turns = [(i, at) for i, row in enumerate(rows) for at in range(1, len(row), 2)]
        replies = self._answer(["".join(rows[i][:at]) for i, at in turns])
        wrong = {
            i for (i, at), reply in zip(turns, replies, strict=True) if reply + END != rows[i][at]
        }
        return [i not in wrong for i in range(len(rows))]

    def _answer(self, prompts: list[str]) -> list[str]:
        import torch

        batch = self.tokenizer(prompts, padding=True, return_tensors="pt")
        with torch.inference_mode():
            ids = self.model.generate(**batch, max_new_tokens=LONGEST)
        replies = ids[:, batch["input_ids"].shape[1] :]
        decoded: list[str] = self.tokenizer.batch_decode(replies, skip_special_tokens=True)
        return decoded

    def _pieces(self, exercise: Exercise) -> list[str]:
        """The exercise as alternating texts: the messages to the student, and its gold replies."""
        pieces = [""]
        for message in self._conversation(exercise):
            if message.role == "assistant":
                pieces[-1] += "<|assistant|>"
                pieces += [message.content + END, ""]
            else:
                pieces[-1] += f"<|{message.role}|>{message.content}{END}"
        return pieces[:-1]

    def _conversation(self, exercise: Exercise) -> Conversation:
        return POCKET.flatten(self.student.family_of[exercise.skill].conversation(exercise))

    def _wordings(self) -> list[str]:
        """Texts that contain every phrasing and symbol, every word of an answer and every name."""
        rng = derive_rng(0, "wordings")
        family_of = self.student.family_of
        exercises = [
            family_of[skill].draw(skill, "train", rng, phrasing=phrasing, symbols=phrasing is None)
            for skill in family_of
            for phrasing in (*family_of[skill].phrasings[skill], None)
            for _ in range(_DRAWS)
        ]
        texts = [message.content for e in exercises for message in self._conversation(e)]
        return [*texts, *(text for family in self.student.families for text in family.wordings)]

    def _encode(self, texts: list[str]) -> list[list[int]]:
        encoded: list[list[int]] = self.tokenizer(texts)["input_ids"]
        return encoded


def _length(row: Sequence[list[int]]) -> int:
    return sum(map(len, row))


def padded(rows: Sequence[Sequence[list[int]]]) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, attention mask and labels (of the student's tokens), each (rows, longest row)."""
    import torch

    ids = torch.zeros(len(rows), max(map(_length, rows)), dtype=torch.long)
    mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
    for i, row in enumerate(rows):
        at = 0
        for number, piece in enumerate(row):
            part = slice(at, at := at + len(piece))
            ids[i, part] = torch.tensor(piece)
            mask[i, part] = 1
            if number % 2:
                labels[i, part] = ids[i, part]
    return ids, mask, labels


def _schedule(step: int, steps: int) -> float:
    """Linear warm-up, then half a cosine from 1 down to 0.1."""
    return min(1.0, step / WARM_UP) * (0.55 + 0.45 * math.cos(math.pi * step / steps))


def _shown(accuracy: dict[str, float]) -> str:
    return " ".join(f"{name} {value:.2f}" for name, value in accuracy.items())


def _card(student: PocketStudent, seed: int) -> str:
    made_by = "python -m tools.pocket.build"
    made_by += "" if student.name == STUDENT else f" --student {student.name}"
    return (
        f"# {student.name}\n\nThe pocket student of dataenvgym: a Llama of 0.9 million parameters, "
        f"pretrained on {student.subject}.\n"
        f"Made by `{made_by} --seed {seed}`. Apache-2.0.\n"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; `--help` names the options."""
    from tools.pocket import self_editing

    parser = argparse.ArgumentParser(description=__doc__)
    names = (*STUDENTS, *self_editing.RECIPES)
    parser.add_argument("--student", choices=names, default=STUDENT)
    parser.add_argument("--output", type=Path, help="a folder; by default, the package's own")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    output = options.output or student_path(options.student)
    if (recipe := self_editing.RECIPES.get(options.student)) is not None:
        self_editing.build(recipe, output, seed=options.seed)
    else:
        build(STUDENTS[options.student], output, seed=options.seed, threads=options.threads)


if __name__ == "__main__":
    main()
