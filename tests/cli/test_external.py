"""`dataenvgym external` and `dataenvgym doctor`."""

import pytest

from dataenvgym.cli.doctor import Finding
from dataenvgym.errors import ExternalError
from dataenvgym.external import ExternalEnvironment, ExternalModel
from dataenvgym.storage import write_json


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("dataenvgym.external.environments.has_cuda", lambda: False)
    return tmp_path / "cache"


@pytest.fixture
def built(monkeypatch):
    """A build only writes a marker into a folder. Gives the list of builds."""
    names = []

    def install(self, say=lambda line: None):
        names.append((self.name, self.variant))
        say(f"building {self.folder}")
        packages = {"llamafactory": "0.9.5", "torch": "2.11.0", "numpy": "2.0.0"}
        write_json(self.folder / "installed.json", {"packages": packages})

    monkeypatch.setattr(ExternalEnvironment, "install", install)
    return names


def test_an_environment_is_installed_in_the_variant_that_is_asked_for(dataenvgym, built, cache):
    result = dataenvgym.succeeds("external", "install", "llamafactory")
    assert f"building {cache}" in result.out
    dataenvgym("external", "install", "vllm", "--variant", "cuda")
    assert built == [("llamafactory", "cpu"), ("vllm", "cuda")]


def test_the_list_shows_installed_parts_and_how_to_install_the_rest(dataenvgym, built, cache):
    dataenvgym("external", "install", "llamafactory")
    first, second, third = dataenvgym("external", "list").out.splitlines()
    assert first.startswith(f"llamafactory  cpu   0.9.5, in {cache}")
    assert (
        second
        == "vllm          cpu   not installed: dataenvgym external install vllm --variant cpu"
    )
    assert third == "smollm2             not installed: dataenvgym external install smollm2"


def test_a_model_is_installed_by_name_and_shown_with_its_license(dataenvgym, monkeypatch, cache):
    monkeypatch.setattr(ExternalModel, "install", lambda self, say: self.folder.mkdir(parents=True))
    assert "dataenvgym external install smollm2" in dataenvgym("doctor").out
    dataenvgym.succeeds("external", "install", "smollm2")
    about = "SmolLM2-135M-Instruct, dequantized from Q4_1, Apache-2.0, in"
    assert about in dataenvgym("external", "list").out
    assert "SmolLM2-135M-Instruct, dequantized from Q4_1" in dataenvgym("doctor").out
    assert "smollm2" in dataenvgym("list", "student").out


def test_a_model_has_no_variants(dataenvgym):
    result = dataenvgym("external", "install", "smollm2", "--variant", "cpu")
    assert result.code == 2
    assert "smollm2 has no variants" in result.err


def test_a_run_without_the_model_ends_with_1_and_says_how_to_install_it(dataenvgym, folder):
    result = dataenvgym("run", "student=smollm2")
    assert result.code == 1
    assert "run `dataenvgym external install smollm2`" in result.err
    assert not (folder / "runs").exists()


def test_a_failed_installation_ends_with_1(dataenvgym, monkeypatch):
    def install(self, say):
        raise ExternalError("pip failed")

    monkeypatch.setattr(ExternalEnvironment, "install", install)
    result = dataenvgym("external", "install", "vllm")
    assert result.code == 1
    assert "external failed: pip failed" in result.err


def test_a_trainer_that_is_not_installed_ends_a_run_with_1_and_says_how_to(dataenvgym, folder):
    result = dataenvgym("run", "trainer=llama_factory")
    assert result.code == 1
    assert "run `dataenvgym external install llamafactory --variant cpu`" in result.err
    assert not (folder / "runs").exists()


def test_the_doctor_lists_installed_parts_and_the_next_command(dataenvgym, built):
    before = dataenvgym.succeeds("doctor")
    assert "pocket student  loads" in before.out
    assert "dataenvgym external install llamafactory --variant cpu" in before.out
    assert "trainer=llama_factory" not in before.out
    dataenvgym("external", "install", "llamafactory")
    after = dataenvgym("doctor").out
    assert "llamafactory 0.9.5, torch 2.11.0 (cpu)" in after
    assert "numpy 2.0.0" not in after
    assert "dataenvgym run trainer=llama_factory" in after


def test_the_doctor_ends_with_1_if_not_even_the_default_episode_can_run(dataenvgym, monkeypatch):
    broken = Finding("pocket student", "problem", "cannot be loaded: why", "install again")
    monkeypatch.setattr("dataenvgym.cli.doctor.student_finding", lambda: broken)
    result = dataenvgym("doctor")
    assert result.code == 1
    assert "cannot be loaded: why" in result.out
    assert "the default episode cannot run: see pocket student" in result.err
    assert "Next:" not in result.out


@pytest.mark.parametrize("width", [80, 120])
def test_the_output_of_the_doctor_fits_the_terminal(dataenvgym, monkeypatch, built, width):
    monkeypatch.setenv("COLUMNS", str(width))
    dataenvgym("external", "install", "llamafactory")
    lines = dataenvgym("doctor").out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
