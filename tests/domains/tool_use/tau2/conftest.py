"""A package with tau2's names, and a data folder in tau2's form."""

import shutil
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def forget_tau2():
    for name in [n for n in sys.modules if n == "tau2" or n.startswith("tau2.")]:
        del sys.modules[name]


@pytest.fixture
def package(monkeypatch):
    """The package is installed, as the only one of its name."""
    monkeypatch.delenv("TAU2_DATA_DIR", raising=False)
    forget_tau2()
    monkeypatch.syspath_prepend(str(HERE / "package"))
    yield
    forget_tau2()


@pytest.fixture
def data(package, tmp_path, monkeypatch):
    """A data folder of one's own, that the package reads."""
    shutil.copytree(HERE / "data", tmp_path / "data")
    monkeypatch.setenv("TAU2_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"
