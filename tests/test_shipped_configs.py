import pytest

from dataenvgym import registration
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import config_directory


def test_the_files_are_found_in_an_installed_package_too(tmp_path, monkeypatch):
    installed = tmp_path / "dataenvgym"
    (installed / "configs").mkdir(parents=True)
    (installed / "configs" / "config.yaml").touch()
    monkeypatch.setattr(registration, "__file__", str(installed / "registration.py"))
    assert config_directory() == installed / "configs"
    (installed / "configs" / "config.yaml").unlink()
    with pytest.raises(ConfigurationError, match="install dataenvgym again"):
        config_directory()
