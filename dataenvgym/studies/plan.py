"""Plans a study: its episodes, each with its configuration and its folder.

The episodes are ordinary runs in `studies/<name>/runs`. Besides the grid there are two bounds. The
floor is one episode of `agent=none` per task (nothing is trained, so one seed is enough). The
ceiling is `agent=gold` with each seed, without a record budget, and with records that the pressure
of a task leaves alone.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from omegaconf import DictConfig, OmegaConf

from dataenvgym.config.composition import compose
from dataenvgym.config.identity import check_folder_name, free_keys
from dataenvgym.config.overrides import Override, parse_overrides
from dataenvgym.config.run_directory import is_done, run_directory
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.options import refuse_unknown
from dataenvgym.studies.grid import Choice, Grid, parse_grid
from dataenvgym.studies.racing import least_seeds
from dataenvgym.studies.state import Role, read_state
from dataenvgym.studies.statistics import EXACT, Test

FLOOR, CEILING = "none", "gold"
"""The agents of the bounds."""
_OF_AGENTS = ("agent", "prompt", "prompt@subskill_prompt")
"""Sections of the strategies' agents, for which the agents of the bounds have no place."""


@dataclass(frozen=True)
class Cell:
    """One episode of a study.

    Attributes:
        role: "floor" and "ceiling" are the bounds.
        strategy, task: names for tables.
    """

    role: Role
    strategy: str
    task: str
    seed: int
    config: DictConfig

    @cached_property  # the name of a run has a hash of its whole configuration
    def directory(self) -> Path:
        """Its run directory."""
        return run_directory(self.config)

    @property
    def is_finished(self) -> bool:
        """True if nothing is left to do, or the teacher's budget is spent."""
        return is_done(self.config, self.directory, or_ended=True)

    @property
    def kind(self) -> str:
        """The task and the strategy, which episodes with other seeds share."""
        return f"{self.task}: {self.strategy}"

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.kind}, seed {self.seed}"


@dataclass(frozen=True)
class StudyPlan:
    """The plan of a study.

    Attributes:
        directory: `studies/<name>`.
        overrides, named_strategies: the request.
        cells: the episodes in the order of their start: seed by seed.
        baseline, test, race, allow_unequal, looking_for, noise_dir: see `StudyOptions`.
    """

    directory: Path
    overrides: tuple[str, ...]
    named_strategies: tuple[str, ...]
    grid: Grid
    cells: tuple[Cell, ...]
    baseline: str
    test: Test | None = None
    allow_unequal: tuple[str, ...] = field(default=())
    looking_for: float | None = None
    noise_dir: Path = Path("noise")
    race: bool = False

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def has_suite_score(self) -> bool:
        """True for several tasks with bounds."""
        return len(self.grid.tasks) > 1 and any(cell.role == "ceiling" for cell in self.cells)

    def of_strategies(self) -> list[Cell]:
        """The cells that are not bounds."""
        return [cell for cell in self.cells if cell.role == "strategy"]


class StudyOptions(TypedDict, total=False):
    """Options of a study.

    Attributes:
        name: of its folder; None derives a name from the tasks and the common overrides.
        strategies: further strategies, each "NAME: KEY=VALUE ...".
        baseline: the strategy that the others are compared with; None takes random, or else the
            first strategy.
        bounds: also run the floor (no teaching) and the ceiling (gold data); by default True.
        test: "t" or "sign_flip"; None takes sign_flip for 20 seeds or fewer.
        race: stop strategies and seeds that cannot change which one is the best (see `racing`).
        allow_unequal: keys that may differ between strategies.
        looking_for: the difference in test gain (of a suite: in its score) that the study is for; a
            warning says if it cannot be shown with this budget.
        noise_dir: the folder of noise models, by default "noise".
        workers: processes at the same time; None takes as many as there are cores for the students.
        studies_dir: the folder of studies, by default "studies".
        config_dir: a folder with your own YAML files.
    """

    name: str | None
    strategies: Sequence[str]
    baseline: str | None
    bounds: bool
    test: Test | None
    race: bool
    allow_unequal: Sequence[str]
    looking_for: float | None
    noise_dir: str | Path
    workers: int | None
    studies_dir: str | Path
    config_dir: str | Path | None


