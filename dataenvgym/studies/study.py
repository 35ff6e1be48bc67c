"""A study: its folder, its episodes, and their results.

    studies/<name>/study.json     the request, and the state of each episode
                   runs/<run>/    the episodes, ordinary runs
                   results.json   all numbers
                   curves.png, study.md

The state is in the runs. Called again, a study resumes from them and keeps finished runs, so more
seeds or strategies extend it, and a finished study only shows its table. A race (see `racing`) runs
round by round; it is replayed from finished runs before each, so a resumed one decides the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from dataenvgym.errors import ConfigurationError, DataEnvGymError, RunDirectoryError
from dataenvgym.runs.config.run_directory import check_run
from dataenvgym.runs.config.workspaces import warn_of_changes
from dataenvgym.runs.documents import show
from dataenvgym.runs.episodes.report import write_missing_report
from dataenvgym.runs.episodes.summary import read_summary
from dataenvgym.runs.texts import counts
from dataenvgym.studies.budget import budget_notes, budget_warnings
from dataenvgym.studies.comparison import (
    Difference,
    allowed,
    config_differences,
    group_runs,
    sum_up,
)
from dataenvgym.studies.display import ExpectedTime, StudyDisplay, run_seconds
from dataenvgym.studies.executors.in_process import InProcessExecutor
from dataenvgym.studies.executors.interface import (
    EpisodeJob,
    EpisodeOutcome,
    build_episode,
    build_executor,
)
from dataenvgym.studies.noise import write_noise
from dataenvgym.studies.plan import Cell, StudyPlan, plan_study, read_state, write_state
from dataenvgym.studies.racing import WARM_UP, Race, run_race
from dataenvgym.studies.results import RunMeasures, StudyResults, fit_noise, measure_run, run_area
from dataenvgym.studies.tables import standing_text, write_results
from dataenvgym.workspace import opened

if TYPE_CHECKING:
    from rich.console import Console


def run_study(
    overrides: Sequence[str] = (), *, console: Console | None = None, **options: Any
) -> StudyResults:
    """Run or resume a study to its end, and write its table, plot and numbers.

    Args:
        overrides, options: see `plan_study`.
        console: shows the progress; None shows nothing.

    Returns:
        The content of `results.json`. It lists failed episodes as missing, with the reason.

    Raises:
        ConfigurationError: for an impossible or unfair study, before anything runs.
        RunDirectoryError: if an existing run does not fit, or another process uses it.
    """
    study = Study(plan_study(overrides, **options))
    study.check()
    study.run(console)
    return study.finish()


class Study:
    """A planned study and its folder."""

    def __init__(self, plan: StudyPlan) -> None:
        self.plan = plan
        self.directory = plan.directory
        self._failures: dict[Path, str] = {}
        self._differences: list[Difference] = []
        self._areas: dict[Path, float] = {}

    def check(self) -> None:
        """Refuse a study that is impossible or unfair, or would lose episodes; touch no file.

        Raises:
            ConfigurationError: names the impossible strategy, the differences between strategies,
                or earlier episodes that the study would lose.
            ConfigChangedError: if a run has done more iterations than this study requests.
            FormatError: if another version wrote the study or one of its runs.
        """
        state, runs = read_state(self.directory), {c.directory.name for c in self.plan.cells}
        before = [e for e in state.episodes if e.role == "strategy"] if state else []
        if lost := [f"{e.strategy} (seed {e.seed})" for e in before if e.run not in runs]:
            raise ConfigurationError(
                f"{len(lost)} episodes of the study {self.plan.name!r} are missing from this "
                f"command: {', '.join(lost)}. Ask for them too, with the same options (study.json "
                f"has the command), choose another --name, or remove {self.directory}"
            )
        build_executor(self.plan.cells[0].config)
        self._differences = config_differences(self.plan.cells)
        allowed(self._differences, self.plan.allow_unequal)
        tried: set[tuple[str, str]] = set()
        for cell in self.plan.cells:
            check_run(cell.config)
            if (cell.role, cell.kind) not in tried and not cell.is_finished:
                tried.add((cell.role, cell.kind))
                try:
                    build_episode(cell.config, cell.directory)[0].close()
                except DataEnvGymError as error:
                    raise ConfigurationError(
                        f"{cell.strategy} on {cell.task} cannot run: {error}"
                    ) from error

    # --- which episodes ---

    def due(self, *, at_most: bool = False) -> list[Cell]:
        """The episodes that this study needs: all, but of a race those up to its next round.

        Args:
            at_most: those up to its end, if nothing more stops.
        """
        if not self.plan.race:
            return list(self.plan.cells)
        seeds, rounds = self.plan.grid.seeds, {}
        for one in self.race().standings:
            further = len(seeds) if at_most else max(WARM_UP, one.seeds + 1)
            rounds[one.strategy] = further if one.state == "racing" else one.seeds
        most = max(rounds.values())  # the bounds run with the longest
        return [
            cell for cell in self.plan.cells
            if seeds.index(cell.seed) < (rounds[cell.strategy] if cell.role == "strategy" else most)
        ]  # fmt: skip

    def unfinished(self) -> list[Cell]:
        """The unfinished episodes; of a race, those that it may still need."""
        return [cell for cell in self.due(at_most=True) if not cell.is_finished]

    def missing(self) -> list[tuple[Cell, str]]:
        """The episodes without a result, and why."""
        return [(cell, self._reason(cell)) for cell in self.due() if not has_result(cell)]

    def race(self) -> Race:
        """The race so far, from finished runs.

        Its score is the area, or the mean over tasks of the area divided by that of the task's
        ceiling at the first seed.

        Raises:
            ConfigurationError: if no task has a score.
        """
        tasks, seeds = [task.name for task in self.plan.grid.tasks], self.plan.grid.seeds
        areas = {(c.role, c.strategy, c.task, c.seed): self._area(c) for c in self.plan.cells}
        scale: dict[str, float | None] = dict.fromkeys(tasks, 1.0)
        if self.plan.has_suite_score:
            for (role, _, task, seed), area in areas.items():
                if role == "ceiling" and seed == seeds[0]:
                    scale[task] = area
        left_out = {task: f"the area of its ceiling at seed {seeds[0]} is {area:+.3f}"
                    for task, area in scale.items() if area is not None and area <= 0}  # fmt: skip
        if not (scored := [task for task in tasks if task not in left_out]):
            raise ConfigurationError(
                f"the ceilings of all tasks gain nothing at seed {seeds[0]}, so a race has no "
                "score; --no-bounds compares areas as they are"
            )
        scores: dict[str, list[float]] = {one.name: [] for one in self.plan.grid.strategies}
        for (name, own), (round_, seed) in product(scores.items(), enumerate(seeds)):
            parts = [
                area / whole
                for task in scored
                if (area := areas["strategy", name, task, seed]) is not None
                and (whole := scale[task])
            ]
            if len(own) == round_ and len(parts) == len(scored):
                own.append(sum(parts) / len(parts))
        return run_race(scores, len(seeds)).model_copy(update={"left_out": left_out})

    def _area(self, cell: Cell) -> float | None:
        if cell.directory not in self._areas and has_result(cell):
            iterations = int(cell.config.episode.iterations)
            self._areas[cell.directory] = run_area(cell.directory, iterations=iterations)
        return self._areas.get(cell.directory)

    # --- before the runs ---

    def expected_time(self, cells: Sequence[Cell] | None = None) -> ExpectedTime:
        """Estimate the time of these episodes, or of all unfinished ones, from finished ones."""
        left = {cell.directory for cell in (self.unfinished() if cells is None else cells)}
        executor = build_executor(self.plan.cells[0].config)
        is_alone = isinstance(executor, InProcessExecutor)
        expected = ExpectedTime(1 if is_alone else getattr(executor, "workers", None))
        for cell in self.plan.cells:
            done = 0
            if (cell.directory / "summary.json").exists():
                summary = read_summary(cell.directory)
                done = len(summary.iterations)
                if summary.status == "finished":
                    expected.measured(cell.kind, done, run_seconds(summary, cell.directory))
            if cell.directory in left:
                expected.plan(cell.kind, max(1, int(cell.config.episode.iterations) + 1 - done))
        return expected

    def estimate(self) -> None:
        """Warn of changed classes, and of episodes that together need more memory than is free."""
        for cell in self.plan.cells:
            warn_of_changes(cell.config, cell.directory)
        config = self.plan.cells[0].config
        if str(config.executor.get("_target_")).endswith(".TogetherExecutor"):
            jobs = [EpisodeJob(cell.config) for cell in self.unfinished()]
            executor: Any = build_executor(config)
            executor.estimate(jobs)

    # --- the runs ---

    def run(self, console: Console | None = None) -> list[EpisodeOutcome]:
        """Run the unfinished episodes. A failed one does not stop the others.

        A race without all results of a round does not go on.

        Raises:
            RunDirectoryError: if another process uses this study.
            KeyboardInterrupt: after Ctrl-C; all episodes have ended then.
        """
        outcomes: list[EpisodeOutcome] = []
        tried: set[Path] = set()
        shown: set[str] = set()
        with opened(self.directory, below=False):  # the runs have their own locks
            self._write_state()
            while cells := [
                c for c in self.due() if c.directory not in tried and not c.is_finished
            ]:
                tried |= {cell.directory for cell in cells}
                outcomes += self._run(cells, console)
                if not self.plan.race:
                    break
                self._write_state()
                for one in self.race().standings if console else ():
                    if console and one.state != "racing" and one.strategy not in shown:
                        show([f"{one.strategy}: {standing_text(one)}"], console)
                        shown.add(one.strategy)
        return outcomes

    def _run(self, cells: Sequence[Cell], console: Console | None) -> list[EpisodeOutcome]:
        executor = build_executor(self.plan.cells[0].config)
        if console is None:
            outcomes = executor.run([EpisodeJob(cell.config, []) for cell in cells])
        else:
            total, expected = len(self.due()), self.expected_time(cells)
            with StudyDisplay(
                console, total=total, done=total - len(cells), expected=expected
            ) as display:
                outcomes = executor.run(
                    [EpisodeJob(c.config, [display.watch(c.label, c.kind)]) for c in cells]
                )
        for cell, outcome in zip(cells, outcomes, strict=True):
            if (error := outcome.error) is not None:
                self._failures[cell.directory] = f"{type(error).__name__}: {error}"
        return outcomes

    def _write_state(self) -> None:
        due = self.due(at_most=True)
        write_state(
            self.plan,
            unfinished={c.directory: self._reason(c) for c in due if not has_result(c)},
            stopped={c.directory for c in self.plan.cells} - {c.directory for c in due},
        )

    def _reason(self, cell: Cell) -> str:
        """Why an episode has no result."""
        if cell.directory in self._failures:
            return self._failures[cell.directory]
        try:
            summary = read_summary(cell.directory)
        except RunDirectoryError:
            return "not run yet"
        if cell.is_finished:
            return (
                "a ceiling without records to train on is not a ceiling: no record of the task's "
                f"train split was accepted ({counts(summary.dropped)} dropped). Fix the task and "
                f"remove {cell.directory}, or leave the bounds out (--no-bounds)"
            )
        return f"{summary.status}: {summary.error}" if summary.error else summary.status

    # --- the results ---

    def finish(self) -> StudyResults:
        """Write the results of the finished episodes, and missing reports of runs.

        Raises:
            ConfigurationError: if the runs differ where they must agree.
            RunDirectoryError: if another process uses this study.
        """
        with opened(self.directory, below=False):  # the runs have their own locks
            self._write_state()
            for cell in self.plan.cells:
                if cell.is_finished:
                    write_missing_report(cell.directory)
            results = self.results()
            write_results(results, self.directory)
        return results

    def results(self) -> StudyResults:
        """The results of the finished runs; touches no file."""
        plan, due = self.plan, self.due()
        race = self.race() if plan.race else None
        before = None if race else read_state(self.directory)
        is_broken_off = before is not None and before.race
        needed = {cell.directory for cell in due}
        notes = [] if race else budget_notes(plan)
        if unused := sum(c.is_finished for c in plan.cells if c.directory not in needed):
            notes.append(f"{unused} finished episodes after the stops are not used.")
        results = sum_up(
            group_runs(
                due, {c.directory: _measures(c) for c in due if has_result(c)}, self._reason
            ),
            name=plan.name,
            command=plan.command,
            baseline=plan.baseline,
            test=plan.test,
            allow_unequal=plan.allow_unequal,
            noise_dir=plan.noise_dir,
            differences=self._differences,
            race=race,
            races=[self.directory] if is_broken_off else [],
            notes=notes,
        )
        warnings = (*budget_warnings(plan), *results.warnings)
        return results.model_copy(update={"warnings": warnings})

    def fit_noise(self) -> list[Path]:
        """Write the noise model of each task to the plan's folder of noise models.

        Raises:
            ConfigurationError: if there are too few finished runs.
        """
        paths = []
        for task in self.plan.grid.tasks:
            cells = [c for c in self.plan.cells if c.task == task.name and has_result(c)]
            runs: dict[str, dict[int, RunMeasures]] = defaultdict(dict)
            seconds: dict[str, list[float]] = defaultdict(list)
            for cell in cells:
                took = run_seconds(read_summary(cell.directory), cell.directory)
                seconds[cell.strategy].append(took)
                if cell.role == "strategy":
                    runs[cell.strategy][cell.seed] = _measures(cell)
            areas = [_measures(c).result.area for c in cells if c.role == "ceiling"]
            model = fit_noise(
                task.name,
                runs,
                config=next(c.config for c in self.plan.of_strategies() if c.task == task.name),
                seconds={name: mean(of) for name, of in seconds.items()},
                ceiling=mean(areas) if areas else None,
            )
            paths.append(write_noise(model, self.plan.noise_dir))
        return paths


def has_result(cell: Cell) -> bool:
    """True if the episode is finished and has a result; a ceiling without records has none."""
    if not cell.is_finished:
        return False
    return cell.role != "ceiling" or read_summary(cell.directory).iterations[-1].n_records_total > 0


def _measures(cell: Cell) -> RunMeasures:
    return measure_run(cell.directory, iterations=int(cell.config.episode.iterations))
