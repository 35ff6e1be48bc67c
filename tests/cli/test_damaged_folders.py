"""Every command on a folder of which one file was replaced by something else, on purpose or not."""

import os
import random
import shutil
import signal
from contextlib import contextmanager
from itertools import pairwise

import pytest

BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmno")
)
TEXTS = {
    "nothing": "",
    "null": "null\n",
    "numbers": "[1, 2]\n",
    "text": "lorem ipsum\n",
    "lists": "[" * 100_000,
    "objects": '{"a":' * 100_000,
    "yaml lists": "a: " + "[" * 100_000,
    "aliases": BOMB,
    "references": "a: '" + "${" * 100_000 + "'\n",
    "a number without end": "1" * 2_000_000,
    "code": 'a: !!python/object/apply:os.system ["touch SPRUNG"]\n',
}
RUN = ("show runs/bad", "show runs/bad --calls", "show runs/bad --iteration 1", "report runs/bad",
       "compare runs/good runs/bad", "export runs/bad --output exported", "attribute runs/bad",
       "export runs/bad --adapter --output exported", "eval --run runs/bad name=new", "show nosuch",
       "run name=bad student=simulated --dry")  # fmt: skip
EVALUATION = ("rescore evaluations/bad", "summary", "compare evaluations/good evaluations/bad",
              "eval name=bad student=simulated --dry", "rescore nosuch")  # fmt: skip


def pipe(path):
    os.mkfifo(path)


def sparse(path):
    path.touch()
    os.truncate(path, 50 * 2**30)


KINDS = {
    **{n: lambda path, text=text: path.write_text(text) for n, text in TEXTS.items()},
    "bytes": lambda path: path.write_bytes(bytes(range(256)) * 100),
    "pipe": pipe,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "sparse": sparse,
    "folder": lambda path: path.mkdir(),
    "link to itself": lambda path: path.symlink_to(path),
    "link elsewhere": lambda path: path.symlink_to("/etc/passwd"),
}


@pytest.fixture
def folders(dataenvgym, folder):
    """A run and an evaluation, as `runs/good` and `evaluations/good`."""
    options = ("student=simulated", "task=pocket_math", "task.n_validation=8", "task.n_test=8")
    made = ("episode.iterations=1", "agent.records_per_iteration=6", "name=good")
    assert dataenvgym("run", *options, *made).code == 0
    assert dataenvgym("eval", *options, "name=good").code == 0
    return {
        folder / "runs": RUN,
        folder / "evaluations": EVALUATION,
    }


@contextmanager
def interrupted_if_it_hangs(what):
    def fail(*_):
        raise TimeoutError(what)

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def mutants(folders):
    """Each file of a folder, each thing in its place, each command on it."""
    for folder, commands in folders.items():
        files = (p.relative_to(folder / "good") for p in (folder / "good").rglob("*"))
        for file in sorted(files):
            for kind in KINDS:
                for command in commands:
                    yield folder, file, kind, command


def check(folder, file, kind, command, dataenvgym, root):
    bad = folder / "bad"
    shutil.rmtree(bad, ignore_errors=True)
    for made in ("exported", "evaluations/new"):
        shutil.rmtree(root / made, ignore_errors=True)
    shutil.copytree(folder / "good", bad)
    if (bad / file).is_dir():
        shutil.rmtree(bad / file)
    else:
        (bad / file).unlink()
    KINDS[kind](bad / file)
    what = f"{file} is {kind}: {command}"
    with interrupted_if_it_hangs(what):
        result = dataenvgym(*command.split())
    assert result.code in (0, 2), (what, result.err[-2000:])
    assert "Traceback" not in result.err, what
    assert "root:" not in result.out + result.err, what
    assert not (root / "SPRUNG").exists(), what


@pytest.mark.parametrize("n", [pytest.param(150, marks=pytest.mark.slow), 12])
def test_no_file_of_a_folder_stops_a_command(dataenvgym, folders, folder, n):
    for place, file, kind, command in random.Random(n).sample([*mutants(folders)], n):
        check(place, file, kind, command, dataenvgym, folder)


def test_links_of_a_received_folder_lead_nowhere_else(dataenvgym, folders, folder, as_received):
    elsewhere = folder / "elsewhere"
    (folder / "runs").rename(elsewhere)
    (folder / "runs").symlink_to(elsewhere)  # the user's own disk
    run, written = elsewhere / "good", folder / "mine.txt"
    written.write_text("mine")
    (run / "attribution").symlink_to(folder)
    (run / "report.md").unlink()
    (run / "report.md").symlink_to(written)
    (run / "again.json").symlink_to("summary.json")
    assert dataenvgym("report", "good").code == 0  # links of one's own
    assert written.read_text() == "mine"
    as_received()
    for command in (("show", "good"), ("attribute", "good"), ("eval", "--run", "good")):
        dataenvgym.refuses("is a link", *command)
    (run / "attribution").unlink()
    (run / "report.md").unlink()
    assert dataenvgym("show", "good").code == 0
    (folder / "evaluations" / "good" / "samples.json").symlink_to(written)
    for command in (("rescore", "good"), ("summary",)):
        dataenvgym.refuses("is a link", *command)
