import pytest

from dataenvgym.environments.iterations import IterationResult
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import PerformanceReport


def result(score: float, n_records: int) -> IterationResult:
    report = PerformanceReport(task="t", score=score, accuracy=score, n=1, n_errors=0)
    return IterationResult(iteration=1, report=report, n_records_total=n_records)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "accumlate"}, "Did you mean 'accumulate'?"),
        ({"replay": -1}, "replay is -1, expected 0 or more records"),
        ({"replay": "10"}, "replay is '10', expected 0 or more records"),
        ({"max_records": 1.5}, "max_records is 1.5, expected 0 or more, or None"),
        ({"target_score": float("nan")}, "target_score is nan, expected a finite number, or None"),
        ({"similarity": 7.0}, "similarity is 7.0, expected between 0 and 1"),
        ({"max_records": -1}, "max_records is -1, expected 0 or more, or None"),
    ],
)
def test_an_invalid_option_raises_with_the_expected_values(options, expected):
    with pytest.raises(ConfigurationError) as caught:
        TeachingOptions(**options)
    assert expected in str(caught.value)


def test_an_episode_ends_only_at_its_target_score_or_its_budget():
    assert not TeachingOptions().end_at(result(1.0, 10**6))
    options = TeachingOptions(target_score=0.8, max_records=100)
    assert not options.end_at(result(0.79, 99))
    assert options.end_at(result(0.8, 0))
    assert options.end_at(result(0.0, 100))
