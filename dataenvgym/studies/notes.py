"""Notes for readers of a study's tables."""

from __future__ import annotations

from dataenvgym.episodes.texts import one_line, several
from dataenvgym.studies.doubts import stronger_than
from dataenvgym.studies.results import StudyResults, TaskResult


def study_notes(results: StudyResults) -> list[str]:
    """Notes for readers of the tables, one or two sentences each."""
    notes = [
        "Scores are gains over the base student at the iteration that validation chose; the test "
        "split is scored only there. Area: mean over iterations 1 to N of the gain in validation "
        "score. ±: 95% t interval of the mean over seeds.",
        "n: seeds. inst.: standard error of the test gain due to the choice of evaluation "
        "instances, rewards averaged over seeds first; the intervals only cover the choice of "
        "seeds.",
    ]
    if names := {n for task in results.tasks for one in task.strategies for n in one.score_gains}:
        notes.append(
            f"{', '.join(sorted(names))}: gain of that score on the validation split, at the same "
            "iteration."
        )
    if any(one.comparisons for task in results.tasks for one in task.strategies):
        name = "exact sign-flip test" if results.test == "sign_flip" else "paired t test"
        notes.append(
            f"Compared with {results.baseline} on the same seeds; p: {name}, two-sided; Holm: "
            "adjusted for all strategies compared in the column. *: significant (.05 or less); no "
            "star: not significant, that is, these seeds do not tell the two apart."
        )
    for task in results.tasks:
        notes += _floor_notes(task, several_tasks=len(results.tasks) > 1)
    asked = any(one.measures["requests"].mean for task in results.tasks for one in task.strategies)
    if not asked:
        notes.append(
            "No requests to a teacher were counted, so costs are not shown (your own teacher is "
            "not counted)."
        )
    if results.unequal:
        notes.append("NOT EQUAL, and allowed: " + "; ".join(results.unequal) + ".")
    return [*notes, *_smallest_p(results), *_missing(results), *results.notes]


def _floor_notes(task: TaskResult, *, several_tasks: bool) -> list[str]:
    if task.floor is None:
        return []
    where = f"{task.task}: the" if several_tasks else "The"
    scores = f"validation {task.floor.val_score:.3f}"
    if task.floor.test_score is not None:
        scores += f", test {task.floor.test_score:.3f}"
    if task.floor.deterministic:
        how = f"the same in all {task.floor.n_runs} runs, so it needs one run only"
    else:
        how = f"the mean of {task.floor.n_runs} runs, which differ: gains vary with them, too"
    notes = [f"{where} base student (floor) scores {scores}; {how}."]
    for one in task.strategies:
        if one.role == "ceiling" and one.seeds:
            records = one.measures["records"].mean or 0.0
            what = "Gold data (not a ceiling)" if stronger_than(one, task) else "Ceiling"
            notes.append(
                f"{what}: the task's train split with its gold answers ({records:.0f} records), "
                "without a record budget. It is not compared with the strategies."
            )
    return notes


def _smallest_p(results: StudyResults) -> list[str]:
    """Say which p value the number of seeds can reach at best."""
    if results.test != "sign_flip":
        return []
    found = [
        (len(one.comparisons["val_gain"].seeds), sum(bool(o.comparisons) for o in task.strategies))
        for task in results.tasks
        for one in task.strategies
        if one.comparisons
    ]
    worst = [(n, m) for n, m in found if n and 2.0 / 2**n * m > 0.05]
    if not worst:
        return []
    n, m = worst[0]
    return [
        f"With {several(n, 'pair')} no sign-flip p is below {2.0 / 2**n:.3g}, "
        f"or {min(1.0, 2.0 / 2**n * m):.3g} after Holm for {several(m, 'comparison')}: "
        "only more seeds can give a significant difference (.05 or less)."
    ]


def _missing(results: StudyResults) -> list[str]:
    notes = []
    for task in results.tasks:
        for one in task.strategies:
            for missing in one.missing:
                notes.append(
                    f"* missing: {task.task}, {one.name}, seed {missing.seed}: "
                    f"{one_line(missing.reason, 160)}"
                )
    return notes
