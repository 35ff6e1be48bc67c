"""Tests that write modules of the same name do not see each other's, in whatever order they run."""

import importlib

import pytest


@pytest.mark.parametrize("value", [1, 2, 3])
def test_a_module_is_the_one_that_this_test_wrote(tmp_path, monkeypatch, value):
    (tmp_path / "same_name.py").write_text(f"VALUE = {value}\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("same_name")
    assert value == module.VALUE
