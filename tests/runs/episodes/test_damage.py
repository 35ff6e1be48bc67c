"""Every file of a run, emptied, shortened, deleted or overwritten: healed, or refused by name."""

import shutil

import pytest

from dataenvgym.agents import AlternatingPolicy, PocketEngine, TreeAgent
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillTree
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.errors import RunDirectoryError
from dataenvgym.runs.episodes import run_episode
from dataenvgym.runs.episodes.export import export_adapter, export_records
from dataenvgym.runs.episodes.run_files import RunFiles
from dataenvgym.students.predictors.scripted import ScriptedPredictor
from tests.damages import after_damages
from tests.run_contents import contents
from tests.runs.episodes.echo import Student


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
    directory = tmp_path / "run"
    if request.param == "finished":
        resume(directory, iterations=1)
    else:
        with pytest.raises(KeyboardInterrupt):
            resume(directory, dies=True)
        assert (directory / "iterations" / "002" / "files.json").exists()
    return directory


@pytest.mark.slow
def test_a_damaged_file_is_healed_or_refused_by_its_name(begun, resume):
    wrong, healed, refused = after_damages(
        begun,
        lambda: resume(begun),
        # the best iteration at that time may have other test answers
        lambda: contents(begun, "files.json", "001.jsonl"),
        each=3,
        unmarked=("iteration.json",),  # it has the seconds
    )
    assert not wrong, chr(10).join(wrong)
    assert healed > 5
    assert refused > 20


def test_commands_that_read_a_damaged_run_name_the_file(finished_run, tmp_path):
    path = finished_run / "iterations" / "001" / "records.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(RunDirectoryError, match="damaged: it has"):
        export_records(finished_run, tmp_path / "records")
    with pytest.raises(RunDirectoryError, match="comm"):
        RunFiles(finished_run).iteration(1)
    assert RunFiles(finished_run).completed(2)


def test_the_way_out_of_a_damaged_iteration_leads_to_the_same_end(play, finished_run, tmp_path):
    expected = contents(finished_run)
    (finished_run / "iterations" / "002" / "completed.jsonl").write_text("")
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
