"""Small tasks in ARC's format: each turns its grids by 180 degrees, or mirrors them."""

import json

import numpy as np

from dataenvgym.domains.few_shot.problem import FewShotProblem, grid_of
from dataenvgym.records import TaskInstance

RULES = {"turned": lambda cells: np.rot90(cells, 2), "mirrored": np.fliplr}


def pair(cells, rule="mirrored"):
    cells = np.array(cells)
    return {"input": cells.tolist(), "output": RULES[rule](cells).tolist()}


def drawn(seed, *, rule="mirrored", shown=3, tests=1, size=3):
    """A task with random grids."""
    rng = np.random.default_rng(seed)
    pairs = [pair(rng.integers(1, 10, (size, size + 1)), rule) for _ in range(shown + tests)]
    return {"train": pairs[:shown], "test": pairs[shown:]}


def problem(seed=0, **options):
    task = drawn(seed, **options)
    return FewShotProblem(demonstrations=task["train"], input=task["test"][0]["input"])


def folder_of(path, n=12, first=0, **options):
    """A folder with one file for each task: task00.json, task01.json, ..."""
    path.mkdir(parents=True, exist_ok=True)
    for seed in range(first, first + n):
        rule = [*RULES][seed % 2]
        (path / f"task{seed:02}.json").write_text(json.dumps(drawn(seed, rule=rule, **options)))
    return path


def instance(text, answer, **fields):
    return TaskInstance(id="p", task="t", instruction=text, answer=answer, **fields)


def grid(text):
    return grid_of(np.array([[*map(int, row.split())] for row in text.split("/")]))
