"""Krippendorff's alpha against cases derived by hand, and the one that its author published."""

import pytest

from dataenvgym.tasks.judging import krippendorff_alpha

# Krippendorff (2011), section C: four observers, twelve units, missing values.
A = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
B = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
C = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
D = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]


def test_two_judges_and_three_units_come_out_as_derived_by_hand():
    # Units (1, 1), (1, 2), (3, 3): each has 2 values, so each ordered pair of it weighs 1.
    # Coincidences: o11 = 2, o12 = o21 = 1, o33 = 2. Totals: n1 = 3, n2 = 1, n3 = 2, n = 6.
    units = [(1, 1), (1, 2), (3, 3)]
    # nominal: D_o = 2, sum over c != k of n_c n_k = 36 - 9 - 1 - 4 = 22.
    # alpha = 1 - (6 - 1) * 2 / 22 = 12/22
    assert krippendorff_alpha(units, "nominal") == pytest.approx(12 / 22)
    # interval: D_o = 2 * (1 - 2)^2 = 2.
    # Expected: 2 * (3*1*(1-2)^2 + 3*2*(1-3)^2 + 1*2*(2-3)^2) = 2 * (3 + 24 + 2) = 58.
    # alpha = 1 - 5 * 2 / 58 = 48/58
    assert krippendorff_alpha(units, "interval") == pytest.approx(48 / 58)
    # ordinal: the middles of the ranks are 1.5, 3.5 and 5. D_o = 2 * (1.5 - 3.5)^2 = 8.
    # Expected: 2 * (3*1*2^2 + 3*2*3.5^2 + 1*2*1.5^2) = 2 * (12 + 73.5 + 4.5) = 180.
    # alpha = 1 - 5 * 8 / 180 = 140/180
    assert krippendorff_alpha(units, "ordinal") == pytest.approx(140 / 180)
    # a unit that one judge alone judged changes nothing
    assert krippendorff_alpha([*units, (9, None), (None, None)]) == krippendorff_alpha(units)


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_the_published_example_with_missing_values(level, alpha):
    found = krippendorff_alpha(list(zip(A, B, C, D, strict=True)), level)
    assert found == pytest.approx(alpha, abs=5e-4)


def test_perfect_agreement_is_one_and_systematic_disagreement_is_below_zero():
    assert krippendorff_alpha([(1, 1), (5, 5)]) == 1.0
    assert krippendorff_alpha([("user", "user"), ("judge", "judge")], "nominal") == 1.0
    # o12 = o21 = 2, n1 = n2 = 2: 1 - 3 * 4 / 8
    assert krippendorff_alpha([(0, 1), (1, 0)], "nominal") == pytest.approx(-0.5)


@pytest.mark.parametrize("units", [[], [(1, None)], [(2, 2), (2, 2)], [(1,), (2,)]])
def test_without_pairs_or_without_variation_it_is_not_defined(units):
    assert krippendorff_alpha(units) is None
