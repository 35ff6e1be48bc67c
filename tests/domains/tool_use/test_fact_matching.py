"""Whether a text contains the required information."""

import pytest

from dataenvgym.domains.tool_use.fact_matching import says


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("it costs 10.00 dollars", "10"),
        ("USD 10", "$10"),
        ("10 €", "€10.00"),
        ("$1,234.50", "1234.5"),
        ("1000 items", "1,000"),
        ("it is \u22125 degrees", "-5"),
        ("-$5", "-5"),
        ("3-5 days", "5"),
        ("10kg", "10 kg"),
        ("10 per cent", "10%"),
        (".5", "0.5"),
        ('"45.5"', "45.5"),
        ("price:45.5", "45.5"),
        ("rule 3: food is not returned", "rule 3"),
        ("on January 5th, 2026", "2026-01-05"),
        ("2026-01-05T09:30:00Z", "5 Jan 2026"),
        ("2026-01-05T09:30:00Z", "9:30"),
        ("at 2:30 p.m.", "14:30"),
        ("It\u2019s \u2018done\u2019.Bye", "it's done"),
        ("a two-seat sofa", "Two  seat"),
        ("`order_3`'s state", "order_3"),
        ("ann@example.com.", "ann@example.com"),
        ("call 01234", "01234"),
        ("GRÖSSE", "größe"),
    ],
)
def test_the_same_in_another_form_is_said(text, wanted):
    assert says(text, wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("100", "10"),
        ("1,000", "1"),
        ("10.5", "10"),
        ("-10", "10"),
        ("10%", "10"),
        ("€10", "$10"),
        ("10k", "10"),
        ("10/12", "10"),
        ("9:30 pm", "9:30"),
        ("2026-10-01", "10"),
        ("5 January 2027", "2026-01-05"),
        ("order_10", "10"),
        ("12A", "12"),
        ("01234", "1234"),
        ("version 10.2.3", "10.2"),
        ("cancelled", "cancel"),
        ("red, then a lamp", "red lamp"),
        ("anything", ""),
    ],
)
def test_other_words_are_not_said(text, wanted):
    assert not says(text, wanted)
