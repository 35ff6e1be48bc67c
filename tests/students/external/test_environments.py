import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dataenvgym.errors import ExternalError
from dataenvgym.students.external.environments import (
    ENVIRONMENTS,
    ExternalEnvironment,
    external_environment,
    one_at_a_time,
)
from tests.students.external.conftest import pack_wheel


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_CACHE", str(tmp_path / "cache"))
    # nothing is downloaded here
    monkeypatch.setattr(
        "dataenvgym.students.external.environments._TORCH", {"tiny": ("tiny-thing",)}
    )
    return tmp_path / "cache"


MakeEnvironment = Callable[..., ExternalEnvironment]


@pytest.fixture
def make(tmp_path):
    """An environment with the packages in `pins`: none, if nothing is said."""

    def make(pins: str = "# nothing\n") -> ExternalEnvironment:
        path = tmp_path / "cpu.txt"
        path.write_text(pins)
        return ExternalEnvironment("tiny", "cpu", path)

    return make


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("variant", ["cpu", "cuda"])
def test_every_pin_is_an_exact_version(name, variant):
    pins = external_environment(name, variant).pins.read_text().splitlines()
    packages = [line for line in pins if line.strip() and not line.startswith(("#", "--"))]
    assert len(packages) > 50
    assert [line for line in packages if "==" not in line] == []


def test_the_variant_fits_the_machine(monkeypatch):
    monkeypatch.setattr("dataenvgym.students.external.environments.has_cuda", lambda: True)
    assert external_environment("vllm").variant == "cuda"
    monkeypatch.setattr("dataenvgym.students.external.environments.has_cuda", lambda: False)
    assert external_environment("vllm").variant == "cpu"
    assert external_environment("vllm", "cuda").pins.name == "cuda.txt"


def test_other_pins_are_another_folder(make):
    assert make("a==1\n").folder == make("a==1\n").folder != make("a==2\n").folder


def test_a_missing_environment_says_which_command_builds_it(make):
    environment = make()
    assert not environment.is_installed
    with pytest.raises(ExternalError, match="variant"):
        environment.require()


@pytest.mark.slow
def test_an_installed_environment_has_its_packages_and_is_left_alone(make, tmp_path):
    environment = make(f"tiny-thing @ file://{pack_wheel(tmp_path, 'tiny-thing', '1.5', {})}\n")
    said: list[str] = []
    environment.install(said.append)
    assert environment.require().versions()["tiny-thing"] == "1.5"
    assert environment.python.is_file()
    assert said[-1] == f"{environment.folder} is ready"
    kept = environment.python.stat().st_mtime_ns
    environment.install(said.append)
    assert said[-1] == f"{environment.folder} is there already"
    assert environment.python.stat().st_mtime_ns == kept


@pytest.mark.slow
def test_a_failed_installation_says_pips_last_words_and_is_not_installed(make, tmp_path):
    environment = make(f"tiny-thing @ file://{tmp_path}/nowhere.whl\n")
    with pytest.raises(ExternalError, match="nowhere"):
        environment.install()
    assert not environment.is_installed


def test_an_interrupted_installation_is_built_again(make, monkeypatch):
    environment = make()
    environment.folder.mkdir(parents=True)
    (environment.folder / "half").touch()
    assert not environment.is_installed
    built = build_nothing(monkeypatch)
    environment.install()
    assert built == [environment.folder]
    assert not (environment.folder / "half").exists()
    assert environment.is_installed


def test_of_two_that_install_at_once_one_waits_for_the_other(make, monkeypatch):
    environment, waits = make(), threading.Event()
    built, said = build_nothing(monkeypatch), []

    def say(line: str) -> None:
        said.append(line)
        waits.set()

    second = threading.Thread(target=environment.install, args=(say,))
    with one_at_a_time(environment.folder, print):
        second.start()
        assert waits.wait(10)
        assert said == ["another process is building it: waiting"]
        assert not built
    second.join(10)
    assert len(built) == 1


def build_nothing(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A build only makes an empty folder. Gives the list of builds."""
    built: list[Path] = []

    def build(self: ExternalEnvironment, say: Callable[[str], None]) -> None:
        self.folder.mkdir(parents=True)
        built.append(self.folder)

    monkeypatch.setattr(ExternalEnvironment, "_build", build)
    monkeypatch.setattr(ExternalEnvironment, "_frozen", lambda self: {})
    return built
