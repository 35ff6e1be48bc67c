"""Every file of a run, emptied, shortened, deleted or overwritten: healed, or refused by name."""

import random
import shutil
from pathlib import Path

import pytest

from dataenvgym.agents import AlternatingPolicy, PocketEngine, TreeAgent
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillTree
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.errors import DataEnvGymError, RunDirectoryError
from dataenvgym.runs.episodes import run_episode
from dataenvgym.runs.episodes.export import export_adapter, export_records
from dataenvgym.runs.episodes.run_files import RunFiles
from dataenvgym.students.predictors.scripted import ScriptedPredictor
from tests.run_contents import contents
from tests.runs.episodes.echo import Student

DAMAGES = ("emptied", "shortened", "deleted", "overwritten")


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "deleted":
        path.unlink()
    elif how == "shortened":  # by the last line, where there are several
        cut = data.rstrip(b"\n").rfind(b"\n") + 1 if path.suffix == ".jsonl" else len(data) // 2
        path.write_bytes(data[:cut])
    else:
        path.write_bytes(b"" if how == "emptied" else random.Random(0).randbytes(len(data)))


class Counting(ScriptedPredictor):
    """Says how many records it learned; if it `dies`, then in the evaluation of iteration 2."""

    def __init__(self, dies: bool) -> None:
        super().__init__(lambda conversation: f"#### {self.records}")
        self.dies = dies

    def predict(self, conversations, sampling):
        if self.dies and self.trainings == 2:
            raise KeyboardInterrupt
        return ScriptedPredictor.predict(self, conversations, sampling)

    def describe(self):
        return {"name": "Counting"}


@pytest.fixture(params=["skill_list", "skill_tree"])
def resume(request, play):
    """Plays or resumes an episode of two iterations; some die in the second one."""

    class Dying(Student):
        def predict(self, conversations, sampling):
            return Counting.predict(self, conversations, sampling)

    def skill_list(directory, iterations=2, dies=False):
        student = Dying() if dies else Student()
        student.dies = dies
        return play(directory, iterations=iterations, student=student)

    def skill_tree(directory, iterations=2, dies=False):
        task = PocketMathTask(n_validation=4, n_test=4)
        environment = SkillTree(
            task, Counting(dies), PocketEngine(task), directory=directory, replay=2
        )
        agent = TreeAgent(AlternatingPolicy(), name="tree", records_per_iteration=4)
        return run_episode(environment, agent, iterations=iterations)

    return skill_list if request.param == "skill_list" else skill_tree


@pytest.fixture(params=["finished", "interrupted"])
def begun(request, resume, tmp_path):
    """A run that is finished, and is to be extended, or that has died."""
    directory = tmp_path / "begun"
    if request.param == "finished":
        resume(directory, iterations=1)
    else:
        with pytest.raises(KeyboardInterrupt):
            resume(directory, dies=True)
        assert (directory / "iterations" / "002" / "files.json").exists()
    return directory


@pytest.mark.slow
def test_a_damaged_file_is_healed_or_refused_by_its_name(begun, resume, tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(begun, whole)
    resume(whole)
    expected = contents(whole, "files.json")
    names = sorted(str(p.relative_to(begun)) for p in begun.rglob("*") if p.is_file())
    wrong, healed, refused = [], 0, 0
    for number, name in enumerate(names):
        for how in (DAMAGES[(number + k) % 4] for k in range(3)):
            directory = tmp_path / "damaged"
            shutil.copytree(begun, directory)
            damage(directory / name, how)
            try:
                resume(directory)
            except DataEnvGymError as error:
                refused += 1
                if name not in str(error):
                    wrong.append(f"{name} {how}: {error}")
            else:
                healed += 1
                stale = {name} if name == "test/001.jsonl" and how == "deleted" else set()
                if contents(directory, "files.json") != {
                    n: expected[n] for n in expected if n not in stale
                }:
                    wrong.append(f"{name} {how}: silent")
            shutil.rmtree(directory)
    assert not wrong, chr(10).join(wrong)
    assert healed > 5
    assert refused > 20


def test_commands_that_read_a_damaged_run_name_the_file(finished_run, tmp_path):
    path = finished_run / "iterations" / "001" / "records.jsonl"
    damage(path, "shortened")
    with pytest.raises(RunDirectoryError, match="damaged: it has"):
        export_records(finished_run, tmp_path / "records")
    with pytest.raises(RunDirectoryError, match="comm"):
        RunFiles(finished_run).iteration(1)
    assert RunFiles(finished_run).completed(2)


def test_the_way_out_of_a_damaged_iteration_leads_to_the_same_end(play, finished_run, tmp_path):
    expected = contents(finished_run)
    damage(finished_run / "iterations" / "002" / "completed.jsonl", "emptied")
    with pytest.raises(RunDirectoryError, match="all later"):
        play(finished_run, iterations=4)
    for number in ("002", "003"):
        shutil.rmtree(finished_run / "iterations" / number)
    play(finished_run)
    assert contents(finished_run) == expected


def test_adapters_that_are_not_needed_may_be_removed(play, finished_run, tmp_path):
    shutil.rmtree(finished_run / "iterations" / "001" / "adapter")
    assert len(play(finished_run, iterations=4).iterations) == 5
    with pytest.raises(RunDirectoryError, match="adapter is missing"):
        export_adapter(finished_run, tmp_path / "adapter", iteration=1)


def test_large_files_are_compared_by_size_until_they_are_needed(finished_run, monkeypatch):
    monkeypatch.setattr("dataenvgym.records.checksums.LARGE", 1)
    adapter = finished_run / "iterations" / "002" / "adapter" / "scripted.json"
    adapter.write_bytes(adapter.read_bytes().replace(b"2", b"3", 1))
    files = IterationFiles(finished_run / "iterations", 2)
    files.check()
    with pytest.raises(RunDirectoryError, match="scripted"):
        files.check_adapter()


def test_a_run_that_was_moved_is_not_damaged(play, tmp_path):
    files = IterationFiles(tmp_path / "here" / "iterations", 1)
    files.clear()
    for name in ("training.yaml", "adapter_config.json"):
        (files.directory / name).write_text(f'dir: "{files.directory}/adapter"')
    with files.training():
        pass
    shutil.move(tmp_path / "here", tmp_path / "there")
    moved = IterationFiles(tmp_path / "there" / "iterations", 1)
    assert len(moved.marks.read()) == 2
    moved.check()
    text = (moved.directory / "training.yaml").read_text()
    (moved.directory / "training.yaml").write_text(text.replace(str(tmp_path), "/elsewhere"))
    moved.check()
    (moved.directory / "training.yaml").write_text(text.replace("001/adapter", "002/adapter"))
    with pytest.raises(RunDirectoryError, match=r"training.yaml is damaged"):
        moved.check()
