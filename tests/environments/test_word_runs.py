import random

from dataenvgym.environments.evaluation_overlap import RUN, WordRuns

ALPHABET = [f"w{i}" for i in range(500)]


def words(rng: random.Random, count: int) -> list[str]:
    return rng.choices(ALPHABET, k=count)


def runs_of(text: list[str]) -> set[tuple[str, ...]]:
    return {tuple(text[i : i + RUN]) for i in range(len(text) - RUN + 1)}


def test_it_finds_the_same_as_a_search_over_all_runs():
    rng = random.Random(0)
    texts = [words(rng, rng.randrange(60)) for _ in range(200)]
    held = set().union(*map(runs_of, texts))
    runs = WordRuns(texts)
    found = 0
    for _ in range(300):
        source = rng.choice([t for t in texts if len(t) >= RUN])
        start = rng.randrange(len(source))
        copied = source[start : start + rng.choice([RUN - 1, RUN, RUN + 3])]
        asked = [*words(rng, rng.randrange(20)), *copied, "unheard", *words(rng, 5)]
        assert runs.has_run_of(asked) == bool(runs_of(asked) & held)
        found += runs.has_run_of(asked)
    assert 50 < found < 250


def test_a_run_that_reaches_from_one_text_into_the_next_is_none():
    first, second = ALPHABET[:20], ALPHABET[20:40]
    assert not WordRuns([first, second]).has_run_of([*first[-6:], *second[:7]])
    assert WordRuns([first, second]).has_run_of(first[-13:])


def test_twelve_words_are_too_few():
    assert not WordRuns([ALPHABET[:12]]).has_run_of(ALPHABET[:12])
    assert not WordRuns([ALPHABET[:30]]).has_run_of(["x", *ALPHABET[:12], "y"])


def test_words_that_are_in_many_texts_are_boilerplate():
    boilerplate = ALPHABET[:15]
    texts = [[*boilerplate, *ALPHABET[20 * i : 20 * i + 20]] for i in range(1, 12)]
    assert not WordRuns(texts).has_run_of(boilerplate)
    assert WordRuns(texts).has_run_of(texts[4][-14:])
    assert WordRuns([*texts[:2], *([w] * 20 for w in "abcd")]).has_run_of(boilerplate)


def test_there_may_be_nothing_to_share():
    assert not WordRuns([]).has_run_of(ALPHABET)
    assert not WordRuns([["short"]]).has_run_of(ALPHABET)
