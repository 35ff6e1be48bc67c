"""The document of a study."""

import io

from rich.console import Console

from dataenvgym.runs.documents import Table, markdown, show
from dataenvgym.studies.results import StrategyRuns
from dataenvgym.studies.tables import study_document
from tests.studies.conftest import made_run, results_of, runs_of


def results(n=5, names=("random", "a_very_long_name_of_a_strategy_indeed"), gold=0.9, **changes):
    base = {s: made_run(s, (0.5, 0.55 + 0.01 * s), 0.5 + 0.01 * s) for s in range(n)}
    lost = {9: "WorkerLostError: killed\nby SIGKILL"}
    good = {s: made_run(s, (0.5, 0.7), 0.65, **changes) for s in range(n)}
    return results_of(
        StrategyRuns(names[0], "strategy", base),
        StrategyRuns(names[1], "strategy", good, lost),
        runs_of("gold", [0], (0.5, gold), gold),
        command="dataenvgym study `x`",
    )


def tables(results):
    return [part for part in study_document(results) if isinstance(part, Table)]


def test_a_study_on_a_terminal(shown):
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    show(study_document(results(requests=1234, cost=12.5)), console)
    shown("study.txt", console.file.getvalue())


def test_a_study_in_markdown_with_all_columns(shown):
    found = results(requests=10, cost=None, forgetting=0.125, n_refused=2,
                    score_gains={"tests_passed": 0.25, "records": 0.25})  # fmt: skip
    shown("study_md.txt", markdown(study_document(found)))


def test_a_difference_without_any_spread_is_significant():
    base, same = ({s: made_run(s, (0.5, v), v) for s in range(3)} for v in (0.5, 0.75))
    found = results_of(
        StrategyRuns("a", "strategy", base), StrategyRuns("b", "strategy", same), test="t"
    )
    assert tables(found)[1].rows[0][5] == "<0.001*"


def test_notes_say_what_few_seeds_cannot_show():
    assert "no p is below 0.125" in markdown(study_document(results(n=4)))
    assert "more seeds" not in markdown(study_document(results(n=10)))
