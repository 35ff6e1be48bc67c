"""Runs per second of the warm sandbox, against starting bwrap and an interpreter each time.

    python -m benchmarks.sandbox [--runs 10000] [--cold 200] [--data FOLDER]

Both have one worker, the same interpreter and the same trivial test. The time of `python3 -I`
depends on the start-up code of the installation's site-packages; `-S` skips it. Also measured: the
growth of memory over all runs (of this process and of the zygote, from the second thousand on) and
remaining processes; the time to judge calls with long arguments, against a program that reads the
same numbers; and the time for HumanEval's 164 canonical solutions, if the data folder (`--data`, by
default `$DATAENVGYM_DATA`) has them. Writes `benchmarks/results/sandbox.json` and a table.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.common import print_table, write_results
from dataenvgym.sandbox import Limits, Sandbox, open_sandbox
from dataenvgym.sandbox.bubblewrap_command import find_bubblewrap, find_interpreter

TRIVIAL = "assert 1 + 1 == 2"
WARM_UP = 1000
WANTED = {"ratio": 5.0, "median_ms": 5.0, "slope": 1024.0, "humaneval": 10.0}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--cold", type=int, default=200)
    parser.add_argument("--data", type=Path, default=os.environ.get("DATAENVGYM_DATA"))
    options = parser.parse_args(arguments)
    figures: dict[str, Any] = {"cold": cold(options.cold), "bare": cold(options.cold, "-S")}
    figures["warm"] = warm(max(options.runs, 2 * WARM_UP))
    figures["long"] = long_arguments()
    figures["humaneval"] = humaneval(options.data)
    rows = list(table(figures))
    print_table(rows)
    write_results("sandbox", figures)


def cold(runs: int, *flags: str) -> dict[str, Any]:
    """Start bwrap with a fresh interpreter for each run; with -S, one that skips site-packages."""
    interpreter = find_interpreter(None)
    command = [
        *(find_bubblewrap(), "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"),
        *("--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
        *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
        *(word for name in ("/lib", "/lib64", "/bin") for word in ("--ro-bind-try", name, name)),
        *("--ro-bind", interpreter.prefix, interpreter.prefix),
        *(interpreter.program, "-I", *flags, "-c", TRIVIAL),
    ]
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        taken.append(time.perf_counter() - start)
    return {"runs": runs, "a_second": runs / sum(taken), "median_ms": _median_ms(taken)}


def warm(runs: int) -> dict[str, Any]:
    """The same in an open sandbox, with its memory."""
    with open_sandbox() as box:
        _timed(box, WARM_UP)
        zygote = _zygote()
        before = _resident(zygote)
        taken = _timed(box, runs - WARM_UP)
        after = _resident(zygote)
        time.sleep(1)  # processes of a run may need a moment to end
        left = len(psutil.Process().children(recursive=True))
    return {
        "runs": runs,
        "a_second": len(taken) / sum(taken),
        "median_ms": _median_ms(taken),
        "ninety_fifth_ms": 1000 * sorted(taken)[int(0.95 * len(taken))],
        "slope_own": (after[0] - before[0]) / len(taken),
        "slope_zygote": (after[1] - before[1]) / len(taken),
        "processes_beside_the_pool": left - 5,
        "processes_after_closing": len(psutil.Process().children(recursive=True)),
    }


def long_arguments(numbers: int = 300_000, rounds: int = 5) -> dict[str, Any]:
    """Judge a call with so many numbers, and a program that reads them from stdin; median ms."""
    from dataenvgym.domains.code.problem import CallTest, CodeProblem, StdioTest
    from dataenvgym.domains.code.sandboxed_tests import judge

    given: list[Any] = list(range(10**9, 10**9 + numbers))
    call = CodeProblem(entry_point="f", hidden=(CallTest(args=(given,), expected=sum(given)),))
    read = CodeProblem(hidden=(StdioTest(input=str(given), output=str(sum(given))),))
    cases = {
        "call": ("def f(x):\n    return sum(x)\n", call),
        "program": ("import json\nprint(sum(json.loads(input())))\n", read),
    }
    taken: dict[str, list[float]] = {name: [] for name in cases}
    with open_sandbox() as box:
        for _ in range(rounds):
            for name, (code, problem) in cases.items():
                start = time.perf_counter()
                if not judge(code, problem, box, limits=Limits(seconds=60, memory=2**30)).passed:
                    raise RuntimeError(f"the {name} with {numbers} numbers did not pass")
                taken[name].append(time.perf_counter() - start)
    return {
        "numbers": numbers,
        **{f"{name}_ms": _median_ms(times) for name, times in taken.items()},
    }


def humaneval(data: Path | None) -> dict[str, Any] | None:
    """Judge the canonical solutions; None if the data is missing."""
    file = None if data is None else Path(data) / "humaneval" / "HumanEval.jsonl.gz"
    if file is None or not file.exists():
        return None
    from dataenvgym.domains.code.problem import CodeProblem
    from dataenvgym.domains.code.sandboxed_tests import judge
    from dataenvgym.domains.code.task import CodeTask

    task = CodeTask({"test": str(file)}, split="test")
    problems = [instance.data_as(CodeProblem) for instance in task.instances]
    with open_sandbox() as box:
        start = time.perf_counter()
        verdicts = [judge(p.solution, p, box, limits=Limits(seconds=10)) for p in problems]
        taken = time.perf_counter() - start
    return {
        "solutions": len(problems),
        "passed": sum(verdict.passed for verdict in verdicts),
        "seconds": taken,
    }


def table(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures with their targets."""
    slow, fast, code = figures["cold"], figures["warm"], figures["humaneval"]
    bare, long = figures["bare"], figures["long"]
    ratio = fast["a_second"] / slow["a_second"]
    slope = max(fast["slope_own"], fast["slope_zygote"])
    rows: list[tuple[str, float | int | str, str]] = [
        ("bwrap and python3 -I each time, runs a second", slow["a_second"], ""),
        ("bwrap and python3 -I -S each time, runs a second", bare["a_second"], ""),
        ("warm sandbox, runs a second", fast["a_second"], ""),
        ("times as many as with -I", ratio, f"at least {WANTED['ratio']:.0f}"),
        ("times as many as with -I -S", fast["a_second"] / bare["a_second"], ""),
        ("warm sandbox, median ms", fast["median_ms"], f"under {WANTED['median_ms']:.0f}"),
        ("warm sandbox, 95th percentile ms", fast["ninety_fifth_ms"], ""),
        (f"bytes a run over {fast['runs']:,} runs, this process", fast["slope_own"], "under 1,024"),
        ("bytes a run, zygote", fast["slope_zygote"], "under 1,024"),
        ("processes beside the pool afterwards", fast["processes_beside_the_pool"], "0"),
        ("processes after closing", fast["processes_after_closing"], "0"),
        (f"a program that reads {long['numbers']:,} numbers, judged, ms", long["program_ms"], ""),
        ("a call with them, judged, ms", long["call_ms"], ""),
    ]
    held = {
        "ratio": ratio >= WANTED["ratio"],
        "median": fast["median_ms"] < WANTED["median_ms"],
        "slope": slope < WANTED["slope"],
    }
    if code is None:
        rows.append(("HumanEval", "left out: no humaneval/HumanEval.jsonl.gz in --data", ""))
    else:
        name = f"HumanEval's {code['solutions']} canonical solutions, seconds"
        rows.append((name, code["seconds"], f"under {WANTED['humaneval']:.0f}"))
        rows.append(("of them passed", code["passed"], str(code["solutions"])))
        held["humaneval"] = code["seconds"] < WANTED["humaneval"]
    figures["held"] = held
    return [{"": name, "figure": value, "wanted": wanted} for name, value, wanted in rows]


def _timed(box: Sandbox, runs: int) -> list[float]:
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        result = box.run(TRIVIAL)
        taken.append(time.perf_counter() - start)
        if result.status != "ok":
            raise RuntimeError(f"a trivial run ended as {result!r}")
    return taken


def _zygote() -> psutil.Process:
    outer = next(p for p in psutil.Process().children() if p.name() == "bwrap")
    return outer.children()[0].children()[0]


def _resident(zygote: psutil.Process) -> tuple[int, int]:
    gc.collect()
    return psutil.Process().memory_info().rss, zygote.memory_info().rss


def _median_ms(taken: Sequence[float]) -> float:
    return 1000 * statistics.median(taken)


if __name__ == "__main__":
    main()
