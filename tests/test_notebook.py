"""The notebook runs from top to bottom, and its stored outputs are those of such a run."""

import os
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "quickstart.ipynb"


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(notebook: Any) -> list[list[str]]:
    """The output of each code cell. A summary has seconds, which differ from run to run."""
    cells = code_cells(notebook)
    return [[o["text"] for o in cell.outputs if o.get("name") == "stdout"] for cell in cells]


@pytest.fixture
def stored():
    nbformat = pytest.importorskip("nbformat")
    return nbformat.read(NOTEBOOK, as_version=4)


def test_each_cell_has_its_output_and_no_path_of_the_machine_that_ran_it(stored):
    assert all(cell.outputs for cell in code_cells(stored))
    assert stored.cells[-1].cell_type == "markdown"
    text = NOTEBOOK.read_text()
    assert not any(path in text for path in ("site-packages", "/home/", "/tmp/"))


@pytest.mark.slow
def test_the_notebook_runs_and_prints_its_stored_output(stored, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    paths = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    resources = {"metadata": {"path": str(tmp_path)}}
    before = printed(stored)
    nbclient.NotebookClient(stored, timeout=280, resources=resources).execute()
    assert printed(stored) == before
