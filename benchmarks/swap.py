"""Adapter swap on a running vLLM server: from the call of `load` to the first token of a reply.

    python -m benchmarks.swap [SWAPS]

The pocket student with two adapters in turns, on this machine's vLLM environment. In a second
measurement the first adapter gets a new name each time, so that names never repeat.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import print_table, write_results
from dataenvgym.interfaces import (
    DataGenerationAgentInterface,
    Failure,
    SamplingParameters,
    TrainingRun,
)
from dataenvgym.records import Message
from dataenvgym.runs.config import build_agent, build_task, compose
from dataenvgym.students.predictors import InProcessPredictor, VllmPredictor
from dataenvgym.tasks import Task

FIRST_TOKEN = SamplingParameters(max_tokens=1)


def main(argv: Sequence[str] | None = None) -> None:
    """The table, and the slowest swap."""
    arguments = sys.argv[1:] if argv is None else argv
    swaps = int(arguments[0]) if arguments else 20
    question = (Message(role="user", content="What is 3 plus 4?"),)
    with tempfile.TemporaryDirectory(prefix="dataenvgym-") as folder:
        adapters = [_adapter(Path(folder, name), seed) for seed, name in enumerate(("a", "b"))]
        predictor = VllmPredictor()
        predictor.predict([question], FIRST_TOKEN)
        rows: list[dict[str, Any]] = []
        for number in range(swaps):
            began = time.perf_counter()
            predictor.load(adapters[number % 2])
            loaded = time.perf_counter()
            reply = predictor.predict([question], FIRST_TOKEN)[0]
            ended = time.perf_counter()
            if isinstance(reply, Failure):
                raise SystemExit(f"no answer: {reply.reason}")
            rows.append({"load_s": loaded - began, "to_first_token_s": ended - began})
        predictor.close()
    table = [
        {"figure": name, **{k: pick([row[k] for row in rows]) for k in rows[0]}}
        for name, pick in (("median", statistics.median), ("slowest", max))
    ]
    print_table(table)
    write_results("swap", {"swaps": swaps, "rows": rows, "table": table})


def _adapter(folder: Path, seed: int) -> Path:
    """An adapter of the default rank, after a little training."""
    config = compose(["agent=random", "agent.records_per_iteration=40", f"seed={seed}"])
    task = build_task(config)
    assert isinstance(task, Task)
    student = InProcessPredictor()
    folder.mkdir()
    agent = build_agent(config)
    assert isinstance(agent, DataGenerationAgentInterface)
    records = agent(task.evaluate(student), student)
    student.train(records, TrainingRun(folder, seed=seed))
    return folder / "adapter"


if __name__ == "__main__":
    main()
