"""Many small adapters on one base: trained together and one after another.

    python -m benchmarks.adapters [fill] [loops] [study [BATCH]]

- fill: sequences a second on one core, by the tokens of a pass: where more of them gain no more.
- loops: adapters an hour, each of 16 sequences at batch 1, rank 32, 10 epochs. Those one after
  another are trained before and after those together, so that both have the same machine.
- study: seconds of a study of 4 strategies and 4 seeds with executor=together and
  executor=processes, both from the command line, with BATCH records a step (1).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import Any

import torch

from benchmarks.common import print_table, write_results
from dataenvgym.interfaces import AdapterJob, TrainingRun
from dataenvgym.records import SupervisedDatum
from dataenvgym.seeding import derive_rng
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.pocket import students
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer, together
from dataenvgym.students.trainers.adapters import new_adapter
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import padding_token, supervised_examples
from dataenvgym.students.trainers.objectives import CrossEntropy, padder
from dataenvgym.students.trainers.student import load_base_model, load_tokenizer

STUDENT = str(students()["pocket"])
INNER_LOOP = {
    "lora_rank": 32,
    "num_train_epochs": 10.0,
    "per_device_train_batch_size": 1,
    "lr_scheduler_type": "linear",
}
TOKENS = (1, 128, 256, 512, 1024, 2048, 4096)
STUDY = (
    "agent=random,skill_list,open_ended,skill_tree", "seed=range(4)", "episode.iterations=1",
    "task.n_validation=30", "task.n_test=30", "agent.records_per_iteration=32",
    "trainer.num_train_epochs=3", "predictor.threads=1",
)  # fmt: skip


def records(k: int) -> list[SupervisedDatum]:
    """The 16 sequences of an inner loop."""
    rng = derive_rng(k, "records")
    numbers = rng.integers(1, 200, (16, 3)).tolist()
    return [
        SupervisedDatum(instruction=f"What is {a} + {b} - {c}?", output=f"It is {a + b - c}.")
        for a, b, c in numbers
    ]


def fill() -> list[dict[str, float]]:
    """Sequences a second for passes of different sizes, on one core."""
    device = torch.device("cpu")
    base = load_base_model(STUDENT, device=device, dtype=torch.float32)
    tokenizer = load_tokenizer(STUDENT)
    config = TrainingConfig(**INNER_LOOP)  # type: ignore[arg-type]
    rows: list[dict[str, float]] = []
    with workers(1, device) as run:
        group = together.AdapterGroup(base, run, 1)
        trainees = []
        for k in range(96):
            examples = supervised_examples(records(k), tokenizer, config.cutoff_len)
            objective = CrossEntropy(examples, padder(padding_token(tokenizer), device))
            model = new_adapter(base, config)
            trainee = together.Trainee.of(config, model, objective, copy_context())
            assert trainee is not None
            group.join(trainee)
            trainees.append(trainee)
        group.round()
        before = together.FULL
        for full in TOKENS:
            together.FULL = full
            began = time.process_time()
            group.round()
            rows.append({"tokens of a pass": full, "seq./s": 96 / (time.process_time() - began)})
        together.FULL = before
        for trainee in trainees:
            trainee.leave()
    return rows


def loops(n: int = 24, n_alone: int = 4) -> list[dict[str, object]]:
    """Adapters an hour."""
    trainer = InProcessTrainer(threads=2, **INNER_LOOP)  # type: ignore[arg-type]
    student = InProcessPredictor("pocket", trainer, threads=2)
    with tempfile.TemporaryDirectory() as folder:

        def train(name: str, numbers: range, at_once: bool) -> float:
            jobs = []
            for k in numbers:
                directory = Path(folder) / name / str(k)
                directory.mkdir(parents=True)
                jobs.append(AdapterJob(records(k), TrainingRun(directory, seed=k)))
            began = time.monotonic()
            for some in [jobs] if at_once else [[job] for job in jobs]:
                if at_once:
                    student.train_each(some)
                else:
                    student.train(some[0].records, some[0].run)
            return time.monotonic() - began

        train("warm up", range(1), at_once=False)
        half = n_alone // 2
        alone = train("before", range(half), at_once=False)
        shared = train("together", range(n), at_once=True)
        alone += train("after", range(half), at_once=False)
    figures = {"one after another": n_alone / alone, "together": n / shared}
    return [
        {
            "inner loops": name,
            "adapters/h": 3600 * rate,
            "ratio": rate / figures["one after another"],
        }
        for name, rate in figures.items()
    ]


def study(batch: int) -> list[dict[str, object]]:
    """Seconds of a study."""
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for executor in ("processes", "together"):
            command = [sys.executable, "-m", "dataenvgym.cli.main", "study", "--no-bounds"]
            command += ["--name", executor, f"executor={executor}", *STUDY]
            command += [f"trainer.per_device_train_batch_size={batch}"]
            paths = os.pathsep.join([os.getcwd(), *sys.path])
            began = time.monotonic()
            subprocess.run(
                command,
                check=True,
                cwd=folder,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
            )
            seconds[executor] = time.monotonic() - began
    return [
        {"study": name, "records a step": batch, "seconds": took,
         "ratio": took / seconds["processes"]}
        for name, took in seconds.items()
    ]  # fmt: skip


def main() -> None:
    chosen = sys.argv[1:] or ["fill", "loops", "study"]
    batch = int(chosen.pop()) if chosen[-1].isdigit() else 1
    parts: dict[str, Callable[[], Sequence[Mapping[str, Any]]]] = {
        "fill": fill, "loops": loops, "study": lambda: study(batch)
    }  # fmt: skip
    results = {}
    for name in chosen:
        rows = parts[name]()
        print_table(rows)
        print()
        results[name] = rows
    write_results("adapters", results)


if __name__ == "__main__":
    main()
