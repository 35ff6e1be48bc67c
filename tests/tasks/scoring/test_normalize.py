import json

import pytest

from dataenvgym.tasks.scoring.normalize import clean


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (r"$\left(\dfrac{1}{2}\right)$", r"(\frac{1}{2})"),
        ("\N{MINUS SIGN}3\N{MULTIPLICATION SIGN}10\N{SUPERSCRIPT FIVE}", "-3*10^{5}"),
        ("2\N{SQUARE ROOT}3", r"2\sqrt 3"), (r"1{,}000\,000", "1,000000"),
        (r"\mathrm{cm}", r"\text{cm}"), ("  **42**. ", "42"), ("x <= 3", r"x \le 3"),
        ("28 percent", "28%"), ("US$5", "5"), ("2**3", "2^3"), ("pi/2", r"\pi /2"),
        ("101\N{SUBSCRIPT TWO}", "101_{2}"), ("1\N{VULGAR FRACTION ONE HALF}", "1 1/2"),
        (r"\\frac{1}{2}", r"\frac{1}{2}"),
        (r"\begin{matrix}1\\2\end{matrix}", r"\begin{matrix}1\\2\end{matrix}"),
        ("4 3  1", "4 3 1"), ("1,2,...", "1,2,..."),
    ],
)  # fmt: skip
def test_different_spellings_are_normalized_to_one(text, cleaned):
    assert clean(text) == cleaned


def test_cleaning_twice_changes_nothing(cases):
    for line in (cases / "math_pairs.jsonl").read_text().splitlines():
        pair = json.loads(line)
        for text in (pair["gold"], pair["answer"]):
            assert clean(clean(text)) == clean(text)
