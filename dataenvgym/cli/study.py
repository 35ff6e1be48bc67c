"""`dataenvgym study`: runs or resumes a study, and shows its table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import NonNegativeInt

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError, IncompleteStudyError
from dataenvgym.runs.config.run_directory import find_run
from dataenvgym.runs.documents import Document, File, Line, show


def study(  # noqa: PLR0913
    overrides: list[str],
    *,
    config_dir: str | None = None,
    strategy: list[str] | None = None,
    name: str | None = None,
    workers: NonNegativeInt | None = None,
    studies_dir: str = "studies",
    no_bounds: bool = False,
    race: bool = False,
    plan: bool = False,
    looking_for: float | None = None,
    fit_noise: bool = False,
    plain: bool = False,
    baseline: str | None = None,
    test: Literal["t", "sign_flip"] | None = None,
    allow_unequal: list[str] | None = None,
    noise_dir: str = "noise",
) -> None:
    r"""Compare strategies: each on the same tasks and seeds.

    Examples:
      dataenvgym study agent=random,open_ended,skill_list "seed=range(10)"
      dataenvgym study agent=random,skill_list task=pocket_math seed=0,1,2 \
          --strategy "sharp: agent=skill_list agent.policy.sharpness=3"
      dataenvgym study suite=teach-v1 agent=edge,skill_list seed=0,1,2

    Keys with several values (a,b  choice(a,b)  range(10)  glob(*)) span the study:
    seed the seeds, task the tasks, all others the strategies. Every study also has
    a floor (no teaching) and a ceiling (gold data). The same command resumes an
    interrupted study; more seeds or strategies under the same name extend it.

    Args:
        strategy: one more strategy: "NAME: KEY=VALUE ..." (may be repeated)
        name: the study's folder (default: made of tasks and settings)
        workers: processes at once (default: cores)
        studies_dir: the folder of studies
        no_bounds: no floor and no ceiling
        race: stop strategies and seeds that cannot change which one is the best
        plan: show what this study can find and how long it takes; run nothing
        looking_for: warn if the study cannot show this difference (in test gain)
        fit_noise: at the end, write the noise models that --plan needs
        baseline: the strategy to compare with (default: random, or the first one)
        test: the paired test (default: sign_flip for 20 seeds or fewer)
        allow_unequal: this key may differ between strategies (may be repeated)
        noise_dir: the folder of noise models

    Raises:
        IncompleteStudyError: if episodes failed; the table is shown first, and names them.
    """
    from dataenvgym.studies.budget import budget_warnings, plan_report
    from dataenvgym.studies.plan import plan_study
    from dataenvgym.studies.study import Study
    from dataenvgym.studies.tables import study_document

    console = Terminal(plain=plain)
    planned = plan_study(
        overrides,
        name=name,
        strategies=strategy or (),
        baseline=baseline,
        bounds=not no_bounds,
        test=test,
        race=race,
        allow_unequal=allow_unequal or (),
        looking_for=looking_for,
        noise_dir=noise_dir,
        workers=workers,
        studies_dir=studies_dir,
        config_dir=config_dir,
    )
    of_plan = Study(planned)
    of_plan.check()
    with console.working():
        of_plan.estimate()
    if plan:
        show(plan_report(planned), console)
        return
    show([Line(text, "warning") for text in budget_warnings(planned)], console)
    left = len(of_plan.unfinished())
    if left:
        most = " at most" if planned.race else ""
        expected = of_plan.expected_time()
        console.say(
            f"{planned.directory}: {left} of {len(planned.cells)} episodes to run{most}; {expected}"
        )
    of_plan.run(console)
    results = of_plan.finish()
    files = {"study.md": "the tables, and every run", "curves.png": "learning curves",
             "results.json": "all numbers"}  # fmt: skip
    links = [File(planned.directory / name, what) for name, what in files.items()]
    show(["", *study_document(results), "", *links], console)
    if missing := of_plan.missing():
        lines = [f"  {cell.label}: {reason}" for cell, reason in missing]
        raise IncompleteStudyError(
            f"{len(missing)} of {len(planned.cells)} episodes have no result:\n"
            + "\n".join(lines)
            + "\nThe same command tries them again; the others are kept."
        )
    if fit_noise:
        for path in of_plan.fit_noise():
            console.say(f"{path}  noise model")
    if not left:
        extend = "seeds" if planned.race else "seeds or strategies"
        console.say(f"\nThis study is finished. More {extend} extend it.")


def compare(
    runs: Annotated[list[str], MinLen(1)],
    *,
    runs_dir: str = "runs",
    output: str | None = None,
    cluster: str | None = None,
    baseline: str | None = None,
    test: Literal["t", "sign_flip"] | None = None,
    allow_unequal: list[str] | None = None,
    noise_dir: str = "noise",
) -> Document:
    """Compare existing runs, as a study does, or evaluations problem by problem.

    Examples:
      dataenvgym compare runs/pocket_math-* --baseline random --output comparison
      dataenvgym compare evaluations/base evaluations/taught

    Runs that differ only in their seed are one strategy. Evaluations are compared
    with the first one: paired differences, and the problems that flipped. Of two
    folders of evaluations, those of the same task and split are compared.

    Args:
        runs: folders of runs, or names; or of evaluations
        output: write table, plot and numbers there
        cluster: of evaluations: problems with the same value depend on each other: skill,
            category, or a field of their data (default: each problem by itself)
        baseline: the strategy to compare with (default: random, or the first one)
        test: the paired test (default: sign_flip for 20 seeds or fewer)
        allow_unequal: this key may differ between strategies (may be repeated)
        noise_dir: the folder of noise models
    """
    from dataenvgym.cli.evaluation_tables import comparisons, folder_of_evaluations
    from dataenvgym.studies.comparison import compare_runs
    from dataenvgym.studies.tables import study_document, write_results

    folder = None if output is None else Path(output).expanduser()
    evaluations = [folder_of_evaluations(name, runs_dir) for name in runs]
    if any(evaluations):
        for_runs = {"baseline": baseline, "test": test, "allow-unequal": allow_unequal}
        if given := [option for option, value in for_runs.items() if value]:
            raise ConfigurationError(
                f"--{given[0]} is for runs, and these are evaluations: leave it out"
            )
        yield from comparisons(runs, evaluations, folder, cluster=cluster)
        return
    if cluster is not None:
        raise ConfigurationError("--cluster is for evaluations, and these are runs: leave it out")
    words = ["dataenvgym", "compare", *runs]
    for name, values in (
        ("--baseline", [baseline]),
        ("--test", [test]),
        ("--allow-unequal", allow_unequal or ()),
    ):
        words += [word for value in values if value is not None for word in (name, value)]
    results = compare_runs(
        [find_run(run, runs_dir) for run in runs],
        baseline=baseline,
        test=test,
        allow_unequal=allow_unequal or (),
        noise_dir=noise_dir,
        name="comparison" if folder is None else folder.name,
        command=shlex.join(words),
    )
    yield from study_document(results)
    if folder is not None:
        write_results(results, folder)
        yield ""
        yield File(folder / "study.md", "the tables, and every run")
