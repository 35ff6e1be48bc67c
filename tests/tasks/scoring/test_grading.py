import json
import logging
from fractions import Fraction

import pytest

from dataenvgym.tasks.scoring import answers_equal, extract_final_answer, gold_problems, grade_pairs

# Beyond the fast path, and never finished by sympy.
HANGING = "9^{9^{9^{9}}}+1"


def test_the_reference_pairs_are_graded_as_stated(cases):
    lines = (cases / "math_pairs.jsonl").read_text().splitlines()
    pairs = [json.loads(line) for line in lines]
    verdicts = grade_pairs([(pair["gold"], pair["answer"]) for pair in pairs])
    for pair, verdict in zip(pairs, verdicts, strict=True):
        assert verdict.error is None
        assert verdict.equal == pair["equivalent"], pair
    assert lines


def _gsm8k_golds(data):
    lines = (data / "gsm8k" / "test.jsonl").read_text().splitlines()
    golds = [extract_final_answer(json.loads(line)["answer"]) for line in lines]
    assert None not in golds
    return [gold for gold in golds if gold is not None]


def test_gsm8k_answers_equal_themselves_and_not_their_neighbors(data):
    golds = _gsm8k_golds(data)
    assert len(golds) == 1_319
    assert gold_problems(golds) == [None] * len(golds)
    assert all(verdict.equal for verdict in grade_pairs([(gold, gold) for gold in golds]))
    neighbors = list(zip(golds, golds[1:] + golds[:1], strict=True))
    for (gold, answer), verdict in zip(neighbors, grade_pairs(neighbors), strict=True):
        same = Fraction(gold.replace(",", "")) == Fraction(answer.replace(",", ""))
        assert verdict.error is None
        assert verdict.equal == same, (gold, answer)


def test_what_cannot_be_parsed_is_wrong_and_matrices_and_roots_are_compared():
    matrix = r"\begin{pmatrix}1\\2\end{pmatrix}"
    pairs = [(matrix, r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"), (r"\log_2 8", "3"),
             (matrix, r"\begin{pmatrix}2\\1\end{pmatrix}"), (r"\int", "5"),
             (r"\sqrt[3]{10^{-60}}", r"\sqrt[3]{8\cdot10^{-60}}")]  # fmt: skip
    verdicts = grade_pairs(pairs)
    assert [(v.equal, v.error) for v in verdicts] == [(n < 2, None) for n in range(5)]


def test_a_check_that_runs_out_of_time_is_an_error_and_not_a_wrong_answer():
    fine, hanging, other = grade_pairs(
        [("5", "5"), ("5", HANGING), (r"\ln 4", r"2\ln 2")], time_limit=1
    )
    assert (fine.equal, fine.error) == (True, None)
    assert hanging.equal is False
    assert hanging.error is not None
    assert hanging.exhausted
    assert "1 s" in hanging.error
    assert (other.equal, other.error) == (True, None)


def test_the_short_form_says_no_to_a_failed_check_and_logs_it(caplog):
    with caplog.at_level(logging.WARNING, "dataenvgym.tasks.scoring"):
        assert answers_equal("5", HANGING, time_limit=0.5) is False
    assert "0.5 s" in caplog.text


def test_symbolic_golds_are_accepted():
    golds = [r"\ln 4", r"\begin{pmatrix}1\\2\end{pmatrix}", "4 3 1", "x=5", r"\text{(B)}", "101_2"]
    assert gold_problems(golds) == [None] * len(golds)


@pytest.mark.parametrize("gold", ["", " ", "$", r"\frac{1}{", "???", ")(", "[2,3", "5" * 5_000])
def test_a_gold_that_nothing_could_equal_is_refused(gold):
    (problem,) = gold_problems([gold])
    assert problem is not None
    assert "gold answer" in problem
