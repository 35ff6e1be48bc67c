import json

import pytest

from dataenvgym.adaptation import ArmResult, EditResult
from dataenvgym.adaptation.report import AdaptationReport, write_report


def edit(context, sample, *accuracies, baseline=0.2, **fields):
    return EditResult(
        context=context, sample=sample, baseline=baseline, accuracies=accuracies, **fields
    )


def results(seed, *, shift=0.0):
    """Two contexts whose base has .2 and .4."""
    base = [edit("a", 0, 0.2), edit("b", 0, 0.4, baseline=0.4)]
    written = [
        edit("a", 0, 0.4 + shift, 0.6 + shift),
        edit("a", 1, 0.7 + shift, 0.7 + shift),
        edit("b", 0, 0.4, 0.4, baseline=0.4, failure="it is empty"),
        edit("b", 1, 0.6, None, baseline=0.4, n_unscored=5),
    ]
    later = [edit("a", 0, 0.9, baseline=0.3), EditResult(context="b", sample=0, error="gone")]
    return [
        ArmResult(arm="base", seed=seed, edits=tuple(base)),
        ArmResult(arm="self_edits", seed=seed, edits=tuple(written)),
        ArmResult(arm="rest_em_1", seed=seed, kept=3, edits=tuple(later)),
    ]


def test_figures_are_means_over_contexts_of_edits_and_of_trainings():
    report = AdaptationReport.of("t", results(0))
    base, written, later = report.arms
    assert base.base.mean == pytest.approx(0.3)
    assert base.adapter is None
    # a: (.5 + .7) / 2 = .6; b: (.4 + .6) / 2 = .5
    assert written.adapter.mean == pytest.approx(0.55)
    assert written.gain.mean == pytest.approx(0.25)
    # deviations of edits: .5 and .7 have .1414, .4 and .6 as well; of trainings: .1414, 0, 0
    assert written.sd_edits == pytest.approx(0.141421, abs=1e-6)
    assert written.sd_repeats == pytest.approx(0.141421 / 3, abs=1e-6)
    assert (written.n_edits, written.n_failed, written.n_unscored) == (4, 1, 5)
    # the student of a later round has a base of its own, and its gain is above the first one
    assert later.base.mean == pytest.approx(0.3)
    assert later.gain.mean == pytest.approx(0.7)
    assert (later.n_edits, later.n_errors, later.kept) == (1, 1, 3)
    # compared on the context that both have: .9 - .6
    assert written.above_reference is None
    assert later.above_reference.mean == pytest.approx(0.3)
    assert written.gain.low is None


def test_intervals_are_over_seeds():
    report = AdaptationReport.of("t", [*results(0), *results(1, shift=0.1), *results(2, shift=0.2)])
    written = report.arms[1]
    # gains .25, .30, .35: .30 +- 4.303 * .05 / sqrt(3)
    assert written.gain.mean == pytest.approx(0.30)
    assert written.gain.low == pytest.approx(0.30 - 0.12421, abs=1e-4)
    assert report.seeds == (0, 1, 2)
    assert report.arms[2].above_reference.n == 3


def test_the_report_names_what_failed(tmp_path, shown):
    found = results(0)
    report = AdaptationReport.of("t", found)
    shown("report_md.txt", write_report(tmp_path, report, found).read_text())
    saved = json.loads((tmp_path / "results.json").read_text())
    assert saved["arms"][1]["adapter"]["mean"] == pytest.approx(0.55)
    assert [result["arm"] for result in saved["results"]] == ["base", "self_edits", "rest_em_1"]


def test_nothing_scored_is_no_zero():
    nothing = [
        ArmResult(arm="base", seed=0, edits=(edit("a", 0, None, baseline=None, n_unscored=2),)),
        ArmResult(arm="self_edits", seed=0, edits=(EditResult(context="a", sample=0, error="?"),)),
    ]
    report = AdaptationReport.of("t", nothing)
    _, table, *_ = report.document()
    assert table.names == ["arm"]
