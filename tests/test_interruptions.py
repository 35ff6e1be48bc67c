"""Commands that are interrupted at any change of their folder, and given again.

A fault is raised in this process before or after a file or folder is renamed or removed, and before
or after the student answers or learns. Then nothing changes any more, as after SIGKILL, until the
same command begins again.
"""

import functools
import json
import os
import random
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from dataenvgym.cli.main import main
from dataenvgym.storage import is_temporary, write_jsonl
from dataenvgym.students.predictors import ScriptedPredictor
from tests.domains.tool_use.test_synthesis import MINE, answers
from tests.my_students import solutions
from tests.processes import python
from tests.run_contents import contents

STUDENT = ("predictor=custom", "predictor._target_=my_students.Wavering")
SIZES = ("task.n_validation=20", "task.n_test=20", "task.n_train=20")
RUN = (
    "run", "--plain", *STUDENT, *SIZES, "agent.records_per_iteration=20", "episode.iterations=2",
    "name=x",
)  # fmt: skip
COMMANDS = {
    "gate": (*RUN, "agent=skill_list", "environment.gate=0.05", "environment.mode=accumulate"),
    "gathering": (
        *RUN, "agent=open_ended", "episode.iterations=4", "environment.generations_per_training=2",
        "environment.replay=5", "episode.test_each=true",
    ),
    "skill_tree": (*RUN, "agent=skill_tree"),
    "eval": (
        "eval", *STUDENT, *SIZES, "samples=2", "metrics=[pass@1,majority@2]", "chunk=7", "name=x",
    ),
    "generate": (
        "generate", *STUDENT, "prompt=question.yaml", "input=rows.jsonl", "seeds=2", "num_chunks=2",
        "sampling.temperature=1.0", "name=x",
    ),
    "study": (
        "study", "--plain", "--name", "x", "--no-bounds", *STUDENT, *SIZES, "executor=in_process",
        "agent=random,skill_list", "agent.records_per_iteration=20", "episode.iterations=1",
    ),
    "adapt": (
        "adapt", "--plain", *STUDENT, "task=pocket_knowledge", "task.n_people=3", "task.n_train=9",
        "task.n_validation=9", "task.n_test=9", "arms.names=[gold,self_edits]", "arms.contexts=2",
        "arms.edits=1", "name=x",
    ),
    "synthesize": (
        "worlds", "synthesize", "library", "teacher=mine.MyTeacher",
        "--theme", "a library", "-n", "6",
    ),
}  # fmt: skip

SMALL_REAL = (*SIZES, "episode.iterations=2", "agent.records_per_iteration=12", "name=x")
REAL = {
    "real": ("run", "--plain", *SMALL_REAL, "agent=skill_list", "environment.replay=5"),
    "real_tree": ("run", "--plain", *SMALL_REAL, "agent=skill_tree"),
    "real_study": (
        "study", "--plain", "--name", "x", "--no-bounds", "--workers", "2", *SMALL_REAL[:-1],
        "agent=random,skill_list",
    ),
}  # fmt: skip
"""With the student and the trainer in this process, or in two processes: only for SIGKILL."""


class Killed(BaseException):
    """Stands for SIGKILL."""


class Faults:
    """Counts changes of files and of the student; once none is `left`, each further one raises."""

    def __init__(self, patch):
        self.left, self.seen = float("inf"), []
        for owner, name in (
            (Path, "replace"), (Path, "rename"), (Path, "unlink"), (shutil, "rmtree"),
            (ScriptedPredictor, "predict"), (ScriptedPredictor, "train"),
        ):  # fmt: skip
            patch.setattr(owner, name, self.faulty(getattr(owner, name)))

    def faulty(self, change):
        @functools.wraps(change)
        def changed(path, *args, **options):
            self.meet(f"before {change.__name__} {path}")
            result = change(path, *args, **options)
            self.meet(f"after {change.__name__} {path}")
            return result

        return changed

    def meet(self, what):
        if self.left <= 0:
            self.kill(what)
        self.left -= 1
        self.seen.append(what)

    def kill(self, what):
        raise Killed(what)

    def command(self, words, left=float("inf")):
        """Give a command, which is killed after so many changes; the number of changes."""
        self.left, self.seen = left, []
        with suppress(Killed):
            assert main(words) == 0
        self.left = float("inf")
        return len(self.seen)


@pytest.fixture
def faults(tmp_path, monkeypatch, pictures_are_shared):
    (tmp_path / "my_students.py").write_text((Path(__file__).parent / "my_students.py").read_text())
    (tmp_path / "question.yaml").write_text("user: '{question}'\n")
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "answers.json").write_text(json.dumps(answers()))
    write_jsonl(tmp_path / "rows.jsonl", ({"question": q} for q in [*solutions()][:7]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("my_students", "mine"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr("dataenvgym.domains.tool_use.audit.compare_processes", lambda tools: None)
    return Faults(monkeypatch)


FOLDERS = ("runs", "evaluations", "generations", "studies", "adaptations", "library")


def results():
    """The files of the workspace, and of the runs of a study, without tables that show seconds."""
    there = [folder for folder in FOLDERS if Path(folder).exists()]
    found = {folder: contents(Path(folder), "study.md", "table.md") for folder in there}
    return {
        f"{folder}/{name}": content
        for folder, files in found.items()
        for name, content in files.items()
        if not is_temporary(Path(folder, name))
    }


def forget():
    """Remove the folders of all commands."""
    for folder in FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize(
    ("first", "seeds"), [(4, 5), pytest.param(9, 60, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_an_interrupted_command_given_again_ends_as_an_undisturbed_one(faults, kind, first, seeds):
    n = faults.command(COMMANDS[kind])
    expected = results()
    assert n > 40
    assert kind != "gate" or "runs/x/iterations/002/refused.jsonl" in expected
    for seed in range(first, first + seeds):
        forget()
        # killed once at its beginning or anywhere, and again while it continues
        for left in (seed % 12, *random.Random(seed).choices(range(n), k=1 + seed % 2)):
            faults.command(COMMANDS[kind], left)
        last = faults.seen[-1:]
        faults.command(COMMANDS[kind])
        assert results() == expected, (seed, last)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", [*COMMANDS, *REAL])
def test_a_command_ended_by_sigkill_ends_as_an_undisturbed_one(faults, kind):
    n = faults.command((COMMANDS | REAL)[kind])
    expected = without_pictures()
    is_real = any(name.endswith("adapter_model.safetensors") for name in expected)
    assert is_real == kind.startswith("real")
    forget()
    for left in random.Random(kind).choices(range(n), k=3):
        program = f"from tests.test_interruptions import die; die({kind!r}, {left})"
        ended = python("-c", program).returncode
        assert ended in (0, -signal.SIGKILL)
    faults.command((COMMANDS | REAL)[kind])
    assert without_pictures() == expected


def without_pictures():
    """The results but the pictures, which another process draws itself."""
    return {name: content for name, content in results().items() if not name.endswith(".png")}


def die(kind, left):
    """Give a command in this process, which is killed after so many changes."""
    sys.path.insert(0, ".")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Faults, "kill", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        Faults(patch).command((COMMANDS | REAL)[kind], left)
