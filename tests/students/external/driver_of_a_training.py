"""A program that trains and is killed: python driver_of_a_training.py TRAINING.yaml PYTHON.

It tells the numbers of the worker and of everything below it as soon as a training runs.
"""

import json
import sys
from pathlib import Path

import psutil

from dataenvgym.students.trainers import llama_factory


def main(training: Path, command: str) -> None:
    """Train, telling who works for us once the first step is done."""
    from dataenvgym.events import hearing_progress

    trainer = llama_factory.LlamaFactoryTrainer(command=command, threads=1)

    def show(_: str) -> None:
        below = [process.pid for process in psutil.Process().children(recursive=True)]
        print(json.dumps({"worker": trainer.worker and trainer.worker.pid, "below": below}))
        sys.stdout.flush()

    with hearing_progress(show):
        trainer.train(training)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
