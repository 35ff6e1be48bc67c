"""Numbers in JSON keep their digits; all else is read and written as orjson does."""

import json
import random
import re
from decimal import Decimal
from fractions import Fraction

import orjson
import pytest

from dataenvgym.exact_json import dumps, loads

LONG = re.compile(r"\d{16}")


def any_number(rng: random.Random) -> str:
    digits = "".join(rng.choices("0123456789", k=rng.choice((1, 5, 15, 16, 17, 19, 20, 40, 330))))
    whole = rng.choice(("", "-")) + (digits.lstrip("0") or "0")
    near = str(rng.choice((2**63, -(2**63), 2**64, 10**308, 2**53)) + rng.randint(-2, 2))
    point = f"{whole[: rng.randint(1, 20)].rstrip('-') or '7'}.{digits}"
    power = f"{rng.choice('eE')}{rng.choice(('', '+', '-'))}{rng.choice((0, 7, '05', 22, 99, 300))}"
    return rng.choice((whole, near, point, point + power, near + power))


def any_text(rng: random.Random, depth: int = 3) -> str:
    """JSON, or nearly: one in many has a token that JSON does not have."""
    kind = rng.randrange(4) if depth else 0
    if kind == 1:
        return "[" + ", ".join(any_text(rng, depth - 1) for _ in range(rng.randrange(5))) + "]"
    if kind == 2:
        names = rng.choices(("a", "b", "ü", "12345678901234567890"), k=rng.randrange(4))
        return "{" + ",".join(f'"{name}" : {any_text(rng, depth - 1)}' for name in names) + "}"
    odd = ("NaN", "-Infinity", "1e400", "01", '"\\ud800"', '"\t"', "1.", "+1")
    plain = ("true", "null", '"ü\\n"', f'"{any_number(rng)}"', '"-0.5e-0001"')
    tokens = rng.choices((odd, plain), (1, 40))[0]
    return any_number(rng) if rng.random() < 0.7 else rng.choice(tokens)


def outcome(read, data):
    try:
        return read(data)
    except orjson.JSONDecodeError:
        return "refused"


def test_what_orjson_reads_is_read_with_the_integers_of_the_standard_library():
    rng = random.Random(0)
    n_long = n_refused = 0
    for _ in range(5000):
        text = any_text(rng)
        expected = outcome(orjson.loads, text)
        if expected != "refused":
            expected = json.loads(text)
            assert dumps(loads(text)) == dumps(expected)
            assert loads(dumps(expected, option=orjson.OPT_INDENT_2)) == expected
        for data in (text, text.encode()):
            assert repr(outcome(loads, data)) == repr(expected), text
        n_long += LONG.search(text) is not None
        n_refused += expected == "refused"
    assert n_long > 1000
    assert n_refused > 100


def test_numbers_of_rows_print_with_the_value_they_were_written_with():
    rng = random.Random(1)
    n_huge = 0
    for _ in range(5000):
        text = any_number(rng)
        try:
            number = loads(text, as_written=True)
        except orjson.JSONDecodeError:
            continue  # beyond all floats
        assert Fraction(str(number)) == Fraction(text)
        assert number == json.loads(text)
        n_huge += isinstance(number, int) and abs(number) > 10**309
        assert Decimal(dumps([number])[1:-1].decode()) == Decimal(text)
    assert n_huge > 50


def test_what_orjson_writes_keeps_its_bytes_and_what_it_refuses_stays_refused():
    value = {"b": [1.0, 1e22, "ü", None, (True, -0.0)], "a": float("nan")}
    assert dumps(value, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        value, option=orjson.OPT_SORT_KEYS
    )
    assert dumps({"b": 2**64, "a": (0.5, -(2**70))}, option=orjson.OPT_SORT_KEYS) == (
        b'{"a":[0.5,-1180591620717411303424],"b":18446744073709551616}'
    )
    endless: list[object] = [2**64]
    endless.append(endless)
    for odd in (object(), {1: 2}, endless, "\ud800", {"a": {2**70}}):
        with pytest.raises(TypeError):
            dumps([2**64, odd])
    with pytest.raises(ValueError, match="digits"):
        dumps(10**5000)
