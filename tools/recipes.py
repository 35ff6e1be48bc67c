"""Runs the recipes of `docs/recipes.md` as printed, and compares their scores: `make recipes`.

Each recipe runs in a folder of its own, in which the files of the page are. The page says what to
expect of it in a line such as

    Expect: test .99 ± .02, 2 minutes on two cores

The first word is a score of the run, the study, the evaluation or the adaptation that the recipe
leaves behind (see `found`). It must be within ± of the value, or the program fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from dataenvgym.adaptation.report import ArmFigures
from dataenvgym.runs.episodes.summary import read_summary
from dataenvgym.storage import read_json
from dataenvgym.studies.results import StudyResults
from dataenvgym.tasks.metrics.results import EvaluationResults
from tests.studies.executors.own_slurm import missing, own_slurm

PAGE = Path(__file__).parents[1] / "docs" / "recipes.md"
_FENCED = re.compile(r'^```\w+(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"^## (\d+)\. (.+)$", re.MULTILINE)
_LINE = re.compile(r"^ {4}(\S(?:.*\\\n)*.*)$", re.MULTILINE)
_EXPECT = re.compile(
    r"^Expect: (?P<score>\S+?)(?: of (?P<of>\w+))? (?P<value>-?\d*\.\d+) ± (?P<spread>\d*\.\d+), "
    r"(?P<minutes>\d+) minutes? on two cores",
    re.MULTILINE,
)


class Recipe(NamedTuple):
    """A section of the page.

    Attributes:
        lines: what a reader types; the last line is the command.
        score, of: what is compared, and whose it is: a strategy's or an arm's.
    """

    number: int
    title: str
    lines: tuple[str, ...]
    score: str
    of: str
    value: float
    spread: float
    minutes: int


def files(text: str) -> dict[str, str]:
    """The files that readers of the page write, by name."""
    return {name: content for name, content in _FENCED.findall(text) if name}


def recipes(text: str) -> list[Recipe]:
    """The recipes of the page.

    Raises:
        ValueError: if one has not exactly one line that says what to expect.
    """
    _, *parts = _SECTION.split(_FENCED.sub("", text))
    found = []
    for number, title, section in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if len(expected := list(_EXPECT.finditer(section))) != 1:
            raise ValueError(f"recipe {number} has {len(expected)} lines such as Expect: test ...")
        said = expected[0].groupdict(default="")
        found.append(
            Recipe(
                int(number),
                title,
                tuple(_LINE.findall(section)),
                said["score"],
                said["of"],
                float(said["value"]),
                float(said["spread"]),
                int(said["minutes"]),
            )
        )
    return found


def found(folder: Path, score: str, of: str) -> float | None:
    """The score of the only result in a folder: a run, a study, an evaluation or an adaptation.

    Of a run it is `test`, the test score of the best iteration, or a named score of the last one on
    the validation split. Of a study it is a mean over seeds.
    """
    (path,) = [*folder.glob("runs/*/summary.json"), *folder.glob("*/*/results.json")]
    if path.name == "summary.json":
        summary = read_summary(path.parent)
        named = summary.iterations[-1].named_scores
        return summary.test_score_after if score == "test" else named[score]
    values = read_json(path)
    kind = path.parts[-3]
    if kind == "studies":
        (task,) = StudyResults.model_validate(values).tasks
        return next(one for one in task.strategies if one.name == of).measures[score].mean
    if kind == "evaluations":
        metrics = EvaluationResults.model_validate(values).metrics
        return next(one for one in metrics if one.name == score).value
    arm = ArmFigures.model_validate(next(a for a in values["arms"] if a["arm"] == of))
    return None if arm.adapter is None else arm.adapter.mean


def run(recipe: Recipe, folder: Path, environment: Mapping[str, str]) -> str:
    """Type the recipe's lines in a folder; what is wrong with its result, or ""."""
    with (folder / "log.txt").open("w") as log:
        done = subprocess.run(
            ["bash", "-euc", "\n".join(recipe.lines)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        return f"exit code {done.returncode}: {(folder / 'log.txt').read_text()[-2000:]}"
    value = found(folder, recipe.score, recipe.of)
    print(f"{'none' if value is None else format(value, '.3f'):>7}", end="")
    is_near = value is not None and abs(value - recipe.value) <= recipe.spread + 1e-9
    return "" if is_near else "outside of the spread"


def main(numbers: Sequence[str], text: str) -> int:
    """Run the recipes with these numbers, or all; 1 if one fails, else 0."""
    here = str(Path(sys.executable).parent)
    known = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    chosen = [one for one in recipes(text) if not numbers or str(one.number) in numbers]
    n_failed = 0
    print(f"{'recipe':36} {'score':22} {'expected':>12}  found  minutes")
    for recipe in chosen:
        expected = f"{recipe.value:.3f} ± {recipe.spread:.3f}"
        name = f"{recipe.score} of {recipe.of}" if recipe.of else recipe.score
        print(f"{recipe.number:2} {recipe.title:33.33} {name:22.22} {expected:>12}", end="")
        with ExitStack() as stack:
            environment: Mapping[str, str] = known
            if "executor=slurm" in recipe.lines[-1]:
                if (why := missing()) is not None:
                    print(f"  skipped: {why}")
                    continue
                slurm = stack.enter_context(own_slurm())
                environment = {**slurm.environment, "PATH": known["PATH"]}
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="recipe-")))
            for file, content in files(text).items():
                (folder / file).write_text(content)
            begin = time.monotonic()
            wrong = run(recipe, folder, environment)
        n_failed += bool(wrong)
        print(f"  {(time.monotonic() - begin) / 60:7.1f}{wrong and f'  FAILED: {wrong}'}")
    return min(n_failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], PAGE.read_text()))
