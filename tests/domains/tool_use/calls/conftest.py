"""Small files in the formats of BFCL and API-Bank, and the data sets themselves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.calls_files import write_bfcl, write_dialogues


@pytest.fixture
def bfcl_files(tmp_path):
    """A folder in BFCL's layout: 8 simple problems, and 4 of each other subset."""
    return write_bfcl(tmp_path / "bfcl")


@pytest.fixture
def dialogues(tmp_path):
    """A folder with three dialogues in API-Bank's format."""
    return write_dialogues(tmp_path / "api-bank")


def outside_data(name: str) -> Path:
    folder = Path(os.environ.get("DATAENVGYM_DATA", "/nonexistent")) / name
    if not folder.is_dir():
        pytest.skip(f"needs {name} in the folder that DATAENVGYM_DATA names")
    return folder


@pytest.fixture(scope="session")
def bfcl():
    """The folder with BFCL's files; skips the test where it is absent."""
    return outside_data("bfcl")


@pytest.fixture(scope="session")
def api_bank():
    """The folder with API-Bank's dialogues; skips the test where it is absent."""
    return outside_data("api-bank/level-1-given-desc")


@pytest.fixture
def hasty(tmp_path, monkeypatch):
    """Lets a call in the process of a checkout take one second; called with the program."""

    def hurry(program):
        file = tmp_path / "program.py"
        file.write_text(Path(program.__file__).read_text().replace("SECONDS = 60", "SECONDS = 1"))
        monkeypatch.setattr(program, "__file__", str(file))

    return hurry


def original_verdicts(program, folder, cases):
    """What an original's own checker says of these cases, run in its checkout."""
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(program))],
        cwd=folder,
        input="".join(json.dumps(case) + "\n" for case in cases),
        capture_output=True,
        text=True,
        check=True,
    )
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(cases)
    return found
