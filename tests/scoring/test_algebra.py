from __future__ import annotations

from fractions import Fraction

import pytest

from dataenvgym.scoring.algebra import (
    HugePowerError,
    NotClosedFormError,
    imaginary_unit,
    proportional,
    rational,
    symbol,
)


def test_square_roots_have_one_form() -> None:
    assert rational(12).square_root().same_as(rational(2) * rational(3).square_root())
    assert rational(Fraction(1, 2)).square_root().same_as(rational(2).square_root() / rational(2))
    assert rational(-1).square_root().same_as(imaginary_unit())
    assert (imaginary_unit() * imaginary_unit()).rational() == -1


def test_products_of_roots_combine() -> None:
    product = rational(6).square_root() * rational(10).square_root()
    assert product.same_as(rational(2) * rational(15).square_root())
    assert (rational(-2).square_root() * rational(-3).square_root()).same_as(
        -rational(6).square_root()
    )


def test_quotients_are_equal_by_cross_multiplication() -> None:
    x = symbol("x")
    assert ((x * x + rational(-1)) / (x + rational(-1))).same_as(x + rational(1))
    assert not (rational(1) / (x + rational(1))).same_as(rational(1) / x)


def test_equations_are_proportional_up_to_a_number_only() -> None:
    x, y = symbol("x"), symbol("y")
    assert proportional(x + y, -(x + y) * rational(2))
    assert not proportional(x + y, x + -y)
    assert not proportional(x, x * x)
    assert not proportional(rational(0), rational(0))


def test_a_huge_power_is_refused_and_not_computed() -> None:
    with pytest.raises(HugePowerError):
        rational(9).power(rational(9**9))
    assert rational(1).power(rational(9**9)).rational() == 1


def test_what_leaves_exact_arithmetic_is_refused() -> None:
    with pytest.raises(NotClosedFormError):
        rational(2).power(rational(Fraction(1, 3)))
    with pytest.raises(NotClosedFormError):
        rational(1) / (symbol("x") + -symbol("x"))
    with pytest.raises(NotClosedFormError):
        symbol("x").square_root()
