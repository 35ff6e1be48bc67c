"""A reader's own domain as a package, by the `pyproject.toml` that the page shows."""

import subprocess
import sys
import zipfile

import pytest

from dataenvgym.cli.main import main
from tests.docs.pages import blocks

PAGE = "docs/add_a_domain.md"


@pytest.mark.slow
def test_a_domain_is_an_option_in_any_folder_once_its_package_is_installed(folder):
    assert main(["new", "domain", "my_domain"]) == 0
    (project,) = (block.text for block in blocks(PAGE) if block.language == "toml")
    (folder / "my_domain" / "pyproject.toml").write_text(project)
    for name in ("runs", "evaluations"):  # what the commands of the page leave there
        (folder / "my_domain" / name / "one").mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", "wheels", "./my_domain"], check=True)
    (wheel,) = (folder / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
        assert "my_domain.py" in archive.namelist()
    (folder / "elsewhere").mkdir()
    shown = subprocess.run(
        ["dataenvgym", "eval", "--dry", "task=my_domain"],
        cwd=folder / "elsewhere",
        env={"PATH": str(folder), "PYTHONPATH": str(folder / "installed")},
        executable=f"{sys.prefix}/bin/dataenvgym",
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert "How many numbers" in shown.stdout
