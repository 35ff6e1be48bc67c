"""`dataenvgym compare` of evaluations."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dataenvgym.cli.console import showing_warnings
from dataenvgym.cli.evaluation_tables import table_of, uncut
from dataenvgym.episodes.texts import change, interval, one_line, plain, score, several
from dataenvgym.errors import ConfigurationError
from dataenvgym.evaluation.comparison import EvaluationComparison, compare_evaluations
from dataenvgym.storage import write_json

SHOWN = 10
"""Flipped problems that are shown in each direction."""


def folder_of_evaluations(name: str, runs_dir: str) -> Path | None:
    """The folder of this path, or of this name in `evaluations/`, if evaluations are in it.

    The name of a run is the run's.
    """
    is_run = (Path(runs_dir).expanduser() / name).is_dir()
    for folder in (Path(name).expanduser(), *[Path("evaluations") / name] * (not is_run)):
        if next(folder.rglob("instances.jsonl"), None) is not None:
            return folder
    return None


def show_comparisons(
    arguments: Namespace, folders: Sequence[Path | None], console: Console, output: Path | None
) -> None:
    """Compare the first folder with each other one; write all numbers and flips to `output`."""
    found = [folder for folder in folders if folder is not None]
    if len(found) < len(folders):
        other = arguments.runs[folders.index(None)]
        raise ConfigurationError(
            f"{found[0]} is an evaluation and {other!r} is not: compare runs with runs, and "
            "evaluations with evaluations"
        )
    if len(found) < 2:
        raise ConfigurationError(
            f"there is nothing to compare {found[0]} with: name two evaluations or more"
        )
    for name in ("baseline", "test", "allow_unequal"):
        if getattr(arguments, name):
            raise ConfigurationError(
                f"--{name.replace('_', '-')} is for runs, and these are evaluations, which are "
                "compared with the first one: leave it out"
            )
    with showing_warnings(console):
        compared = [
            each
            for other in found[1:]
            for each in compare_evaluations(found[0], other, cluster=arguments.cluster)
        ]
    for each in compared:
        _show(each, console)
    if output is not None:
        write_json(output / "comparison.json", [each.model_dump(mode="json") for each in compared])
        path = output / "comparison.json"
        console.print(f"{path}  all numbers and flipped problems", soft_wrap=True)


def _show(compared: EvaluationComparison, console: Console) -> None:
    title = f"{compared.task}, {compared.split}: {several(compared.n, 'problem')}"
    if compared.n_clusters < compared.n:
        title += f" in {several(compared.n_clusters, 'cluster')}"
    console.print(Text(plain(title), style="italic"), soft_wrap=True)
    console.print(f"  before: {compared.before}\n  after:  {compared.after}", soft_wrap=True)
    if compared.n_unpaired:
        console.print(
            f"  {several(compared.n_unpaired, 'problem')} without a pair: only one of them has it, "
            "or a scored try at it",
            soft_wrap=True,
        )
    table = table_of(("score",), ("before", "after", "difference", "95%"))
    for each in compared.scores:
        found = each.difference
        varies = found.low != found.high  # problems without any difference say nothing of chance
        table.add_row(
            Text(one_line(each.name, 40)),
            score(each.before),
            score(each.after),
            change(round(found.mean or 0.0, 9) + 0.0),  # no -0.000
            interval(found if varies else None),
        )
    console.print(uncut(table), crop=False)
    for what, is_gain in (("wrong -> right", True), ("right -> wrong", False)):
        flips = [flip for flip in compared.flips if (flip.after > flip.before) == is_gain]
        console.print(f"{what}: {several(len(flips), 'problem')}", soft_wrap=True)
        for flip in flips[:SHOWN]:
            skill = "" if flip.skill is None else f" ({flip.skill})"
            line = f"  {flip.instance_id}{skill}: {one_line(flip.instruction, 60)}"
            console.print(Text(plain(line)), soft_wrap=True)
        if len(flips) > SHOWN:
            console.print(f"  ... and {len(flips) - SHOWN} more (--output DIR writes them all)")
    console.print()
