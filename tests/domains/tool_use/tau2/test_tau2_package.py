"""The user's package tau2 and its data: errors name a missing part and the solution."""

import shutil
import sys

import pytest

from dataenvgym.domains.tool_use.tau2.package import Tau2Package
from dataenvgym.errors import ConfigurationError
from tests.domains.tool_use.tau2.conftest import HERE, forget_tau2


def test_without_the_package_the_error_says_where_it_comes_from(monkeypatch):
    forget_tau2()
    monkeypatch.setitem(sys.modules, "tau2", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="sierra-research"):
        Tau2Package("telecom")


def test_another_package_of_that_name_is_refused(monkeypatch, tmp_path):
    forget_tau2()
    (tmp_path / "tau2").mkdir()
    (tmp_path / "tau2" / "__init__.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ConfigurationError, match="another"):
        Tau2Package("telecom")
    forget_tau2()


@pytest.fixture
def fork(data, tmp_path, monkeypatch):
    """A package of one's own, to change."""
    shutil.copytree(HERE / "package" / "tau2", tmp_path / "fork" / "tau2")
    monkeypatch.syspath_prepend(str(tmp_path / "fork"))
    forget_tau2()
    yield tmp_path / "fork" / "tau2" / "domains"
    forget_tau2()


def test_every_installed_domain_can_be_chosen(fork, data):
    shutil.copytree(fork / "telecom", fork / "banking_knowledge")
    shutil.copytree(data / "tau2/domains/telecom", data / "tau2/domains/banking_knowledge")
    assert Tau2Package("banking_knowledge").domain == "banking_knowledge"
    with pytest.raises(ConfigurationError, match="you mean"):
        Tau2Package("telcom")
    (data / "tau2/domains/telecom/policy.md").unlink()
    with pytest.raises(ConfigurationError, match="policy"):
        Tau2Package("telecom")
    shutil.rmtree(fork)
    with pytest.raises(ConfigurationError, match="domains"):
        Tau2Package("telecom")


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("def get_environment():", "def make_environment():", "get_environment"),
        ("def get_environment():", "def get_environment(llm):", "TypeError.*llm"),
        ("def get_db_hash", "def db_hash", "get_db_hash"),
        ("import hashlib", "import nothing_of_this_name", "bench"),
    ],
)
def test_a_fork_of_another_shape_is_named(fork, old, new, match):
    path = fork / "telecom" / "environment.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ConfigurationError, match=match):
        Tau2Package("telecom")


def test_options_of_a_domain_are_arguments_of_its_environment(fork):
    path = fork / "telecom" / "environment.py"
    path.write_text(path.read_text().replace("get_environment():", "get_environment(*, variant):"))
    assert Tau2Package("telecom", options={"variant": "bm25"}).domain == "telecom"
    with pytest.raises(ConfigurationError, match="kind"):
        Tau2Package("telecom", options={"kind": "x"})


def test_a_folder_without_domains_is_refused(package, monkeypatch, tmp_path):
    monkeypatch.setenv("TAU2_DATA_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError, match="_DATA_DIR"):
        Tau2Package("telecom")
