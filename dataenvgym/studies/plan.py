"""Plans a study: its episodes, each with its configuration and its folder; and `study.json`.

The episodes are ordinary runs in `studies/<name>/runs`. Besides the grid there are two bounds. The
floor is one episode of `agent=none` per task (nothing is trained, so one seed is enough). The
ceiling is `agent=gold` with each seed, without a record budget, and with records that the pressure
of a task leaves alone.
"""

from __future__ import annotations

import copy
import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from omegaconf import DictConfig, OmegaConf

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import Model
from dataenvgym.runs.config.composition import compose
from dataenvgym.runs.config.identity import check_folder_name, free_keys
from dataenvgym.runs.config.run_directory import is_done, run_directory
from dataenvgym.storage import read_json, read_model, write_json
from dataenvgym.studies.grid import Choice, Grid, parse_grid, parsed
from dataenvgym.studies.racing import least_seeds
from dataenvgym.studies.statistics import Test, choose_test
from dataenvgym.workspace import FORMAT, refuse_format

Role = Literal["strategy", "floor", "ceiling"]
FLOOR, CEILING = "none", "gold"
"""The agents of the bounds."""
_OF_AGENTS = ("agent", "prompt", "prompt@subskill_prompt")
"""Sections of the strategies' agents, for which the agents of the bounds have no place."""


@dataclass(frozen=True)
class Cell:
    """One episode, in its run directory; `strategy` and `task` are its names in tables."""

    role: Role
    strategy: str
    task: str
    seed: int
    config: DictConfig
    directory: Path

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
    """The request (see `plan_study`), its folder, and its episodes in the order of their start."""

    directory: Path
    overrides: tuple[str, ...]
    named_strategies: tuple[str, ...]
    grid: Grid
    cells: tuple[Cell, ...]
    baseline: str
    test: Test | None
    race: bool
    allow_unequal: tuple[str, ...]
    looking_for: float | None
    noise_dir: Path

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

    @property
    def command(self) -> str:
        """The command that runs this study."""
        words = ["dataenvgym", "study", *self.overrides, "--name", self.name]
        for option, values in (
            ("--strategy", self.named_strategies),
            ("--baseline", [None if self.race else self.baseline]),
            ("--test", [self.test]),
            ("--looking-for", [self.looking_for]),
            ("--allow-unequal", self.allow_unequal),
        ):
            words += [str(w) for value in values if value is not None for w in (option, value)]
        words += ["--race"] if self.race else []
        words += [] if len(self.of_strategies()) < len(self.cells) else ["--no-bounds"]
        return shlex.join(words)


