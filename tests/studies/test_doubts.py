"""Notes about a study's numbers that are not reliable."""

from dataenvgym.studies import plots
from dataenvgym.studies.results import StrategyRuns
from dataenvgym.studies.tables import study_document, write_results
from tests.studies.conftest import made_run, results_of, runs_of


def summed(gold=0.5, **of_more):
    """Results of random (test gain .1), more's (.2) and gold with the test score `gold`."""
    return results_of(
        runs_of("random", [0], (0.5, 0.6), 0.5),
        runs_of("more", [0, 1], (0.5, 0.7), 0.6, **of_more),
        runs_of("gold", [0, 1], (0.5, 0.6), gold, records_hash="g"),
    )


def test_gold_data_that_a_strategy_beats_are_not_called_a_ceiling(tmp_path, monkeypatch):
    results = summed(gold=0.45)
    assert results.warnings == (
        "gold is not a ceiling: it gained +0.050, and more was gained by more "
        "+0.200, random +0.100.",
    )
    assert next(study_document(results)).rows[2][0] == "gold (not a ceiling)"
    titles = []
    monkeypatch.setattr(plots, "ceiling_title", lambda *a: titles.append(1) or "not a ceiling")
    write_results(results, tmp_path)
    assert titles
    text = (tmp_path / "study.md").read_text()
    assert "**Warning**: gold is not a ceiling" in text
    assert "gold (not a ceiling)" in text


def test_gold_data_above_all_strategies_are_a_ceiling():
    results = summed(gold=0.65)
    assert results.warnings == ()
    assert next(study_document(results)).rows[2][0] == "gold (ceiling)"


def test_seeds_with_identical_records_are_named_but_not_those_of_gold_data():
    (warning,) = summed(gold=0.65, records_hash="same").warnings
    assert warning.startswith("more: seeds 0, 1 trained on identical records")


def test_a_student_with_more_errors_than_another_is_named_with_their_causes():
    assert not any("more errors" in warning for warning in summed(gold=0.65).warnings)
    results = summed(gold=0.65, errors={"environment": 12, "user": 1})
    (warning,) = (w for w in results.warnings if "more errors" in w)
    assert "no teaching 0; random 0; more 12 environment, 1 user; gold 0." in warning
    gains = next(study_document(results))
    assert gains.names[-1] == "errors"
    assert [row[-1] for row in gains.rows] == [None, "12 environment, 1 user", None, None]


def test_strategies_with_identical_records_and_scores_are_named():
    def runs(name, *hashes, val=0.6):
        made = {s: made_run(s, (0.5, val), 0.5, records_hash=h) for s, h in enumerate(hashes)}
        return StrategyRuns(name, "ceiling" if name == "gold" else "strategy", made)

    results = results_of(
        runs("first", "a", "b"),
        runs("partly", "a", "c"),
        runs("again", "a", "b"),
        runs("trained otherwise", "a", "b", val=0.7),
        runs("nothing", None, None),
        runs("nothing else", None, None),
        runs("gold", "a", "b"),
    )
    found = [text for text in results.warnings if "at every seed" in text]
    assert len(found) == 1
    assert found[0].startswith("first, again have identical records and scores at every seed")


def test_the_warnings_of_runs_are_those_of_the_study_too():
    results = summed(gold=0.65, warnings=("iteration 1: no records",))
    assert results.warnings == ("more, seeds 0, 1: iteration 1: no records",)
