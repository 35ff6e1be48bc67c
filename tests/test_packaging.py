"""The sdist and the wheel: complete, well described, and they run away from the checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import dataenvgym

ROOT = Path(__file__).parents[1]
MADE_HERE = {"build", "dist", "site", "runs", "studies", "evaluations", "outputs"}
pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path, path: Path | None = None) -> str:
    """The output of the command; `path` is the folder in which Python finds the package."""
    environment = os.environ | ({} if path is None else {"PYTHONPATH": str(path)})
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with the sdist of this tree, and the wheel that is built from the sdist alone."""
    folder = tmp_path_factory.mktemp("packages")
    source = folder / "source"

    def left_out(at: str, names: list[str]) -> set[str]:
        hidden = {n for n in names if n.startswith(".") and n != ".ci"}
        return hidden | (MADE_HERE if Path(at) == ROOT else {"__pycache__"})

    shutil.copytree(ROOT, source, ignore=left_out)
    run(
        *(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", source),
        folder=folder,
    )
    return folder / "dist"


@pytest.fixture(scope="module")
def installed(packages, tmp_path_factory):
    """The wheel, installed to its own folder; its dependencies are in this environment."""
    folder = tmp_path_factory.mktemp("installed")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    (wheel,) = packages.glob("*.whl")
    run(*pip, "--target", folder, wheel, folder=folder)
    return folder


def test_sdist_and_wheel_are_sound_and_described(packages):
    files = sorted(packages.iterdir())
    assert [f.name for f in files] == [
        f"dataenvgym-{dataenvgym.__version__}-py3-none-any.whl",
        f"dataenvgym-{dataenvgym.__version__}.tar.gz",
    ]
    checked = run(sys.executable, "-m", "twine", "check", "--strict", *files, folder=packages)
    assert checked.count("PASSED") == 2
    with zipfile.ZipFile(files[0]) as wheel:
        (name,) = (n for n in wheel.namelist() if n.endswith("METADATA"))
        told = message_from_bytes(wheel.read(name))
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert "torch>=2.6" in told.get_all("Requires-Dist", [])
    assert {"ray", "redis", "mcp"} <= set(told.get_all("Provides-Extra", []))


def test_the_wheel_holds_each_file_of_the_package_its_configuration_and_its_pins(packages):
    expected = {
        f"{prefix}{path.relative_to(ROOT)}"
        for prefix, top in (("", "dataenvgym"), ("dataenvgym/", "configs"))
        for path in (ROOT / top).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    } | {f"dataenvgym/{p.relative_to(ROOT)}" for p in (ROOT / "external").rglob("*.txt")}
    (path,) = packages.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        shipped = {n for n in wheel.namelist() if ".dist-info/" not in n}
    assert shipped == expected
    assert "dataenvgym/studies/noise_models/pocket_math.json" in shipped
    assert "dataenvgym/configs/suite/teach-v1.yaml" in shipped


def test_the_installed_package_runs_in_an_empty_folder(installed, tmp_path):
    where = "import dataenvgym, dataenvgym.runs.config as c; print(dataenvgym.__file__)\n"
    where += "print(c.config_directory()); print(dataenvgym.run_episode.__name__)"
    found = run(sys.executable, "-c", where, folder=tmp_path, path=installed).splitlines()
    assert found == [
        str(installed / "dataenvgym" / "__init__.py"),
        str(installed / "dataenvgym" / "configs"),
        "run_episode",
    ]
    program = installed / "bin" / "dataenvgym"
    short = ("episode.iterations=1", "agent.records_per_iteration=20")
    small = ("task.n_validation=20", "task.n_test=20", "name=here")
    run(program, "run", *short, *small, folder=tmp_path, path=installed)
    assert "test" in (tmp_path / "runs" / "here" / "report.md").read_text()
    assert "shop" in run(program, "worlds", "list", folder=tmp_path, path=installed)
    assert "vllm" in run(program, "external", "list", folder=tmp_path, path=installed)
    run(program, "new", "agent", "mine", folder=tmp_path, path=installed)
    assert (tmp_path / "mine" / "mine.py").exists()
