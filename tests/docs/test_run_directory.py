"""The page on the run directory has every file of real runs, evaluations and studies."""

import re
from pathlib import Path

import pytest

from dataenvgym.cli.main import main
from dataenvgym.workspace import FORMAT

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "run_directory.md").read_text()
SMALL = [
    "task.n_train=60",
    "task.n_validation=20",
    "task.n_test=20",
    "agent.records_per_iteration=20",
    "episode.iterations=1",
    "trainer.num_train_epochs=1",
]


def described(part: str) -> set[str]:
    """The names in the first column of the tables below a heading."""
    section = PAGE.partition(f"\n## {part}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, flags=re.MULTILINE)
    return {name.rstrip("/") for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def found(folder: Path) -> set[str]:
    """The files in a folder, with numbers and hashes as the page writes them."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    files = {re.sub(r"\d{3}-\d{4}\.(jsonl?)$", r"SSS-CCCC.\1", file) for file in files}
    return {re.sub(r"(?<=[/-])\d{3}(?=[./])", "NNN", file) for file in files}


def unknown(files: set[str], *tables: set[str]) -> set[str]:
    """The files that none of the tables has, themselves or their folder."""
    names = set().union(*tables)
    parents = {file: {file, *(p.as_posix() for p in Path(file).parents)} for file in files}
    return {file for file in files if not parents[file] & names}


def test_the_format_of_today_is_described():
    assert re.findall(r'"format": (\d+)', PAGE) == [str(FORMAT)]


def test_each_name_on_the_page_is_in_the_code():
    code = "\n".join(file.read_text() for file in (ROOT / "dataenvgym").rglob("*.py"))
    for name in described("Runs") | described("Iterations") | described("Studies"):
        stem = name.rpartition("/")[2] or name
        stem = stem.replace("NNN", "").replace("<run>", "").lstrip(".")
        assert stem in code, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "extra", [["agent=skill_tree", "skills=clusters"], ["student=simulated"]], ids=" ".join
)
def test_each_file_of_a_run_is_described(extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = [s for s in SMALL if extra != ["student=simulated"] or "trainer" not in s]
    assert main(["run", "--plain", *settings, *extra]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    files = found(run)
    iterations = {f.removeprefix("iterations/NNN/") for f in files if f.startswith("iterations/")}
    assert "iteration.json" in iterations
    assert unknown(iterations, described("Iterations")) == set()
    rest = {file for file in files if not file.startswith("iterations/")}
    assert unknown(rest, described("Runs")) == set()


@pytest.mark.slow
def test_each_file_of_an_evaluation_is_described(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["eval", "task=pocket_math", "task.n_validation=20", "--split", "validation"]
    assert main([*command, "samples=2"]) == 0
    (evaluation,) = (tmp_path / "evaluations").iterdir()
    assert main(["rescore", str(evaluation)]) == 0
    known = described("Evaluations")
    files = found(evaluation)
    assert "samples/SSS-CCCC.jsonl" in files
    again = {f.removeprefix("rescored-NNN/") for f in files if f.startswith("rescored-")}
    rest = {f for f in files if not f.startswith("rescored-")}
    assert again
    assert unknown(rest, known) == set()
    row = next(line for line in PAGE.splitlines() if line.startswith("| `rescored-NNN/`"))
    assert all(f"`{file}`" in row for file in again)


@pytest.mark.slow
def test_each_file_of_evaluated_scenes_is_described(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    student = ["student=pocket", "student.path=pocket-social-v1"]
    scenes = ["task=social", "task.scenes=procedural", *student]
    assert main(["eval", *scenes, "--limit", "4"]) == 0
    (evaluation,) = (tmp_path / "evaluations").iterdir()
    files = found(evaluation)
    assert {"episodes.jsonl", "dimensions.json"} < files
    assert unknown(files, described("Evaluations")) == set()
    stored = {file.partition("/")[2].partition("/")[0] for file in files if "episodes/" in file}
    assert stored <= {name.partition("/")[0] for name in described("Stores")}


@pytest.mark.slow
def test_each_file_of_a_study_is_described(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = ["study", "agent=random", "seed=0", "student=simulated", "--plain"]
    assert main([*study, "--no-bounds", "--workers", "1", "episode.iterations=1"]) == 0
    (folder,) = (tmp_path / "studies").iterdir()
    files = {file for file in found(folder) if not file.startswith("runs/")}
    assert "study.json" in files
    assert unknown(files, described("Studies")) == set()
