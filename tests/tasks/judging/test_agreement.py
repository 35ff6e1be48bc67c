"""Krippendorff's alpha against cases derived by hand, and the one that its author published."""

import pytest

from dataenvgym.tasks.judging import krippendorff_alpha

# Krippendorff (2011), section C: four observers, twelve units, missing values.
A = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
B = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
C = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
D = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]


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