def plan_study(  # noqa: PLR0913
    overrides: Sequence[str] = (),
    *,
    name: str | None = None,
    strategies: Sequence[str] = (),
    baseline: str | None = None,
    bounds: bool = True,
    test: Test | None = None,
    race: bool = False,
    allow_unequal: Sequence[str] = (),
    looking_for: float | None = None,
    noise_dir: str | Path = "noise",
    workers: int | None = None,
    studies_dir: str | Path = "studies",
    config_dir: str | Path | None = None,
) -> StudyPlan:
    """Plan a study; touch no file.

    Args:
        overrides: Hydra's, with several values for keys that vary: `agent=random,skill_list`,
            `seed=range(10)`, `task=...`, `suite=...` (see `grid`).
        name: of its folder; None derives a name from the tasks and the common overrides.
        strategies: further strategies, each "NAME: KEY=VALUE ...".
        baseline: the strategy that the others are compared with; None takes random, or else the
            first strategy.
        bounds: also run the floor (no teaching) and the ceiling (gold data).
        test: "t" or "sign_flip"; None takes sign_flip for 20 seeds or fewer.
        race: stop strategies and seeds that cannot change which one is the best (see `racing`).
        allow_unequal: keys that may differ between strategies.
        looking_for: the difference in test gain (of a suite: in its score) that the study is for; a
            warning says if it cannot be shown with this budget.
        noise_dir: the folder of noise models.
        workers: processes at the same time; None takes as many as there are cores for the students.
        studies_dir: the folder of studies.
        config_dir: a folder with your own YAML files.

    Raises:
        ConfigurationError: for everything that `dataenvgym run` refuses, and for an impossible
            study: an unknown baseline, the same strategy twice, too many seeds for the test.
    """
    grid = parse_grid(overrides, strategies=strategies, config_dir=config_dir)
    choose_test(len(grid.seeds), test)
    if name is None:
        name = _default_name(grid, config_dir)
    check_folder_name(name, "--name")
    if looking_for is not None and not looking_for > 0:
        raise ConfigurationError(f"--looking-for is {looking_for}, expected a number above 0")
    directory = Path(studies_dir).expanduser() / name
    if race:
        if baseline or test:
            raise ConfigurationError(
                "--race has a test of its own for all pairs: no --baseline, --test"
            )
        grid = _racing(grid, directory)
    is_chosen = any(parsed(text).key == "executor" for text in grid.fixed)
    extra = [] if is_chosen else ["executor=processes"]
    extra += [] if workers is None else [f"executor.workers={workers}"]
    cells = _cells(grid, directory / "runs", extra, config_dir, bounds=bounds)
    first: dict[Path, Cell] = {}
    for cell in cells:
        other = first.setdefault(cell.directory, cell)
        if other is not cell and "strategy" in (cell.role, other.role):
            raise ConfigurationError(
                f"{other.label!r} and {cell.label!r} are the same episode: leave one of them out"
            )
    return StudyPlan(
        directory=directory,
        overrides=tuple(overrides),
        named_strategies=tuple(strategies),
        grid=grid,
        cells=tuple(cells),
        baseline=choose_baseline([s.name for s in grid.strategies], baseline),
        test=test,
        race=race,
        allow_unequal=tuple(allow_unequal),
        looking_for=looking_for,
        noise_dir=Path(noise_dir).expanduser(),
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


def _racing(grid: Grid, directory: Path) -> Grid:
    """The grid of a race, with the seeds in the order of its rounds: earlier seeds stay first."""
    k, n = len(grid.strategies), len(grid.seeds)
    if k < 2 or n < least_seeds(k):
        raise ConfigurationError(
            f"--race has {k} strategies and {n} seeds, expected two strategies or more, and "
            f'{least_seeds(max(2, k))} seeds or more, better "seed=range(20)"'
        )
    if (before := read_state(directory)) is None:
        return grid
    then = [sorted(one.name for one in of) for of in (before.strategies, before.tasks)]
    now = [sorted(one.name for one in of) for of in (grid.strategies, grid.tasks)]
    if before.race and then != now:
        raise ConfigurationError(
            f"the race {directory.name!r} began with {then}, and this command has {now}: its error "
            "rate holds for those it began with. Choose another --name"
        )
    earlier = [seed for seed in before.seeds if seed in grid.seeds]
    return replace(grid, seeds=tuple(dict.fromkeys((*earlier, *grid.seeds))))


def _cells(
    grid: Grid, runs: Path, extra: Sequence[str], config_dir: str | Path | None, *, bounds: bool
) -> list[Cell]:
    """The cells of the strategies, and the bounds; each strategy and task is composed once."""

    def seeded(role: Role, name: str, task: Choice, overrides: Sequence[str]) -> list[Cell]:
        composed = compose([*overrides, *extra, f"seed={grid.seeds[0]}"], config_dir=config_dir)
        if role == "ceiling" and composed.task.get("pressure") is not None:
            OmegaConf.update(composed, "task.pressure_on_records", False, force_add=True)
        cells = []
        for seed in grid.seeds:
            config: Any = copy.deepcopy(composed)
            config.seed, config.runs_dir = seed, str(runs)
            cells.append(Cell(role, name, task.name, seed, config, run_directory(config)))
        return cells

    def bound(agent: str, task: Choice, override: str) -> list[str]:
        """With all parts of the bound's agent: an experiment may choose another engine."""
        key = parsed(override).key
        kept = [text for text in (*fixed, *task.overrides) if parsed(text).key != key]
        return [*kept, f"agent={agent}", "agent/policy=none", f"agent/engine={agent}", override]

    fixed = [text for text in grid.fixed if parsed(text).section not in _OF_AGENTS]
    cells = []
    for task in grid.tasks:
        for one in grid.strategies:
            cells += seeded("strategy", one.name, task, grid.overrides(one, task))
        if bounds:
            floor = bound(FLOOR, task, "episode.iterations=1")
            cells += seeded("floor", FLOOR, task, floor)[:1]
            ceiling = bound(CEILING, task, "environment.max_records=null")
            cells += seeded("ceiling", CEILING, task, ceiling)
    order: dict[Role, int] = {"floor": 0, "strategy": 1, "ceiling": 2}
    cells.sort(key=lambda c: (grid.seeds.index(c.seed), order[c.role]))
    return cells


def _default_name(grid: Grid, config_dir: str | Path | None) -> str:
    """The tasks and a hash of the common overrides, so more seeds or strategies extend a study."""
    tasks = [grid.suite] if grid.suite else [task.name for task in grid.tasks]
    name = "-".join(re.sub(r"[^\w.-]+", "_", task) for task in tasks).strip("._") or "all"
    first = grid.overrides(grid.strategies[0], grid.tasks[0])
    config = compose(first, config_dir=config_dir, allow_missing=True)
    free = set(free_keys(cast(dict[str, Any], OmegaConf.to_container(config))))
    decisive = sorted(t for t in grid.fixed if not {parsed(t).key, parsed(t).section} & free)
    if not decisive:
        return name
    return f"{name}-{hashlib.sha256(chr(10).join(decisive).encode()).hexdigest()[:8]}"


# --- study.json ---


class EpisodeState(Model):
    """An episode of a study; "stopped" if a race does not need it."""

    role: Role
    strategy: str
    task: str
    seed: int
    run: str
    status: Literal["finished", "unfinished", "stopped"]
    reason: str | None = None


class StudyState(Model):
    """A study as it was last run; `race`: results chose which of its runs there are."""

    format: int = FORMAT
    name: str
    command: str
    strategies: tuple[Choice, ...]
    tasks: tuple[Choice, ...]
    seeds: tuple[int, ...]
    fixed: tuple[str, ...]
    baseline: str
    allow_unequal: tuple[str, ...]
    race: bool = False
    episodes: tuple[EpisodeState, ...]


def read_state(directory: Path) -> StudyState | None:
    """The state of the study in this folder; None without a study.

    Raises:
        RunDirectoryError: if its file is damaged.
        FormatError: if another version wrote it.
    """
    path = directory / "study.json"
    if not path.exists():
        return None
    refuse_format(path, read_json(path))
    return read_model(path, StudyState, "remove the file and repeat the study's command")


def write_state(
    plan: StudyPlan, unfinished: Mapping[Path, str], stopped: Iterable[Path] = ()
) -> None:
    """Write `study.json`; `unfinished` runs have a reason, `stopped` ones are not needed by a race.

    A race that goes on as a study remains one until all its episodes have run.
    """
    before, not_needed = read_state(plan.directory), set(stopped)

    def status(run: Path) -> Literal["finished", "unfinished", "stopped"]:
        if run in not_needed:
            return "stopped"
        return "unfinished" if run in unfinished else "finished"

    state = StudyState(
        name=plan.name,
        command=plan.command,
        strategies=plan.grid.strategies,
        tasks=plan.grid.tasks,
        seeds=plan.grid.seeds,
        fixed=plan.grid.fixed,
        baseline=plan.baseline,
        allow_unequal=plan.allow_unequal,
        race=plan.race or bool(before and before.race and unfinished),
        episodes=tuple(
            EpisodeState(
                role=cell.role,
                strategy=cell.strategy,
                task=cell.task,
                seed=cell.seed,
                run=cell.directory.name,
                status=status(cell.directory),
                reason=unfinished.get(cell.directory),
            )
            for cell in plan.cells
        ),
    )
    write_json(plan.directory / "study.json", state)
