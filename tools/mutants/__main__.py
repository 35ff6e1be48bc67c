"""Does the fast suite notice as many faults as it did? `make mutants`, `python -m tools.mutants`.

`drawn.jsonl` has 300 small faults, drawn once over all rooms in proportion to their code lines, and
the test that noticed each. For a commit (HEAD, if none is named) the command says how many of them
its code can still have, and how many of these its tests notice, and names those that are not
noticed any more; it fails if there are any. Either a test was lost, or the line means the same now.

A fault is first put before the test that noticed it. If that test is gone or passes, the suite runs
once with probes, and the fault is put before tests that come by its line and others of their files,
the cheapest first, up to 20 CPU seconds of them. Verdicts are kept by commit, outside the tree, so
that an interrupted command continues.

    python -m tools.mutants --first 40      # a part of them
    python -m tools.mutants --all --record  # also the others; keep which tests notice them
    python -m tools.mutants --draw BASE     # draw anew, from lines that BASE has, too
"""

from __future__ import annotations

import gc
import hashlib
import json
import signal
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tools.abilities import checkout
from tools.mutants.changes import Mutant, Site, changed, find, sites, watched
from tools.mutants.suite import ROOT, Job, Outcome, Slot, Slots, file_of, prepare, run_all
from tools.ratchet import ROOMS, Package, code_lines, read, room_of

DRAWN = Path(__file__).with_name("drawn.jsonl")
KEPT = Path(tempfile.gettempdir()) / "dataenvgym-mutants"
BUDGET, FILE = 20.0, 0.5
"""CPU seconds of the tests before which a fault is put, and those that a file costs beside them."""
_AT_ONCE = 2
_PART = 15
"""Files of tests that run in one process with probes."""
_ALONE = {"inside", "harness"}
"""Folders of code that runs in sandboxes, where probes do not reach; `_SANDBOXED` test it."""
_SANDBOXED = ("tests/sandbox/", "tests/domains/code/")

Drawn = Mapping[Mutant, str | None]
"""The faults, and the test that noticed each when it was recorded."""


class Verdict(NamedTuple):
    """About a fault in a commit: the test that noticed it, and how many were asked."""

    by: str | None = None
    asked: int = 0


def judged(
    commit: str, drawn: Drawn, wanted: Collection[Mutant]
) -> dict[Mutant, tuple[Site, Verdict]]:
    """The places of those faults that a commit can have, and the verdicts about them."""
    names = {mutant: str(number) for number, mutant in enumerate(drawn)}
    (kept := KEPT / f"{commit}-{_digest([*drawn])}").mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-"))
        slots = [Slot(Path(folder) / str(number), commit) for number in range(_AT_ONCE)]
        for slot in slots:
            stack.callback(slot.close)
        package = read(tree := slots[0].tree)
        found = {names[mutant]: site for mutant, site in find(wanted, package).items()}
        faults = {name: changed(package, site) for name, site in found.items()}
        verdicts = {name: Verdict(*verdict) for name, verdict in _lines(kept / "verdicts")}

        def ask(tests: Mapping[str, Collection[str]], *, is_last: bool) -> None:
            def done(job: Job, outcome: Outcome) -> None:
                if outcome.failed or is_last:
                    by = next(iter(outcome.failed), None)
                    verdicts[job.name] = Verdict(by, len(job.tests))
                    _keep(kept / "verdicts", job.name, verdicts[job.name])
                    print(f"  {len(verdicts)}/{len(found)}: {by or 'unnoticed'}", flush=True)

            jobs = [Job(name, of, faults[name], stops=True) for name, of in tests.items() if of]
            run_all((job for job in jobs if job.name not in verdicts), slots, done)

        known = {names[m]: moved(test, tree) for m, test in drawn.items() if test}
        tests = {name: test for name, test in known.items() if test and name in found}
        sound: set[str] = set()
        once = [Job("known", {*tests.values()})] if tests.keys() - verdicts else []
        run_all(once, slots, lambda _, outcome: sound.update(outcome.seconds))
        ask({name: [test] for name, test in tests.items() if test in sound}, is_last=False)
        if found.keys() - verdicts:
            suite = _probed(kept / f"probed-{_digest([*found])}", package, found, slots)
            chosen = {name: choose(site.mutant.file, suite, name) for name, site in found.items()}
            ask(chosen, is_last=True)
    there = {mutant: name for mutant, name in names.items() if name in found}
    return {mutant: (found[n], verdicts.get(n, Verdict())) for mutant, n in there.items()}


def _probed(kept: Path, package: Package, found: Mapping[str, Site], slots: Slots) -> Outcome:
    """The outcome of the whole suite with probes, run in parts."""
    probes = watched(package, found)
    tree = slots[0].tree
    files = sorted(str(path.relative_to(tree)) for path in tree.glob("tests/**/test_*.py"))
    parts = [files[start : start + _PART] for start in range(0, len(files), _PART)]
    outcomes = {name: Outcome(*outcome) for name, outcome in _lines(kept)}

    def done(job: Job, outcome: Outcome) -> None:
        _keep(kept, job.name, outcome)
        outcomes[job.name] = outcome
        print(f"  {len(outcomes)}/{len(parts)} parts of the suite", flush=True)
        for test in outcome.failed:  # it cannot notice a fault
            print(f"  fails without a fault: {test}", flush=True)

    todo = (Job(part[0], part, probes) for part in parts if part[0] not in outcomes)
    run_all(todo, slots, done)
    seconds, hits = dict[str, float](), defaultdict[str, list[str]](list)
    for outcome in outcomes.values():
        seconds |= outcome.seconds
        for name, tests in outcome.hits.items():
            hits[name] += [test for test in tests if test in outcome.seconds]
    return Outcome(seconds, (), hits)