def plan_study(overrides: Sequence[str] = (), **options: Unpack[StudyOptions]) -> StudyPlan:
    """Plan a study; touch no file.

    Args:
        overrides: Hydra's, with several values for keys that vary: `agent=random,skill_list`,
            `seed=range(10)`, `task=...`, `suite=...` (see `grid`).
        options: see `StudyOptions`.

    Raises:
        ConfigurationError: for everything that `dataenvgym run` refuses, and for an impossible
            study: an unknown baseline, the same strategy twice, too many seeds for the test.
    """
    refuse_unknown(options, StudyOptions, "a study")
    strategies, config_dir = options.get("strategies", ()), options.get("config_dir")
    workers, test = options.get("workers"), options.get("test")
    grid = parse_grid(overrides, strategies=strategies, config_dir=config_dir)
    if (name := options.get("name")) is None:
        name = _default_name(grid, config_dir)
    else:
        check_folder_name(name, "--name")
    directory = Path(options.get("studies_dir", "studies")).expanduser() / name
    if race := options.get("race", False):
        grid = _racing(grid, directory, options)
    is_chosen = any(_first(text).key == "executor" for text in grid.fixed)
    extra = [] if is_chosen else ["executor=processes"]
    extra += [] if workers is None else [f"executor.workers={workers}"]
    bounds = options.get("bounds", True)
    planned = _cells(grid, directory / "runs", extra, config_dir, bounds=bounds)
    first: dict[Path, Cell] = {}
    for cell in planned:
        other = first.setdefault(cell.directory, cell)
        if other is not cell and "strategy" in (cell.role, other.role):
            raise ConfigurationError(
                f"{other.label!r} and {cell.label!r} are the same episode: leave one of them out"
            )
    if test == "sign_flip" and len(grid.seeds) > EXACT:
        raise ConfigurationError(
            f"--test sign_flip counts all 2^n sign flips, for {EXACT} seeds at most; "
            f"with {len(grid.seeds)} use --test t"
        )
    if (looking_for := options.get("looking_for")) is not None and not looking_for > 0:
        raise ConfigurationError(
            f"--looking-for is {looking_for}, expected a difference such as 0.02"
        )
    return StudyPlan(
        directory=directory,
        overrides=tuple(overrides),
        named_strategies=tuple(strategies),
        grid=grid,
        cells=tuple(planned),
        baseline=choose_baseline([s.name for s in grid.strategies], options.get("baseline")),
        test=test,
        allow_unequal=tuple(options.get("allow_unequal", ())),
        looking_for=looking_for,
        noise_dir=Path(options.get("noise_dir", "noise")).expanduser(),
        race=race,
    )


def choose_baseline(strategies: Sequence[str], wanted: str | None) -> str:
    """Choose `wanted`, else random, else the first; ConfigurationError for an unknown one."""
    if wanted is None:
        return "random" if "random" in strategies else strategies[0]
    if wanted not in strategies:
        raise ConfigurationError(
            f"baseline is {wanted!r}, which is not a strategy of this study."
            f"{did_you_mean(wanted, strategies)} The strategies are: {', '.join(strategies)}."
        )
    return wanted


