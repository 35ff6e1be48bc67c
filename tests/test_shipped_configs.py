import pytest

from dataenvgym import shipped_configs
from dataenvgym.config import config_directory
from dataenvgym.errors import ConfigurationError


def test_the_files_are_found_in_an_installed_package_too(tmp_path, monkeypatch):
    installed = tmp_path / "dataenvgym"
    (installed / "configs").mkdir(parents=True)
    (installed / "configs" / "config.yaml").touch()
    monkeypatch.setattr(shipped_configs, "__file__", str(installed / "shipped_configs.py"))
    assert config_directory() == installed / "configs"
    (installed / "configs" / "config.yaml").unlink()
    with pytest.raises(ConfigurationError, match="install dataenvgym again"):
        config_directory()
