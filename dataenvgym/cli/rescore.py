"""`dataenvgym rescore`: judges the samples of an evaluation again, without the student."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from dataenvgym.cli.console import open_console, quieten, showing_warnings
from dataenvgym.cli.evaluation_tables import change_table, judge_lines
from dataenvgym.episodes.display import showing_progress
from dataenvgym.episodes.texts import one_line, several
from dataenvgym.evaluation import rescore_evaluation
from dataenvgym.metrics.rescoring import REPLAYED, Rescored, RescoringResult

SHOWN = 20
"""Changed samples that are shown one by one."""

REASONS = 3
"""Reasons of new errors that are shown."""


def rescore(arguments: Namespace) -> None:
    """Judge the samples again, write the new scores beside the old ones, show what changed."""
    quieten()
    console = open_console()
    with showing_warnings(console), showing_progress(console, "judging"):
        outcome = rescore_evaluation(
            arguments.evaluation,
            arguments.overrides,
            evaluations_dir=arguments.evaluations_dir,
            trust=arguments.trust,
        )
    _show(outcome, console)


def _show(outcome: RescoringResult, console: Console) -> None:
    if (samples := outcome.after.samples) < outcome.asked:
        console.print(
            f"{samples} of {outcome.asked} samples are complete; only these are judged",
            soft_wrap=True,
        )
    if outcome.added is not None:
        outcome.added.show(console)
    console.print(change_table(outcome.before.metrics, outcome.after.metrics), crop=False)
    for line in judge_lines(outcome.after.metrics):
        console.print(Text(line), soft_wrap=True)
    console.print()
    for line in _lines(outcome.rescored, outcome.n_gone):
        console.print(Text(line), soft_wrap=True)
    console.print(f"\nscores: {outcome.directory}", soft_wrap=True)


def _lines(rescored: Sequence[Rescored], n_gone: int) -> list[str]:
    """The changes: in all, and sample by sample."""
    changed = [r for r in rescored if r.has_changed]
    lines = [f"{len(changed)} of {several(len(rescored), 'sample')} changed"]
    kinds = Counter((r.before.verdict, r.verdict) for r in changed)
    for (before, now), count in sorted(kinds.items()):
        same = f"{now} as before, with another reward or answer"
        what = same if before == now else f"{before} -> {now}"
        lines.append(f"  {what}: {count}")
    for r in changed[:SHOWN]:
        lines.append(f"  {r.instance_id} #{r.sample}: {_sides(r)}")
    if len(changed) > SHOWN:
        lines.append(f"  ... and {len(changed) - SHOWN} more (scores.jsonl has them all)")
    lines += _new_errors(rescored)
    noted = [r for r in rescored if REPLAYED in (r.note or "")]
    if noted:
        lines.append(
            f"{several(len(noted), 'sample')} answered another conversation than the current "
            f"task's, such as {noted[0].instance_id} #{noted[0].sample}: {noted[0].note}"
        )
    if waiting := [r for r in rescored if r.needs_student]:
        lines.append(
            f"{several(len(waiting), 'sample')} cannot be judged without another answer of the "
            "student, mostly failed ones: metrics of the others would be biased, so only the "
            "error rate is shown. `dataenvgym eval` draws them (name=..., --fresh)"
        )
    if n_gone:
        lines.append(f"{several(n_gone, 'problem')} that the task no longer has: judged as saved")
    return lines


def _new_errors(rescored: Sequence[Rescored]) -> list[str]:
    """Why some judged samples are errors now, the most frequent reason first."""
    new = [r for r in rescored if r.verdict == "error" and r.before.error is None]
    reasons = Counter(r.error for r in new).most_common()
    lines = []
    for reason, count in reasons[:REASONS]:
        example = next(r for r in new if r.error == reason)
        lines.append(
            f"{several(count, 'sample')} became errors, such as {example.instance_id} "
            f"#{example.sample}: {one_line(str(reason), 300)}"
        )
    if len(reasons) > REASONS:
        lines.append(f"... and {len(reasons) - REASONS} more reasons (scores.jsonl has them all)")
    return lines


def _sides(r: Rescored) -> str:
    sides = [
        f"{verdict} ({judgment.reward:g}, {one_line(repr(judgment.answer_class), 40)})"
        for verdict, judgment in ((r.before.verdict, r.before), (r.verdict, r))
    ]
    return " -> ".join(sides)
