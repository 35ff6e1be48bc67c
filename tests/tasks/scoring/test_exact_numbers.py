"""Exact numbers are compared exactly, however many digits they share."""

from fractions import Fraction
from math import comb, factorial
from random import Random

import pytest

from dataenvgym.tasks.scoring import grade_pairs

PAIRS = [
    ("2^{100}-1", "2^{100}", False), ("2^{50000}", "2^{50000}+1", False),
    (r"2^{100}\cdot 2", "2^{101}", True), (r"\frac{1}{1004!}", r"\frac{1}{1006!}", False),
    ("100!+1", "100!", False), (r"\frac{2019!}{2020!}", r"\frac{1}{2020}", True),
    (r"1-\frac{1}{2^{100}}", "1", False), (r"\sum_{k=0}^{100}2^k", "2^{101}", False),
    # roots, logarithms, pi, i
    (r"\sqrt{10^{60}+1}", "10^{30}", False), (r"\sqrt{10^{60}+2\cdot10^{30}+1}", "10^{30}+1", True),
    ("2^{100}i", "(2^{100}-1)i", False), (r"\sqrt{2}\sqrt{3}", r"\sqrt{6}", True),
    (r"\sqrt{2}-\sqrt{2}", r"\sqrt{10^{120}+1}-10^{60}", False),
    # remainders and floors
    (r"2^{100} \bmod 7", "2", True), (r"2^{100} \mod 7", "3", False),
    # powers that cannot be written out
    ("2^{10^9}", "2^{10^9}+1", False), ("2^{10^9}", "2^{1000000000}", True),
    ("2^{10^9}", "3", False), ("3^{-10^9}", "3^{-10^9}+1", False),
    # inside formulas, lists and equations
    ("2^{100}x", "(2^{100}-1)x", False), ("(2^{100},1)", "(2^{100}-1,1)", False),
    ("x=2^{100}-1", "x=2^{100}", False), (r"10^{30}\text{ cm}", r"10^{30}+1\text{ cm}", False),
    (r"2^{100}\%", r"\frac{2^{100}-1}{100}", False),
    # scientific notation is exact; a decimal of six places may be rounded
    ("1.0e30", "10^{30}", True), ("1.0e30", "10^{30}+1", False),
    (r"1.1\cdot 10^{30}", r"11\cdot 10^{29}", True), ("1.234e-10", "1.235e-10", False),
    (r"\frac{1}{\sqrt{9}}", "0.333333", True),
]  # fmt: skip


def test_exact_numbers_are_equal_only_if_all_digits_are():
    verdicts = grade_pairs([(gold, answer) for gold, answer, _ in PAIRS])
    assert [v.error for v in verdicts] == [None] * len(PAIRS)
    graded = [(*pair[:2], v.equal) for pair, v in zip(PAIRS, verdicts, strict=True)]
    assert graded == PAIRS


@pytest.mark.slow
def test_exact_numbers_are_compared_alike_both_ways():
    swapped = grade_pairs([(answer, gold) for gold, answer, _ in PAIRS])
    assert [v.equal for v in swapped] == [equal for _, _, equal in PAIRS]


def _plain(value):
    return (
        str(value)
        if value.denominator == 1
        else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    )


def _leaf(random):
    n, k = random.randint(20, 120), random.randint(2, 12)
    return random.choice([
        (str(n), Fraction(n)),
        (rf"{k}^{{{n}}}", Fraction(k) ** n),
        (f"{n}!", Fraction(factorial(n))),
        (rf"\binom{{{n}}}{{{n // 2}}}", Fraction(comb(n, n // 2))),
        (rf"\left(\frac{{{k}}}{{{k + 1}}}\right)^{{{n}}}", Fraction(k, k + 1) ** n),
        (rf"\frac{{{n}!}}{{{n - k}!}}", Fraction(factorial(n), factorial(n - k))),
        (rf"{k}^{{-{n}}}", Fraction(k) ** -n),
    ])  # fmt: skip


def _expression(random, depth):
    if depth == 0:
        return _leaf(random)
    (one, a), (other, b) = _expression(random, depth - 1), _leaf(random)
    forms = [
        (rf"{one}+{other}", a + b),
        (rf"\left({one}\right)-\left({other}\right)", a - b),
        (rf"\left({one}\right)\cdot\left({other}\right)", a * b),
        (rf"\frac{{{one}}}{{{other}}}", a / b),
        (rf"\left({one}\right)^{{2}}", a * a),
    ]
    return random.choice(forms)


def _check(n, seed):
    random = Random(seed)
    pairs, expected = [], []
    for _ in range(n):
        text, value = _expression(random, random.randint(0, 2))
        off = random.choice([1, -1, value / 10**40, value / 10 ** random.randint(30, 600)])
        near = value + off
        other, same = _leaf(random)
        for answer, equal in (
            (_plain(value), True),
            (_plain(near), near == value),
            (rf"{other}+\left({text}\right)-{_plain(same)}", True),
            (rf"\left({text}\right)+2^{{-{random.randint(90, 900)}}}", False),
        ):
            if len(answer) < 1_500:
                pairs.append((text, answer) if random.random() < 0.5 else (answer, text))
                expected.append(equal)
    verdicts = grade_pairs(pairs, time_limit=30)
    assert [v.error for v in verdicts] == [None] * len(pairs)
    assert [p for p, v, e in zip(pairs, verdicts, expected, strict=True) if v.equal != e] == []
    assert True in expected
    assert False in expected


def test_random_expressions_equal_their_values_and_not_the_neighbors():
    _check(5, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_random_expressions_equal_their_values_and_not_the_neighbors(seed):
    _check(400, seed)
