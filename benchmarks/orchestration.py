"""Orchestration: what training gains, and the speed of the environment (docs/orchestrate.md).

    python -m benchmarks.orchestration gain    the pocket orchestrator before and after two rounds
                                               of rewards, and fixed orchestrators, ten seeds
    python -m benchmarks.orchestration steps   1,000 orchestrations of 10 turns, and a bare
                                               environment: the same tools, and calls do nothing

Runs of `gain` are kept in `benchmarks/results/runs` and resume after an interruption. It also draws
accuracy against cost to `benchmarks/results/orchestration.png`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any

from benchmarks.common import RESULTS, print_table, write_results
from dataenvgym.cli.pareto import Point, draw
from dataenvgym.domains.orchestrate.domain import OrchestrateDomain, call_of
from dataenvgym.domains.orchestrate.pocket import (
    POCKET_ORCHESTRATE,
    TIERS,
    PocketOrchestrateTask,
)
from dataenvgym.domains.orchestrate.policies import FixedOrchestrator
from dataenvgym.domains.orchestrate.tiers import parse_tiers
from dataenvgym.interfaces import Ask, PredictorInterface, Reply, SamplingParameters
from dataenvgym.records import Conversation, Message, TaskInstance
from dataenvgym.runs.config import build_agent, build_environment, compose, run_name
from dataenvgym.runs.episodes import run_episode
from dataenvgym.storage import read_json, write_json
from dataenvgym.students.predictors import InProcessPredictor, ScriptedPredictor
from dataenvgym.tasks import Outcome, TaskEnvironment
from dataenvgym.tasks.rollouts import rollout

RUNS = RESULTS / "runs"
TOOLS = POCKET_ORCHESTRATE.tools
ROUNDS = 2
OPTIONS = ("experiment=orchestrator_pocket", "task.n_validation=60")
FIXED = {
    "dearest": ["search-3", "answer-1"],
    "cheap": ["search-3", "answer-4"],
    "dearest, no search": ["answer-1"],
}
N_TEST = 1_200
TURNS, ORCHESTRATIONS = 10, 1_000


def gain(seeds: int) -> dict[str, Any]:
    """Accuracy and cents of a problem, of each orchestrator, on the test split."""
    task = PocketOrchestrateTask(n_train=6, n_validation=6, n_test=N_TEST, split="test")
    rows: list[dict[str, Any]] = []
    for name, calls in FIXED.items():
        rows.append({"orchestrator": name, **measured(task, FixedOrchestrator(calls))})
    rows.append({"orchestrator": "before", **measured(task, InProcessPredictor(task.student))})
    for seed in range(seeds):
        rows.append({"orchestrator": f"trained, seed {seed}", **after_training(task, seed)})
    points = [Point(r["orchestrator"], r["accuracy"], r["cents"]) for r in rows[: len(FIXED) + 1]]
    after = rows[len(FIXED) + 1 :]
    mean = {name: statistics.fmean(r[name] for r in after) for name in ("accuracy", "cents")}
    points.append(Point("trained", mean["accuracy"], mean["cents"]))
    RESULTS.mkdir(exist_ok=True)
    draw(points, RESULTS / "orchestration.png")
    dear = rows[0]
    return {
        "rows": rows,
        "mean": mean,
        "reached": sum(
            r["accuracy"] >= dear["accuracy"] - 0.02 and r["cents"] <= dear["cents"] / 2
            for r in after
        ),
    }


def after_training(task: PocketOrchestrateTask, seed: int) -> dict[str, float]:
    """The accuracy and cost of the student after the last round, from its file if it is there."""
    config = compose([*OPTIONS, f"seed={seed}"])
    directory = RUNS / run_name(config)
    if not (path := directory / "measured.json").is_file():
        environment, agent = build_environment(config, directory), build_agent(config)
        run_episode(environment, agent, iterations=ROUNDS, seed=seed)
        adapter = directory / "iterations" / f"{ROUNDS:03d}" / "adapter"
        write_json(path, measured(task, InProcessPredictor(task.student, adapter=adapter)))
    found: dict[str, float] = read_json(path)
    return found


def measured(task: PocketOrchestrateTask, student: PredictorInterface) -> dict[str, float]:
    """Accuracy, cents and seconds of a problem."""
    report = task.generate_performance_report(task.evaluate(student))
    assert report.accuracy is not None
    return {"accuracy": report.accuracy, **{n: report.scores[n] for n in ("cents", "seconds")}}


class Bare(TaskEnvironment):
    """Declares the tools, and does nothing at a call."""

    def begin(self, instance: TaskInstance) -> Conversation:
        return (Message(role="user", content=instance.instruction, tools=TOOLS),)

    def respond(
        self, instance: TaskInstance, conversation: Conversation
    ) -> Generator[Ask, Reply, Outcome]:
        yield from ()
        return Outcome(messages=(Message(role="user", content="go on"),), done=False)


class LongTexts:
    """A retriever that finds long texts for each query."""

    def search(self, query: str, k: int) -> Sequence[str]:
        return [f"{query} {i}: " + "x" * 1_500 for i in range(k)]


def steps(rounds: int = 5) -> dict[str, Any]:
    """Steps per second of processor time of both environments, in turns."""
    names = ("search-3", "reasoner-3", "answer-1")
    tiers = parse_tiers({name: {"accuracy": 1.0} for name in names})
    domain = OrchestrateDomain(tiers, retriever=LongTexts(), max_turns=TURNS)
    instances = [
        TaskInstance(id=str(i), task="t", instruction=f"Who won game {i}?", answer="Denver")
        for i in range(ORCHESTRATIONS)
    ]
    calls = [call_of(name, TIERS) for name in names]

    def rate(make: Callable[[], TaskEnvironment]) -> float:
        n_said: Counter[str] = Counter()

        def say(conversation: Conversation) -> str:
            """Search and reason in turns, nine times, then answer."""
            problem = conversation[-1].content.partition("\n")[0]
            n_said[problem] += 1
            return calls[2] if n_said[problem] == TURNS else calls[n_said[problem] % 2]

        began = time.process_time()
        done = rollout(ScriptedPredictor(say), instances, make, sampling=SamplingParameters())
        seconds = time.process_time() - began
        said = [sum(m.role == "assistant" for m in each.transcript) for each in done]
        assert set(said) == {TURNS}, set(said)
        return TURNS * len(instances) / seconds

    rates: dict[str, list[float]] = {"orchestrate": [], "bare": []}
    for _ in range(rounds):
        rates["orchestrate"].append(rate(domain.make_environment))
        rates["bare"].append(rate(lambda: Bare(max_turns=TURNS)))
    rows = [
        {"environment": name, "steps_per_s": statistics.median(each)}
        for name, each in rates.items()
    ]
    ratios = [a / b for a, b in zip(rates["orchestrate"], rates["bare"], strict=True)]
    return {"rows": rows, "share_of_bare": statistics.median(ratios)}


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; `--help` names the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figure", choices=("gain", "steps"))
    parser.add_argument("--seeds", type=int, default=10, help="of gain")
    options = parser.parse_args(argv)
    results = gain(options.seeds) if options.figure == "gain" else steps()
    print_table(results["rows"])
    print({name: value for name, value in results.items() if name != "rows"})
    print(write_results(f"orchestration_{options.figure}", results))


if __name__ == "__main__":
    main()
