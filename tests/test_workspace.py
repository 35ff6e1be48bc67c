"""The lock of a folder, and files that a kill has left in it."""

from pathlib import Path

import pytest

from dataenvgym.errors import RunDirectoryError
from dataenvgym.runs.config import compose, open_run
from dataenvgym.runs.evaluation.directory import EVALUATIONS, evaluation_settings
from dataenvgym.studies.executors.episode_driver import DrivenEpisode
from dataenvgym.studies.executors.in_process import InProcessExecutor
from dataenvgym.studies.executors.interface import EpisodeJob
from dataenvgym.workspace import locked


@pytest.fixture
def config_of(tmp_path):
    def make(*overrides: str):
        return compose([f"runs_dir={tmp_path}", "name=r", *overrides])

    return make


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused_by_open_run(config, fresh: bool) -> None:
    with open_run(config, fresh=fresh):
        pass


def refused_in_process(config, fresh: bool) -> None:
    (outcome,) = InProcessExecutor().run([EpisodeJob(config, fresh=fresh)])
    outcome.result()


def refused_when_driven(config, fresh: bool) -> None:
    DrivenEpisode(EpisodeJob(config, fresh=fresh)).request()


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("command", [refused_by_open_run, refused_in_process, refused_when_driven])
def test_a_refused_command_changes_no_file_of_a_running_run(config_of, tmp_path, command, fresh):
    with open_run(config_of("seed=1")) as directory:
        (directory / ".summary.json.1-2.tmp").write_text("being written")
        before = contents(tmp_path)
        with pytest.raises(RunDirectoryError, match="writing"):
            command(config_of("seed=2"), fresh)
        assert contents(tmp_path) == before


def test_a_refused_evaluation_changes_no_file_of_a_running_one(tmp_path):
    settings = evaluation_settings(compose(name="eval"), split="test", limit=None, adapter=None)
    with EVALUATIONS.opened(tmp_path / "e", settings):
        (tmp_path / "e" / "config.yaml").write_text("theirs")
        for fresh in (True, False):
            refused = pytest.raises(RunDirectoryError, match="writing")
            with refused, EVALUATIONS.opened(tmp_path / "e", settings, fresh=fresh):
                pass
        assert contents(tmp_path) == {"e/config.yaml": b"theirs"}


def test_only_leftovers_of_kills_are_removed(config_of, tmp_path):
    with open_run(config_of()) as directory:
        pass
    iteration = directory / "iterations" / "001"
    for folder in (".adapter.tmp", "dataset"):
        (iteration / folder).mkdir(parents=True)
        (iteration / folder / "weights").touch()
    (directory / ".iterations.gone" / "000").mkdir(parents=True)
    (tmp_path / ".r.removed" / "iterations").mkdir(parents=True)
    (tmp_path / ".other.removed").mkdir()
    kept = (".notes.tmp", ".hidden", "b.1-2.tmp")
    for name in (".records.jsonl.4711-140.tmp", ".custom_sft_dataset.jsonl.tmp", *kept):
        (iteration / name).touch()
    with open_run(config_of()):
        assert sorted(p.name for p in iteration.iterdir()) == sorted(("dataset", *kept))
        assert [p.name for p in directory.iterdir() if p.name.startswith(".")] == []
        assert sorted(p.name for p in tmp_path.iterdir()) == [".other.removed", "r"]


@pytest.mark.parametrize("fresh", [True, False])
def test_temporary_files_of_a_kill_do_not_begin_a_run(config_of, tmp_path, fresh):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".config.yaml.4711-140.tmp").write_text("seed: ")
    with open_run(config_of("seed=1"), fresh=fresh) as directory:
        assert sorted(p.name for p in directory.iterdir()) == ["config.yaml"]
        (directory / "iterations" / "000").mkdir(parents=True)
        (directory / "iterations" / "000" / ".completed.jsonl.1-2.tmp").touch()
    with open_run(config_of("seed=2")):
        pass


def test_a_lock_on_a_folder_that_was_just_replaced_is_not_taken_for_one_on_the_new(
    tmp_path, monkeypatch
):
    folder = tmp_path / "r"
    folder.mkdir()
    stat = Path.stat

    def replaced_meanwhile(self, **options):
        if self == folder and not (tmp_path / "was").exists():
            folder.rename(tmp_path / "was")
            folder.mkdir()
        return stat(self, **options)

    monkeypatch.setattr(Path, "stat", replaced_meanwhile)
    with pytest.raises(RunDirectoryError, match="another process"), locked(folder):
        pass
