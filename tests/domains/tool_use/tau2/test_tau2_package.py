"""The user's package tau2 and its data: errors name a missing part and the solution."""

import shutil
import sys

import pytest

from dataenvgym.domains.tool_use.tau2.package import load_package
from dataenvgym.errors import ConfigurationError

from .conftest import HERE, forget_tau2


def test_without_the_package_the_error_says_where_it_comes_from(monkeypatch):
    forget_tau2()
    monkeypatch.setitem(sys.modules, "tau2", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"not installed.*Python 3.*sierra-research/tau2"):
        load_package("telecom")


def test_another_package_of_that_name_is_refused(monkeypatch, tmp_path):
    forget_tau2()
    (tmp_path / "tau2").mkdir()
    (tmp_path / "tau2" / "__init__.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ConfigurationError, match=r"no tau2.registry.*not Sierra's.*pip uninstall"):
        load_package("telecom")
    forget_tau2()


def test_an_unknown_domain_is_refused_with_a_guess(data):
    with pytest.raises(ConfigurationError, match=r"'telcom'.*retail, airline.*[Dd]id you mean"):
        load_package("telcom")


def test_a_folder_without_domains_is_refused(package, monkeypatch, tmp_path):
    monkeypatch.setenv("TAU2_DATA_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"no folder tau2/domains: set TAU2_DATA_DIR"):
        load_package("telecom")


def test_by_default_the_folder_next_to_the_sources_is_expected(package):
    with pytest.raises(ConfigurationError, match=r"nowhere.*no folder tau2/domains"):
        load_package("telecom")


def test_a_domain_without_a_file_of_its_data_is_refused(data):
    (data / "tau2" / "domains" / "telecom" / "policy.md").unlink()
    with pytest.raises(ConfigurationError, match=r"misses a file of its data.*policy.md"):
        load_package("telecom")


def test_a_package_without_the_domain_is_refused(data):
    with pytest.raises(ConfigurationError, match=r"'mock' cannot be imported.*tau2-bench"):
        load_package("mock")


def test_the_folder_can_be_an_option(package, tmp_path, monkeypatch):
    monkeypatch.setenv("TAU2_DATA_DIR", "")  # so that it is as before afterwards
    shutil.copytree(HERE / "data", tmp_path / "mine")
    assert load_package("telecom", tmp_path / "mine").tasks_file.is_relative_to(tmp_path / "mine")


def test_a_process_has_one_folder(data, tmp_path):
    load_package("telecom")
    shutil.copytree(data, tmp_path / "other")
    with pytest.raises(ConfigurationError, match=r"already imported tau2 with"):
        load_package("telecom", tmp_path / "other")
