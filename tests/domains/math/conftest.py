"""Outside data, in the folder that DATAENVGYM_DATA names."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def gsm8k():
    """The folder with GSM8K's train.jsonl and test.jsonl; skips the test where it is absent."""
    folder = Path(os.environ.get("DATAENVGYM_DATA", "/nonexistent")) / "gsm8k"
    if not (folder / "test.jsonl").is_file():
        pytest.skip("needs gsm8k/test.jsonl in the folder that DATAENVGYM_DATA names")
    return folder
