"""The metrics by name, over instances."""

import math

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.metrics import Tally, parse_metric, parse_metrics
from dataenvgym.tasks.metrics.metric import quoted_metrics


def tally(outcomes: str, answers: str = "") -> Tally:
    """Outcomes as "+-e"; answers as letters, "." for none (by default + answers a, - answers b)."""
    answers = answers or outcomes.translate(str.maketrans("+-e", "ab."))
    letters = sorted({*answers} - {"."})
    return Tally(
        instance_id=outcomes,
        outcomes=tuple({"+": True, "-": False, "e": None}[o] for o in outcomes),
        votes=tuple(None if a == "." else letters.index(a) for a in answers),
        answers=tuple(letters),
    )


def value(name: str, *tallies: Tally) -> float | None:
    return parse_metric(name).of(tallies).value


def test_the_issues_figures_come_out_of_a_tally():
    ten = tally("+++-------")
    found = [value(f"pass@{k}", ten) for k in (1, 2, 3, 5, 8)]
    assert found == pytest.approx([0.3, 0.5333, 0.7083, 0.9167, 1.0], abs=5e-5)
    found = [value("pass^1", tally("+++-")), value("pass^2", tally("+++-"))]
    assert [*found, value("pass^4", tally("++++++--"))] == pytest.approx([0.75, 0.5, 3 / 14])


def test_a_metric_is_the_mean_over_instances_with_its_interval():
    found = parse_metric("pass@1").of([tally("+"), tally("-"), tally("+"), tally("+")])
    assert (found.value, found.n, found.left_out) == (0.75, 4, 0)
    assert found.half_width == pytest.approx(3.18245 * 0.5 / math.sqrt(4), abs=1e-5)  # t(.975, 3)
    # equal results of all instances give no interval
    assert parse_metric("pass@1").of([tally("+"), tally("+")]).half_width is None


def test_a_failed_call_is_not_a_wrong_answer_and_its_instance_may_be_left_out():
    found = parse_metric("pass@2").of([tally("+-ee"), tally("+eee"), tally("----")])
    assert (found.value, found.n, found.left_out) == (0.5, 2, 1)
    assert value("pass@1", tally("+ee")) == 1.0
    assert value("error_rate", tally("+ee"), tally("+++")) == pytest.approx(1 / 3)
    none_left = parse_metric("majority@1").of([tally("e"), tally("e")])
    assert (none_left.value, none_left.n, none_left.left_out) == (None, 0, 2)


def test_the_majority_goes_by_answers():
    votes = tally("-+-+-", "bacad")  # a twice and right; b, c, d once each
    assert value("majority@5", votes) == 1.0
    assert value("pass@1", votes) == 0.4
    assert value("majority@4", tally("++--", "aabb")) == 0.5
    # samples without an answer are counted among those that were judged
    assert value("no_answer_rate", tally("+--e", "a...")) == pytest.approx(2 / 3)


def test_the_average_of_k_goes_sample_by_sample():
    # accuracies of the samples: 1, 0.5, 0 (over two instances)
    found = parse_metric("pass@1[avg-of-3]").of([tally("++-"), tally("+--")])
    assert (found.value, found.sd) == (pytest.approx(0.5), pytest.approx(0.5))
    # only the first two; the failed one does not count in its sample's accuracy
    found = parse_metric("pass@1[avg-of-2]").of([tally("+e-"), tally("+--")])
    assert (found.value, found.sd) == (pytest.approx(0.5), pytest.approx(math.sqrt(0.5)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("majorty@5", "Did you mean 'majority@K'"),
        ("pass@0", "no such metric"),
    ],
)
def test_an_unknown_metric_is_refused(name, expected):
    with pytest.raises(ConfigurationError, match=expected):
        parse_metric(name)


def test_a_k_beyond_the_samples_is_refused_before_and_after_drawing():
    for refuse in (
        lambda: parse_metrics(["pass@1", "majority@20"], 10),
        lambda: parse_metric("majority@20").of([tally("+" * 10)]),
    ):
        with pytest.raises(ConfigurationError, match="needs k"):
            refuse()


def test_without_names_the_metrics_suit_the_number_of_samples():
    assert [m.name for m in parse_metrics(None, 1)] == ["pass@1", "no_answer_rate", "error_rate"]
    assert [m.name for m in parse_metrics(None, 4)][:4] == [
        "pass@1[avg-of-4]", "pass@4", "pass^4", "majority@4",
    ]  # fmt: skip
    with pytest.raises(ConfigurationError, match="metrics"):
        parse_metrics([], 4)
    assert parse_metrics(["pass@2", "pass@1", "pass@2"], 4) == parse_metrics(
        ["pass@2", "pass@1"], 4
    )


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("metrics=[pass@1,pass^3]", 'metrics=["pass@1","pass^3"]'),
        ("metrics=[pass@1[avg-of-4],pass@2]", 'metrics=["pass@1[avg-of-4]","pass@2"]'),
        ("metrics=pass^2", 'metrics=["pass^2"]'),
        ("metrics=[]", "metrics=[]"),
        ("metrics=null", "metrics=null"),
        ("metrics=['pass^2']", "metrics=['pass^2']"),
    ],
)
def test_names_get_the_quotes_that_hydra_wants(typed, expected):
    assert quoted_metrics(typed) == expected
