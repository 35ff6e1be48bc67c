"""A small episode with the real student and trainer that may kill itself: see the test beside.

`runpy` runs it with AGENT, DIRECTORY and KILL. AGENT is skill_list or skill_tree; KILL is
ITERATION:PHASE:SECONDS: the process is killed (SIGKILL) that long after the phase has begun;
"0:reset:0" does so while a finished part is being read back.
"""

import os
import signal
import threading
from pathlib import Path

from dataenvgym.agents import Agent, AlternatingPolicy, PocketEngine, SkillListPolicy, TreeAgent
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillList, SkillTree
from dataenvgym.runs.episodes import EpisodeCallback, run_episode
from dataenvgym.runs.episodes.report import write_report
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer


class Killer(EpisodeCallback):
    def __init__(self, iteration: int, phase: str, seconds: float) -> None:
        self.at = (iteration, phase)
        self.seconds = seconds

    def on_phase(self, event: str, iteration: int, phase: str, seconds: float) -> None:
        if event == "begin" and (iteration, phase) == self.at:
            if self.seconds:
                threading.Timer(self.seconds, kill).start()
            else:
                kill()


class DyingStudent(InProcessPredictor):
    """Dies when an adapter is read back."""

    def load(self, path: Path) -> None:
        kill()

    def describe(self) -> dict[str, str]:
        return {**super().describe(), "name": "InProcessPredictor"}  # the run knows no other


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(name: str, directory: Path, at: str) -> None:
    iteration, phase, seconds = at.split(":")
    make_student = DyingStudent if phase == "reset" else InProcessPredictor
    task = PocketMathTask(n_validation=40, n_test=20)
    student = make_student(trainer=InProcessTrainer(threads=1, num_train_epochs=2), threads=1)
    engine = PocketEngine(task)
    if name == "skill_tree":
        environment = SkillTree(task, student, engine, directory=directory, replay=10)
        agent = TreeAgent(AlternatingPolicy(), name=name, records_per_iteration=24)
    else:
        environment = SkillList(task, student, directory=directory, replay=10)
        agent = Agent(SkillListPolicy(), engine, name=name, records_per_iteration=24)
    callbacks = [Killer(int(iteration), phase, float(seconds))]
    run_episode(environment, agent, iterations=3, seed=5, callbacks=callbacks)
    write_report(directory)


if __name__ == "__main__":
    main(AGENT, DIRECTORY, KILL)  # type: ignore[name-defined]  # noqa: F821
