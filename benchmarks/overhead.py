"""Overhead of the framework: a teaching step and rollouts with a student that does nothing.

    python -m benchmarks.overhead

The step has 200 new records and 400 validation instances; all time except training and generation
counts. Rollouts are compared with a bare loop that asks and scores without environments.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.common import print_table, write_results
from dataenvgym.agents import Agent, PocketEngine, RandomPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillList
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.scoring import answers_equal, extract_final_answer

STEPS = 20


def teaching_step() -> list[dict[str, Any]]:
    """Median and largest seconds by phase over `STEPS` steps."""
    student = ScriptedPredictor(lambda conversation: "#### 1")
    task = PocketMathTask()
    environment = SkillList(task, student)
    agent = Agent(RandomPolicy(), PocketEngine(task), name="random")
    observation, _ = environment.reset(seed=0)
    for _ in range(STEPS):
        environment.clock.start(len(environment.results))
        with environment.clock("agent"):
            records = agent(observation["completed"], student)
        observation, *_ = environment.step(records)
        agent.step()
    spent = [result.seconds for result in environment.results[1:]]
    environment.close()
    return [
        {
            "phase": phase,
            "median_s": statistics.median(s.get(phase, 0.0) for s in spent),
            "max_s": max(s.get(phase, 0.0) for s in spent),
        }
        for phase in ("agent", "check", "score", "save", "total")
    ]


def rollouts() -> list[dict[str, Any]]:
    """Instances per second through task environments, and in a bare loop."""
    task = PocketMathTask(n_validation=4000, chunk_size=4000)
    gold = {i.instruction: i.answer or "" for i in task.instances}
    student = ScriptedPredictor(lambda conversation: f"#### {gold[conversation[-1].content]}")

    def ours() -> None:
        assert all(c.was_correct for c in task.evaluate(student))

    def floor() -> None:
        asked = [(Message(role="user", content=i.instruction),) for i in task.instances]
        replies: Any = student.predict(asked, SamplingParameters())
        for instance, reply in zip(task.instances, replies, strict=True):
            answer = extract_final_answer(reply.text)
            assert answer is not None
            assert answers_equal(instance.answer or "", answer)

    rates: dict[str, list[float]] = {"ours": [], "bare loop": []}
    for _ in range(5):
        for name, work in (("ours", ours), ("bare loop", floor)):
            began = time.perf_counter()
            work()
            rates[name].append(len(task.instances) / (time.perf_counter() - began))
    ratio = statistics.median(a / b for a, b in zip(*rates.values(), strict=True))
    rows = [{"rollouts": n, "per_s": statistics.median(r), "ratio": 1.0} for n, r in rates.items()]
    rows[0]["ratio"] = ratio
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Both tables."""
    steps, rolled = teaching_step(), rollouts()
    print_table(steps)
    print()
    print_table(rolled)
    write_results("overhead", {"teaching_step": steps, "rollouts": rolled})


if __name__ == "__main__":
    main()
