"""Students and agents that a user might have written in a `my_students.py` of their own."""

import os
import signal
from functools import cache
from pathlib import Path
from time import sleep
from zlib import crc32

from dataenvgym.agents import Agent
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.events import warn_run
from dataenvgym.storage import write_text
from dataenvgym.students.predictors import ScriptedPredictor


@cache
def solutions():
    task = PocketMathTask(n_validation=20, n_test=20, n_train=20)
    return {
        instance.instruction: f"#### {instance.answer}"
        for split in ("train", "validation", "test")
        for instance in task.on(split).instances
    }


def die_once(name):
    """Kill this process, but not if that has happened before."""
    try:
        Path(f"died-{name}").touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


# --- students -----------------------------------------------------------------------------------


class MyStudent(ScriptedPredictor):
    """Knows a share of the answers that grows with the records it was trained on."""

    def __init__(self, wit=20):
        super().__init__(self.reply)
        self.wit = wit

    def reply(self, conversation):
        question = conversation[-1].content
        knows = crc32(question.encode()) % 100 < self.wit + self.records
        return solutions().get(question, "?") if knows else "#### 99"


class Wavering(MyStudent):
    """Knows much, forgets all with 25 to 44 records, and warns of each training."""

    def __init__(self):
        super().__init__(wit=60)

    def reply(self, conversation):
        return "#### 99" if 25 <= self.records < 45 else super().reply(conversation)

    def train(self, training_data, run):
        super().train(training_data, run)
        warn_run(f"a training with {len(training_data)} records")


class Sickly(MyStudent):
    """Dies at every answer while there is a file `sick`."""

    def reply(self, conversation):
        if Path("sick").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().reply(conversation)

    def describe(self):
        return {"name": "MyStudent"}


class Mortal(MyStudent):
    """Dies when it answers once it has learned, and at the end of its second training."""

    def predict(self, conversations, sampling):
        if self.trainings:
            die_once("answering")
        return super().predict(conversations, sampling)

    def train(self, training_data, run):
        super().train(training_data, run)
        if run.directory.name == "002":
            die_once("training")


# --- agents -------------------------------------------------------------------------------------


class Clumsy(Agent):
    """Writes records without an output."""

    def __call__(self, completed, predictor):
        return [{"instruction": "no output"}]


class Buggy(Agent):
    """Fails always."""

    def __call__(self, completed, predictor):
        return 1 // 0


class Faulty(Agent):
    """Fails with seed 1 as long as there is a file `fault`."""

    def __call__(self, completed, predictor):
        if self.seed == 1 and Path("fault").exists():
            raise RuntimeError("out of ideas")
        return super().__call__(completed, predictor)


class Fragile(Agent):
    """Its process dies in its second iteration, the first time."""

    def __call__(self, completed, predictor):
        if self.iteration == 2:
            die_once("teaching")
        return super().__call__(completed, predictor)


class Held(Agent):
    """Waits in its second iteration, the first time, for a file `released`.

    Args:
        mark: a file that then has the number of its Slurm job.
    """

    def __init__(self, mark, **options):
        super().__init__(**options)
        self.mark = Path(mark)

    def __call__(self, completed, predictor):
        if self.iteration == 2 and not self.mark.exists():
            write_text(self.mark, os.environ.get("SLURM_JOB_ID", ""))
            while not Path("released").exists():
                sleep(0.01)
        return super().__call__(completed, predictor)


class Stopped(Agent):
    """Gets in its second iteration, the first time, what Slurm sends before a job's time limit."""

    def __call__(self, completed, predictor):
        if self.iteration == 2 and not Path("stopped").exists():
            Path("stopped").touch()
            os.kill(os.getpid(), signal.SIGUSR2)
        return super().__call__(completed, predictor)


class Slow(Agent):
    """Gets the same in its second iteration, each time."""

    def __call__(self, completed, predictor):
        if self.iteration == 2:
            os.kill(os.getpid(), signal.SIGUSR2)
        return super().__call__(completed, predictor)


class Poor(Agent):
    """Writes a tenth of the records that it may."""

    def __call__(self, completed, predictor):
        return super().__call__(completed, predictor)[: self.records_per_iteration // 10]


class Greedy(Agent):
    """Writes twice as many records as it was to."""

    def __call__(self, completed, predictor):
        self.records_per_iteration = 40
        return super().__call__(completed, predictor)


class Hasty(Agent):
    """Presses Ctrl-C at once."""

    def __call__(self, completed, predictor):
        raise KeyboardInterrupt


class Endless(Agent):
    """Thinks forever."""

    def __call__(self, completed, predictor):
        while True:
            sleep(0.01)


class Impatient(Agent):
    """Presses Ctrl-C in its second iteration, the first time."""

    def __call__(self, completed, predictor):
        if self.iteration == 2 and not hasattr(Impatient, "calmed"):
            Impatient.calmed = True
            raise KeyboardInterrupt
        return super().__call__(completed, predictor)


class Startled(Agent):
    """Its first run waits in the second iteration for Ctrl-C."""

    def __call__(self, completed, predictor):
        if self.iteration == 2 and not Path("startled").exists():
            Path("startled").touch()
            print("the agent waits", flush=True)
            signal.pause()
        return super().__call__(completed, predictor)


class Stopping(Agent):
    """In its first run the student computes until Ctrl-C, and then no further layer.

    Args:
        student: its folder.
        phase: "train" or "generate", after the agent's first turn.
    """

    def __init__(self, student, phase, **options):
        super().__init__(**options)
        self.student, self.phase = student, phase

    def __call__(self, completed, predictor):
        if not Path("stopped").exists():
            import torch

            from dataenvgym.students.trainers.student import load_base_model

            cpu = torch.device("cpu")
            self.model = load_base_model(self.student, device=cpu, dtype=torch.float32)
            for layer in self.model.model.layers:
                layer.register_forward_pre_hook(self.compute)
        return super().__call__(completed, predictor)

    def compute(self, layer, inputs):
        import torch

        from dataenvgym.events import CancelledTask, raise_if_cancelled

        if torch.is_inference_mode_enabled() != (self.phase == "generate"):
            return
        try:
            Path("stopped").touch(exist_ok=False)
        except FileExistsError:
            Path("computed-more").touch()
            return
        print("the student computes", flush=True)
        while True:
            try:
                raise_if_cancelled()
            except CancelledTask:
                return
            sleep(0.01)


class Unwanted(Agent):
    """Is sent SIGTERM in its second iteration."""

    def __call__(self, completed, predictor):
        if self.iteration == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().__call__(completed, predictor)