def _racing(grid: Grid, directory: Path, options: StudyOptions) -> Grid:
    """The grid of a race, with the seeds in the order of its rounds: earlier seeds stay first.

    Raises:
        ConfigurationError: if nothing can be decided, an option has no meaning in a race, or the
            earlier race had other strategies or tasks.
    """
    k, n = len(grid.strategies), len(grid.seeds)
    if k < 2:
        raise ConfigurationError(f"--race has {k} strategy, expected two or more")
    if n < (least := least_seeds(k)):
        raise ConfigurationError(
            f"--race has {n} seeds, which decide nothing about {k} strategies; expected {least} or "
            'more, better "seed=range(20)": most strategies stop early'
        )
    for name in ("baseline", "test"):
        if options.get(name) is not None:
            raise ConfigurationError(
                f"--{name} is {options[name]!r}, but --race compares all pairs by a test of its "
                "own: leave one of them out"
            )
    if (before := read_state(directory)) is None:
        return grid
    for what, then, now in (
        ("strategies", before.strategies, grid.strategies),
        ("tasks", before.tasks, grid.tasks),
    ):
        names = [one.name for one in then]
        if before.race and sorted(names) != sorted(one.name for one in now):
            raise ConfigurationError(
                f"the race {directory.name!r} has the {what} {', '.join(names)}, and this command "
                f"{', '.join(one.name for one in now)}: its error rate holds for those it began "
                "with. Choose another --name"
            )
    earlier = [seed for seed in before.seeds if seed in grid.seeds]
    return replace(grid, seeds=tuple(dict.fromkeys((*earlier, *grid.seeds))))


def _cells(
    grid: Grid, runs: Path, extra: Sequence[str], config_dir: str | Path | None, *, bounds: bool
) -> list[Cell]:
    """The cells of the strategies, and the bounds; each strategy and task is composed once."""

    def seeded(role: Role, name: str, task: Choice, overrides: Sequence[str]) -> list[Cell]:
        first = f"seed={grid.seeds[0]}"
        composed = compose([*overrides, *extra, first], config_dir=config_dir)
        if role == "ceiling" and composed.task.get("pressure") is not None:
            from omegaconf import open_dict

            with open_dict(composed.task):
                composed.task.pressure_on_records = False
        cells = []
        for seed in grid.seeds:
            config: Any = copy.deepcopy(composed)
            config.seed, config.runs_dir = seed, str(runs)
            cells.append(Cell(role, name, task.name, seed, config))
        return cells

    def bound(agent: str, task: Choice, without: str) -> list[str]:
        """With all parts of the bound's agent: an experiment may choose another engine."""
        kept = [text for text in (*fixed, *task.overrides) if _first(text).key != without]
        return [*kept, f"agent={agent}", "agent/policy=none", f"agent/engine={agent}"]

    fixed = [text for text in grid.fixed if _first(text).section not in _OF_AGENTS]
    cells = []
    for task in grid.tasks:
        for strategy in grid.strategies:
            overrides = grid.overrides(strategy, task)
            cells += seeded("strategy", strategy.name, task, overrides)
    for task in grid.tasks if bounds else ():
        floor = [*bound(FLOOR, task, "episode.iterations"), "episode.iterations=1"]
        ceiling = bound(CEILING, task, "environment.max_records")
        cells += seeded("floor", FLOOR, task, floor)[:1]
        cells += seeded("ceiling", CEILING, task, [*ceiling, "environment.max_records=null"])
    cells.sort(key=lambda cell: (grid.seeds.index(cell.seed), cell.role != "floor"))
    return cells


def _first(text: str) -> Override:
    return parse_overrides([text])[0]


def _default_name(grid: Grid, config_dir: str | Path | None) -> str:
    """The tasks and a hash of the common overrides, so more seeds or strategies extend a study."""
    tasks = [grid.suite] if grid.suite else [task.name for task in grid.tasks]
    name = "-".join(re.sub(r"[^\w.-]+", "_", task) for task in tasks).strip("._") or "all"
    fixed = [(text, _first(text)) for text in grid.fixed]
    first = grid.overrides(grid.strategies[0], grid.tasks[0])
    config = compose(first, config_dir=config_dir, allow_missing=True)
    free = free_keys(cast(dict[str, Any], OmegaConf.to_container(config)))
    decisive = sorted(t for t, o in fixed if not {o.key, o.section} & set(free))
    if not decisive:
        return name
    return f"{name}-{hashlib.sha256(chr(10).join(decisive).encode()).hexdigest()[:8]}"
