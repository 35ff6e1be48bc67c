"""Orchestration: a router with two rules, compared with the same calls for every request."""

import re
from pathlib import Path

from dataenvgym.cli.pareto import Point, draw, front
from dataenvgym.domains.orchestrate.pocket import PocketOrchestrateTask
from dataenvgym.domains.orchestrate.policies import FixedOrchestrator
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.students.predictors import ScriptedPredictor

CALL = '{{"name": "{}", "arguments": {{"model": "{}"}}}}'
HARD = re.compile(r"multiply|product|rows of|divide|modulo|leaves over")


def route(conversation):
    """Search once if there is no number; ask the dear tier only about products and rests."""
    seen = conversation[-1].content
    if "Documents:" not in seen and not re.search(r"\d", seen):
        return CALL.format("search", "search-3")
    return CALL.format("answer", "answer-1" if HARD.search(seen) else "answer-4")


if __name__ == "__main__":
    task = PocketOrchestrateTask(n_train=6, n_validation=200, n_test=6)
    orchestrators: dict[str, PredictorInterface] = {
        "router": ScriptedPredictor(route),
        "dear": FixedOrchestrator(["search-3", "answer-1"]),
        "cheap": FixedOrchestrator(["search-3", "answer-4"]),
    }
    points = []
    for name, orchestrator in orchestrators.items():
        report = task.generate_performance_report(task.evaluate(orchestrator))
        points.append(Point(name, report.accuracy, report.scores["cents"]))
    best = front(points)
    for point in points:
        mark = "on the front" if point in best else ""
        print(f"{point.name:7} accuracy {point.accuracy:.2f} cents {point.spent:.2f} {mark}")
    draw(points, Path("orchestrators.png"))