def choose(file: str, suite: Outcome, name: str) -> list[str]:
    """The tests before which to put a fault of a file, those of its own room first."""
    hits = {*suite.hits.get(name, ())}
    if {*Path(file).parts} & _ALONE:
        hits = {test for test in suite.seconds if test.startswith(_SANDBOXED)}
    own = f"tests/{room_of(Path(file))}/"
    cost = defaultdict[str, float](float)
    for test in hits:
        cost[file_of(test)] += suite.seconds[test]

    def order(test: str) -> tuple[bool, bool, float, str]:
        file = file_of(test)
        return test not in hits, not test.startswith(own), cost[file], file

    left, taken, files = BUDGET, list[str](), set[str]()
    for test in sorted((test for test in suite.seconds if file_of(test) in cost), key=order):
        price = suite.seconds[test] + FILE * (file_of(test) not in files)
        if price <= left:
            left -= price
            taken.append(test)
            files.add(file_of(test))
    return taken


def moved(test: str, tree: Path) -> str | None:
    """The test's name in a tree, where its file may have another place."""
    file, _, name = test.partition("::")
    function = name.partition("[")[0].rpartition("::")[2]
    files = [tree / file, *sorted(tree.glob("tests/**/test_*.py"))]
    there = (path for path in files if path.exists() and f"def {function}(" in path.read_text())
    return next((f"{path.relative_to(tree)}::{name}" for path in there), None)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]


def _lines(kept: Path) -> list[Any]:
    """What an interrupted command kept; a line that it did not finish is not there."""
    lines = kept.read_text().splitlines(keepends=True) if kept.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _keep(kept: Path, *value: object) -> None:
    with kept.open("a") as file:
        file.write(json.dumps(value) + "\n")


def draw(package: Package, other: Package, number: int = 300) -> list[Mutant]:
    """Faults of a package that the other one can have, too; each kind is as likely."""
    there = {site.mutant[1:] for site in sites(other)}
    lines = Counter[str]()
    for path, module in package.items():
        lines[room_of(path)] += code_lines(module)
    pools = defaultdict[str, dict[str, list[Mutant]]](lambda: defaultdict(list))
    for mutant in (site.mutant for site in sites(package)):
        if mutant[1:] in there:
            pools[room_of(Path(mutant.file))][mutant.kind].append(mutant)
    random = Random(39)
    found: dict[tuple[str, str], Mutant] = {}
    for room in ROOMS:
        wanted = len(found) + round(number * lines[room] / lines.total())
        while len(found) < wanted:
            one = random.choice(pools[room][random.choice([*pools[room]])])
            found.setdefault((one.function, one.line), one)
    return random.sample([*found.values()], len(found))


def report(judged: Mapping[Mutant, tuple[Site, Verdict]], drawn: Drawn) -> Iterator[str]:
    """For each room: faults drawn, judged in this commit, of these noticed before and now."""
    yield f"{'':<14}{'drawn':>8}{'judged':>8}{'noticed before':>16}{'now':>6}"
    for room in (*ROOMS, "all"):
        of = [mutant for mutant in drawn if room in ("all", room_of(Path(mutant.file)))]
        there = [mutant for mutant in of if mutant in judged]
        before = sum(drawn[mutant] is not None for mutant in there)
        now = sum(judged[mutant][1].by is not None for mutant in there)
        yield f"{room:<14}{len(of):>8}{len(there):>8}{before:>16}{now:>6}"
    for mutant, (site, verdict) in judged.items():
        if verdict.by is None:
            known = f"; before by {drawn[mutant]}" if drawn[mutant] else ""
            place = f"{site.mutant.file}:{site.number}"
            change = f"{mutant.before}  ->  {mutant.after}"
            yield f"unnoticed by {verdict.asked} tests{known}: {place} {change}"


def _commit(name: str) -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--verify", f"{name}^{{commit}}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _write(drawn: Drawn) -> None:
    lines = (json.dumps([*mutant, by]) + "\n" for mutant, by in drawn.items())
    DRAWN.write_text("".join(lines))


def main() -> int:
    """Judge a commit; 1 if its tests do not notice a fault that tests noticed before."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", default="HEAD", type=_commit)
    parser.add_argument("--first", type=int, default=300, metavar="N")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--draw", action="store_true")
    arguments = parser.parse_args()
    if arguments.draw:
        with checkout(arguments.commit) as tree:
            _write(dict.fromkeys(draw(read(), read(tree))))
        return 0
    lines = map(json.loads, DRAWN.read_text().splitlines())
    drawn = {Mutant(*mutant): by for *mutant, by in lines}
    wanted = [mutant for mutant in [*drawn][: arguments.first] if arguments.all or drawn[mutant]]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Ctrl-C: runs end, checkouts go
    prepare()
    found = judged(arguments.commit, drawn, wanted)
    print(*report(found, drawn), sep="\n", flush=True)
    if arguments.record:
        _write({**drawn, **{mutant: verdict.by for mutant, (_, verdict) in found.items()}})
    return int(any(drawn[mutant] and not verdict.by for mutant, (_, verdict) in found.items()))


if __name__ == "__main__":
    gc.disable()
    sys.exit(main())
