import random

import pytest

from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.environments.overlap import (
    RUN,
    EvaluatedProblems,
    EvaluationOverlap,
    distinctive_runs,
    runs_of,
    words_and_stops,
)
from dataenvgym.records import SupervisedDatum, TaskInstance, TextDatum
from dataenvgym.tasks import Task

PROBLEM = (
    "Every evening the farmer counts 17 cows and 4 horses in her meadow beside the river, and then "
    "she writes the sum into a red book. Which number does she write?"
)
SOLUTION = (
    "The cows are seventeen and the horses are four, so that the sum which goes into the red book "
    "on that evening is twenty-one"
)


def record(instruction: str, output: str = "#### 1") -> SupervisedDatum:
    return SupervisedDatum(instruction=instruction, output=output)


def test_thirteen_words_in_common_overlap_and_twelve_do_not():
    overlap = EvaluationOverlap([PROBLEM])
    words = PROBLEM.split()
    assert record(f"Once {' '.join(words[5:18])}, they say") in overlap
    assert record(f"Once {' '.join(words[5:17])}, they say") not in overlap


def test_a_long_answer_counts_and_a_short_one_does_not():
    overlap = EvaluationOverlap(["What is it?"], answers=[SOLUTION, "twenty one"])
    assert record("Solve this", SOLUTION) in overlap
    assert record("Say twenty one", "twenty one") not in overlap


def test_problems_of_all_lengths_are_found_as_by_a_search_over_all_of_them():
    rng = random.Random(1)
    alphabet = [*"abcdef", "1", "2", "."]
    problems = [" ".join(rng.choices(alphabet, k=rng.randrange(1, 9))) for _ in range(60)]
    overlap = EvaluationOverlap(problems, overlap_key=lambda text: f"<{text}>")
    split = [words_and_stops(p.rstrip(" \n.?!")) for p in problems]
    held = [words for words in split if len(words) >= 4]

    def holds(text: str) -> bool:
        words = [*words_and_stops(text), ""]
        return any(
            words[i : i + len(p)] == p and not words[i + len(p)].isdigit()
            for p in held
            for i in range(len(words) - len(p))
        )

    texts = [" ".join(rng.choices(alphabet, k=25)) for _ in range(400)]
    found = [TextDatum(text=text) in overlap for text in texts]
    assert found == [holds(text) for text in texts]
    assert 10 < sum(found) < 390


def test_answers_that_a_domain_excludes_from_the_check_are_not_overlap():
    class Formal(MathDomain):
        word_runs_identify = ("problem",)

    class Odd(Task):
        def load(self, split):
            return [TaskInstance(id="a", task="odd", instruction="What is it?", answer=SOLUTION)]

    assert record("Tell", SOLUTION) in EvaluatedProblems(Odd(domain=MathDomain())).overlap()
    assert record("Tell", SOLUTION) not in EvaluatedProblems(Odd(domain=Formal())).overlap()


def test_runs_of_words_are_not_overlap_in_a_domain_whose_problems_share_them():
    class Shared(MathDomain):
        word_runs_identify = ()

    shown = " ".join(map(str, range(100, 130)))

    class Odd(Task):
        def load(self, split):
            return [TaskInstance(id="a", task="odd", instruction=shown, answer=SOLUTION)]

    part = shown.partition(" 120")[0]
    own, shared = (EvaluatedProblems(Odd(domain=d())).overlap() for d in (MathDomain, Shared))
    for partly in (record(part), record("Tell", SOLUTION)):
        assert partly in own
        assert partly not in shared
    assert record(f"Tell {shown}") in shared


# --- runs of words ---

WORDS = [f"w{i}" for i in range(500)]
BOILERPLATE = WORDS[:15]
MANY = [[*BOILERPLATE, *WORDS[20 * i : 20 * i + 20]] for i in range(1, 12)]


def sequences(text: list[str]) -> set[tuple[str, ...]]:
    return {tuple(text[i : i + RUN]) for i in range(len(text) - RUN + 1)}


def test_runs_are_found_as_by_a_search_over_all_of_them():
    rng = random.Random(0)
    texts = [rng.choices(WORDS, k=rng.randrange(60)) for _ in range(200)]
    held = set().union(*map(sequences, texts))
    runs = distinctive_runs(texts)
    found = 0
    for _ in range(300):
        source = rng.choice([t for t in texts if len(t) >= RUN])
        start = rng.randrange(len(source))
        copied = source[start : start + rng.choice([RUN - 1, RUN, RUN + 3])]
        before = rng.choices(WORDS, k=rng.randrange(20))
        asked = [*before, *copied, "unheard", *rng.choices(WORDS, k=5)]
        has_run = not runs.isdisjoint(runs_of(asked))
        assert has_run == bool(sequences(asked) & held)
        found += has_run
    assert 50 < found < 250


@pytest.mark.parametrize(
    ("texts", "asked", "expected"),
    [
        ([WORDS[:20], WORDS[20:40]], [*WORDS[14:20], *WORDS[20:27]], False),  # of two texts
        ([WORDS[:20], WORDS[20:40]], WORDS[7:20], True),
        (MANY, BOILERPLATE, False),
        (MANY, MANY[4][-14:], True),
        ([*MANY[:2], *([w] * 20 for w in "abcd")], BOILERPLATE, True),  # of two texts only
        ([], WORDS, False),
        ([["short"]], WORDS, False),
    ],
)
def test_a_run_is_within_one_text_and_not_in_many(texts, asked, expected):
    assert distinctive_runs(texts).isdisjoint(runs_of(asked)) is not expected
