"""Tables, for a terminal and as Markdown."""

import io

from rich.console import Console

from dataenvgym.studies.notes import study_notes
from dataenvgym.studies.results import MissingRun, StrategyRuns
from dataenvgym.studies.tables import markdown, render, study_cells
from tests.studies.conftest import made_run, results_of, runs_of


def results(n=5, names=("random", "a_very_long_name_of_a_strategy_indeed"), gold=0.9, **changes):
    base = {s: made_run(s, (0.5, 0.55 + 0.01 * s), 0.5 + 0.01 * s) for s in range(n)}
    lost = [MissingRun(seed=9, reason="WorkerLostError: killed\nby SIGKILL")]
    good = {s: made_run(s, (0.5, 0.7), 0.65, **changes) for s in range(n)}
    return results_of(
        StrategyRuns(names[0], "strategy", base),
        StrategyRuns(names[1], "strategy", good, lost),
        runs_of("gold", [0], (0.5, gold), gold),
        command="dataenvgym study `x`",
    )


def shown(results, width):
    stream = io.StringIO()
    Console(file=stream, width=width).print(render(results, width))
    return stream.getvalue()


def test_the_tables_fit_a_hundred_columns_with_a_teacher_too():
    text = shown(results(requests=1234, cost=12.5), 100)
    assert max(map(len, text.splitlines())) <= 100
    for name in ("test gain", "noise", "area", "calls", "cost", "sec.", "Holm"):
        assert name in text
    assert "$12.50" in text


def test_a_narrow_terminal_loses_columns_and_no_strategy():
    text = shown(results(), 72)
    assert max(map(len, text.splitlines())) <= 72
    assert "a_very_long_name" in text
    assert "test gain" in text
    assert "noise " not in text.partition("difference to")[0]


def test_columns_that_are_left_out_are_named():
    text = " ".join(shown(results(), 72).split())
    assert "72 columns have no room for: noise" in text
    assert "no room for" not in shown(results(), 100)


def test_gains_have_an_interval_and_differences_have_a_p():
    scores, differences = study_cells(results())
    assert scores.rows[0][2] == "+.120 ±.020"  # .10 to .14: sd .0158, t(.975, 4) 2.776, / sqrt 5
    assert scores.rows[1][1] == "5*"
    assert scores.rows[2][0] == "gold (ceiling)"
    assert scores.rows[3][0] == "no teaching (floor)"
    (row,) = differences.rows
    assert row[1:3] == ("5", "+.130 ±.020")
    assert row[4] == ".062"  # 2/2^5
    assert [r[0] for r in differences.rows] == ["a_very_long_name_of_a_strategy_indeed"]


def test_the_costs_of_an_unpriced_teacher_are_a_question_mark():
    scores, _ = study_cells(results(requests=10, cost=None))
    assert scores.rows[1][8] == "?"
    assert "calls" not in study_cells(results())[0].names


def test_notes_name_missing_seeds_the_floor_and_the_limits_of_few_seeds():
    notes = "\n".join(study_notes(results(n=4)))
    assert "indeed, seed 9: WorkerLostError: killed by SIGKILL" in notes
    assert (
        "base student (floor) scores validation 0.500, test 0.400; the same in all 9 run" in notes
    )
    assert "*: significant (.05 or less); no star: these seeds do not" in notes
    assert "With 4 pairs no sign-flip p is below 0.125" in notes
    assert "more seeds can give" not in "\n".join(study_notes(results(n=10)))


def test_markdown_has_the_same_rows_and_the_command():
    text = markdown(results())
    assert "| random | 5 | +.120 ±.020 |" in text
    assert r"a\_very\_long\_name\_of\_a\_strategy\_indeed" in text
    assert "dataenvgym study" in text


def test_named_scores_have_a_column_and_are_the_first_to_go_after_the_seconds():
    found = results(score_gains={"tests_passed": 0.25})
    (gains, _) = study_cells(found)
    assert gains.names[-2:] == ("tests_passed", "sec.")
    assert [row[-2] for row in gains.rows] == ["-", "+.250 ±.000", "-", "+.000"]


def test_a_named_score_with_the_name_of_another_column_has_its_own():
    (gains, _) = study_cells(results(score_gains={"records": 0.25}))
    assert gains.names[-3:] == ("records", "records", "sec.")
    assert [row[-2] for row in gains.rows][1] == "+.250 ±.000"


def test_a_difference_without_any_spread_is_significant():
    base, same = ({s: made_run(s, (0.5, v), v) for s in range(3)} for v in (0.5, 0.75))
    found = results_of(
        StrategyRuns("a", "strategy", base), StrategyRuns("b", "strategy", same), test="t"
    )
    assert study_cells(found)[1].rows[0][5] == "<.001*"


def test_forgetting_and_refusals_have_a_column_only_if_there_are_any():
    (gains, _) = study_cells(results(forgetting=0.125, n_refused=2))
    assert gains.names[-3:] == ("forgotten", "refused", "sec.")
    assert [row[-3:-1] for row in gains.rows] == [
        (".000", ".0"), (".125", "2.0"), (".000", ".0"), (".000", ".0"),
    ]  # fmt: skip
    assert not {"forgotten", "refused"} & {*study_cells(results())[0].names}


def test_eighty_columns_have_room_for_all_columns_with_names_of_usual_length():
    found = results(names=("random", "skill_list"), gold=0.6)
    text = shown(found, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "no room for" not in text
