"""Statistics against values worked out by hand, textbooks and scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from dataenvgym.errors import ConfigurationError
from dataenvgym.studies.statistics import choose_test, holm, instance_error, paired_t, sign_flip

# Student (1908): hours of sleep gained by two drugs, ten patients; t = -4.0621, p = .00283
SLEEP = [
    0.7 - 1.9, -1.6 - 0.8, -0.2 - 1.1, -1.2 - 0.1, -0.1 + 0.1,
    3.4 - 4.4, 3.7 - 5.5, 0.8 - 1.6, 0.0 - 4.6, 2.0 - 3.4,
]  # fmt: skip


def test_the_paired_t_test_gives_students_own_value():
    assert paired_t(SLEEP) == pytest.approx(0.00283, abs=5e-6)
    assert paired_t(SLEEP) == pytest.approx(stats.ttest_1samp(SLEEP, 0.0).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("differences", "p"), [([0.0, 0.0], 1.0), ([0.1, 0.1, 0.1], 0.0), ([0.3], None), ([], None)]
)
def test_the_paired_t_test_of_constant_differences(differences, p):
    assert paired_t(differences) == p


def test_sign_flips_counted_by_hand():
    # sums of +-1 +-2 +-3: 6, 4, 2, 0, 0, -2, -4, -6
    assert sign_flip([1.0, 2.0, 3.0]) == 2 / 8
    assert sign_flip([1.0, 2.0, -3.0]) == 1.0
    assert sign_flip([-1.0, 2.0, 3.0]) == 4 / 8
    assert sign_flip([0.0, 0.0]) == 1.0
    assert sign_flip([]) is None


def test_sign_flips_are_scipys_exact_permutation_test():
    rng = np.random.default_rng(1)
    for n in (4, 7, 10):
        differences = rng.normal(0.3, 1.0, size=n)
        expected = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
        ).pvalue
        assert sign_flip(differences.tolist()) == pytest.approx(expected, rel=1e-12)


def test_equal_sums_count_as_equal_though_rounding_differs():
    assert sign_flip([0.1, 0.2, 0.3]) == 2 / 8  # 0.1 + 0.2 != 0.3 in binary
    assert sign_flip([0.1, 0.2, -0.3]) == 1.0


def test_under_the_null_hypothesis_small_sign_flip_ps_are_as_rare_as_they_say():
    rng = np.random.default_rng(2)
    ps = [sign_flip(rng.standard_t(3, size=8).tolist()) for _ in range(1000)]
    assert sum(p <= 0.05 for p in ps) / 1000 < 0.07


def test_twenty_pairs_are_counted_and_more_are_refused():
    assert sign_flip([1.0] * 20) == 2 / 2**20
    assert (choose_test(20), choose_test(21)) == ("sign_flip", "t")
    with pytest.raises(ConfigurationError, match="flips"):
        choose_test(21, "sign_flip")


def test_holms_textbook_example():
    # Holm 1979: .01 -> x4, .015 -> x3, .02 -> x2, .05 -> x1, each at least the one before it
    assert holm([0.05, 0.01, 0.02, 0.015]) == pytest.approx([0.05, 0.04, 0.045, 0.045])


def test_holm_keeps_the_order_stays_below_one_and_ignores_missing_values():
    assert holm([0.9, None, 0.6]) == [1.0, None, 1.0]
    assert holm([]) == []
    assert holm([0.04]) == [0.04]


def test_the_error_by_instances_of_right_and_wrong_is_the_binomial_one():
    differences = [1.0] * 30 + [0.0] * 70
    assert instance_error(differences) == pytest.approx(math.sqrt(0.3 * 0.7 / 99), rel=1e-12)
    assert instance_error([1.0]) is None
