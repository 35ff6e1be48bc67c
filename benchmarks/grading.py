"""Answers graded per second: `grade_pairs` against plain math-verify, on the same pairs.

    python -m benchmarks.grading [--per-kind 20] [--repetitions 3] [--seed 0]

All grade textually unique pairs of the kinds below. The pairs are new for every repetition, so
caches do not help; each grader is warmed up on other pairs. Plain math-verify runs in this process
without time limits: once on answers between dollar signs, as intended (`plain`), and once on the
bare text (`bare`), which is faster because it finds few formulas. Most kinds (numbers, units, text)
are decided at once. Kinds that always go to the worker processes are a second set, reported
separately, as is the waiting time of pairs next to one that has to be killed. Writes
`benchmarks/results/grading.json` and a table to standard output.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from dataenvgym.tasks.scoring import grade_pairs
from dataenvgym.tasks.scoring.grading import settle

RESULTS = Path(__file__).parent / "results" / "grading.json"
KILL_LIMIT = 2.0

Pair = tuple[str, str, bool]
"""gold, answer, whether they are equal."""

Templates = Callable[[Random], list[Pair]]
Grader = Callable[[Sequence[tuple[str, str]]], list[bool]]
Figures = dict[str, float]


def _int(rng: Random) -> int:
    return rng.randint(2, 99_999)


def _word(rng: Random) -> str:
    return "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(4))


def _templates(rng: Random) -> list[Pair]:
    """One pair of every kind, with random numbers, letters and words."""
    a, b, c = _int(rng), _int(rng), _int(rng)
    low, high = sorted(rng.sample(range(-50_000, 50_000), 2))
    d, e = rng.randint(1, 9), rng.randint(1, 9)
    x, y = rng.sample("xyzabckmnpqrtuvw", 2)
    tens, power = rng.randint(10, 9999), rng.randint(5, 300)
    word, letter, name = _word(rng), rng.choice("ABCDE"), _word(rng).title()
    choices = ",".join(f"({choice})" for choice in rng.sample("ABCDEFGHJK", 5))
    return [
        (f"\\frac{{{d}}}{{{e}}}+{a}", f"\\frac{d}{e}+{a}", True),
        (f"\\frac{{{a}}}{{{b}}}", f"{a}/{b}", True),
        (f"\\frac{{{a}}}{{{b}}}", f"\\tfrac{{{a}}}{{{b}}}", True),
        (str(a * 1000 + 1), f"{a * 1000 + 1:,}".replace(",", "{,}"), True),
        (str(a), f"{a}.0", True),
        (str(a), f"${a}", True),
        (str(a), f"{a}\\text{{ inches}}", True),
        (str(a), f"{a}^\\circ", True),
        (f"{a}+\\sqrt{{{d}}}", f"{a}+\\sqrt{d}", True),
        (f"\\frac{{{a}\\sqrt{{2}}}}{{2}}", f"\\frac{{{a}}}{{\\sqrt{{2}}}}", True),
        (f"[{low},{high})", f"[{low},{high}]", False),
        (f"({a},{a + d})", f"({a + d},{a})", False),
        (f"{a}{x}+{b}", f"{b}+{a}{x}", True),
        (f"\\text{{{choices}}}", choices, True),
        (f"\\text{{{name}}}", name, True),
        (f"-\\frac{{{a}}}{{{b}}}", f"\\frac{{-{a}}}{{{b}}}", True),
        (f"{a}\\pi", f"\\pi {a}", True),
        (f"{a},{b}", f"{a} \\text{{ and }} {b}", True),
        (f"({low},\\infty)", f"({low}, \\infty)", True),
        (f"2^{{{power}}}", str(2**power), True),
        (f"{tens:b}_2", f"{tens:b}", False),
        (f"{a} \\text{{ m}}", str(a), True),
        (f"{a}.{d}0", f"{a}.{d}", True),
        (str(a), f"{a}.", True),
        (f"[{low},{high}]", f"{low}\\le x\\le {high}", True),
        (f"{a}\\sin^2 {x}+{a}\\cos^2 {x}", str(a), True),
        (f"x\\ge {a}", f"x \\geq {a}", True),
        (f"\\left({a},\\frac{{\\pi}}{{{b}}}\\right)", f"({a},\\frac{{\\pi}}{{{b}}})", True),
        (f"\\frac{{{a * (b + 1) + b}}}{{{b + 1}}}", f"{a}\\frac{{{b}}}{{{b + 1}}}", True),
        (f"[{low},{high})", f"({low},{high}]", False),
        (f"{a}\\sqrt2", f"{a}\\sqrt{{2}}", True),
        (f"{a}\\text{{ square units}}", str(a), True),
        (f"{word}", f"{word[::-1]}", word == word[::-1]),
        (f"{a}{b}", f"({a},{b})", False),
        (f"{a}{x}", f"{a}{y}", False),
        (f"0.{a}", f".{a}", True),
        (f"{a}.0 \\text{{ cm}}^2", str(a), True),
        (f"\\text{{{letter},{name}}}", f"{letter},{name}", True),
        (f"{a}\\sqrt{{{d}}}", f"{a} \\sqrt {d}", True),
        (f"-{a}", f"\N{MINUS SIGN}{a}", True),
        (f"{3 * a + 1}/3", f"{(3 * a + 1) / 3:.2f}", False),
        (f"{a}\\sqrt2", f"{a * 2**0.5:.3f}", False),
        (str(a), f"{a} dollars", True),
        (f"\\{{{a},{b}\\}}", f"\\{{{b},{a}\\}}", True),
        (f"[{low},{high})", f"[{low},{high}]", False),
        (f"{x}+{y}={a}", f"{y}={a}-{x}", True),
        (f"{a},{b},{c}", f"({a},{b},{c})", True),
        (choices.replace("(", "").replace(")", ""), choices, True),
        (word, word.title(), True),
        (f"e^{{{2 * a + 1}i\\pi}}", "-1", True),
        (f"\\frac{{1}}{{2^{{{power + 1}}}}}", f"\\frac{{1}}{{2^{{{power}}}}}", False),
        (str(a), "", False),
        (f"0\\cdot {a}", f"-0\\cdot {a}", True),
        (f"{a}/{b}", f"{a * d}/{b * d}", True),
    ]


def _symbolic_templates(rng: Random) -> list[Pair]:
    """One pair of every kind that needs sympy."""
    a, b, c = rng.randint(2, 999), rng.randint(2, 999), rng.randint(2, 999)
    x = rng.choice("xyzabckmnpqrtuvw")
    return [
        (f"{a}\\sin 2{x}", f"{2 * a}\\sin {x}\\cos {x}", True),
        (f"{a}\\ln {b * b}", f"{2 * a}\\ln {b}", True),
        (f"{a}+\\binom{{{b}}}{{2}}", str(a + b * (b - 1) // 2), True),
        (f"{a}+\\sqrt[3]{{{b**3}}}", str(a + b), True),
        (f"{a}+|{{-{b}}}|", str(a + b), True),
        (
            f"\\begin{{pmatrix}}{a}\\\\{b}\\end{{pmatrix}}",
            f"\\begin{{pmatrix}}{b}\\\\{a}\\end{{pmatrix}}",
            a == b,
        ),
        (f"{x}={a}{x}^2-{c}", f"{a}{x}^2-{x}-{c}=0", True),
        (f"{a}\\pi", f"{a * 3.14159265358979:.8f}", True),
    ]


def unique_pairs(
    templates: Templates, rng: Random, per_kind: int, seen: set[tuple[str, str]]
) -> list[Pair]:
    """`per_kind` pairs of every kind whose text is not in `seen`, which they join."""
    pairs: list[Pair] = []
    for kind in range(len(templates(rng))):
        found = 0
        while found < per_kind:
            pair = templates(rng)[kind]
            if pair[:2] not in seen:
                seen.add(pair[:2])
                pairs.append(pair)
                found += 1
    rng.shuffle(pairs)
    return pairs


@dataclass(frozen=True, slots=True)
class Throughput:
    """One grader over a set of pairs: pairs per second, and the share of intended verdicts."""

    per_second: float
    as_intended: float


def _grade_ours(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    return [verdict.equal for verdict in grade_pairs(pairs)]


def _grade_plain(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    return _grade_bare([(f"${gold}$", f"${answer}$") for gold, answer in pairs])


def _grade_bare(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    from math_verify import parse, verify

    return [
        verify(
            parse(gold, parsing_timeout=None),
            parse(answer, parsing_timeout=None),
            timeout_seconds=None,
        )
        for gold, answer in pairs
    ]


GRADERS: dict[str, Grader] = {"ours": _grade_ours, "plain": _grade_plain, "bare": _grade_bare}


def measure(grade: Grader, batches: Sequence[Sequence[Pair]]) -> Throughput:
    """One grader over all batches."""
    seconds, right = 0.0, 0
    for batch in batches:
        texts = [(gold, answer) for gold, answer, _ in batch]
        start = time.perf_counter()
        verdicts = grade(texts)
        seconds += time.perf_counter() - start
        right += sum(got == pair[2] for got, pair in zip(verdicts, batch, strict=True))
    count = sum(map(len, batches))
    return Throughput(count / seconds, right / count)


def compare(name: str, templates: Templates, rng: Random, options: argparse.Namespace) -> Figures:
    """All graders, one after the other, on the same pairs of one set of kinds."""
    seen = set[tuple[str, str]]()
    warm_up = unique_pairs(templates, rng, 2, seen)
    batches = [
        unique_pairs(templates, rng, options.per_kind, seen) for _ in range(options.repetitions)
    ]
    results = {}
    for grader, grade in GRADERS.items():
        measure(grade, [warm_up])
        results[grader] = measure(grade, batches)
    figures: Figures = {
        "pairs": sum(map(len, batches)),
        "to_workers": sum(settle(*pair[:2]) is None for batch in batches for pair in batch),
    }
    for grader, throughput in results.items():
        figures[f"{grader}_per_second"] = throughput.per_second
        figures[f"{grader}_as_intended"] = throughput.as_intended
    for grader in ("plain", "bare"):
        figures[f"times_{grader}"] = results["ours"].per_second / results[grader].per_second
    _report(name, figures)
    return figures


def neighbor_latency(rng: Random) -> Figures:
    """Seconds for 20 symbolic pairs, alone and together with pairs that have to be killed."""

    def neighbors() -> list[tuple[str, str]]:
        numbers = [_int(rng) for _ in range(20)]
        return [(f"{n}+\\sqrt[3]{{8}}", str(n + 2)) for n in numbers]

    def seconds() -> float:
        start = time.perf_counter()
        grade_pairs(neighbors())
        return time.perf_counter() - start

    seconds()
    alone = seconds()
    start = time.perf_counter()
    grade_pairs([("5", "9^{9^{9^{9}}}")])
    guarded = time.perf_counter() - start
    hanging = threading.Thread(
        target=grade_pairs, args=([("5", "9^{9^{9^{9}}}+1")],), kwargs={"time_limit": KILL_LIMIT}
    )
    hanging.start()
    time.sleep(0.1)
    beside = seconds()
    hanging.join()
    return {"alone": alone, "beside_a_hanging_pair": beside, "tower_of_powers": guarded}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="answers graded a second")
    parser.add_argument("--per-kind", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    logging.getLogger("math_verify").setLevel(logging.ERROR)

    rng = Random(options.seed)
    sets = {"mixture": _templates, "need sympy": _symbolic_templates}
    results = {name: compare(name, kinds, rng, options) for name, kinds in sets.items()}
    latency = neighbor_latency(rng)
    _report("seconds for 20 symbolic pairs", latency)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**results, "seconds": latency}, indent=2) + "\n")
    return 0


def _report(title: str, figures: Figures) -> None:
    sys.stdout.write(f"{title}\n")
    for name, figure in figures.items():
        sys.stdout.write(f"  {name.replace('_', ' '):24}{figure:12.3f}\n")


if __name__ == "__main__":
    sys.exit(main())
