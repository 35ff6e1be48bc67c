from pathlib import Path

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import OpenEnded, SkillList
from dataenvgym.environments.iterations import IterationFiles
from dataenvgym.errors import (
    ConfigurationError,
    InvalidActionError,
    InvalidRecordError,
    PredictionError,
    RunDirectoryError,
    TrainingError,
)
from dataenvgym.interfaces import Failure
from dataenvgym.records import TrainingDatum, parse_training_data
from tests.fakes import begun, files_below


def test_the_reward_is_the_change_in_validation_score(task, student, records):
    environment = SkillList(task, student)
    student.records = 30  # the episode begins with the untouched student
    observation, info = environment.reset(seed=0)
    assert info["score"] == observation["report"].score == 0.25
    assert len(observation["completed"]) == 40
    assert observation in environment.observation_space
    observation, reward, terminated, truncated, info = environment.step(records)
    assert reward == pytest.approx(4 / 40)
    assert observation["report"].score == info["score"] == pytest.approx(14 / 40)
    assert (terminated, truncated) == (False, False)
    _, reward, *_ = environment.step([])
    assert reward == 0.0


@pytest.mark.parametrize("between", ["reset", "step"])
def test_environments_that_share_a_student_each_continue_with_their_own(
    task, student, records, between
):
    one, other = (SkillList(task, student, replay=0) for _ in range(2))
    one.reset(seed=0)
    one.step(records[:3])
    other.reset(seed=0)
    if between == "step":
        other.step(records[:1])
    assert one.step([])[0]["report"].score == 13 / 40
    assert one.trial(records[3:]).score == one.step(records[3:])[0]["report"].score
    assert student.records == 4
    if between == "reset":
        other.step(records[:1])
        assert student.records == 1


@pytest.mark.parametrize(
    ("record", "field"),
    [({"instruction": "a"}, "output"), ({"instruction": 7, "output": "b"}, "instruction")],
)
def test_a_malformed_record_is_refused_whole_and_changes_nothing(
    task, student, records, tmp_path, record, field
):
    environment = begun(OpenEnded(task, student, directory=tmp_path))
    before = files_below(tmp_path)
    with pytest.raises(InvalidRecordError, match=f"record 4, field {field}") as caught:
        environment.step([*records, record])
    assert (caught.value.index, caught.value.field) == (4, field)
    assert files_below(tmp_path) == before
    assert student.trainings == 0
    _, reward, *_ = environment.step(records)
    assert reward == pytest.approx(4 / 40)


def test_open_ended_withholds_gold_skills_and_skill_list_shows_them(task, student):
    hidden, _ = OpenEnded(task, student).reset(seed=0)
    shown, _ = SkillList(task, student).reset(seed=0)
    assert {c.instance.skill for c in hidden["completed"]} == {None}
    assert hidden["report"].skills == ()
    assert None not in {c.instance.skill for c in shown["completed"]}
    assert len(shown["report"].skills) == 20


def test_the_episode_ends_at_the_target_score_or_the_record_budget(task, student, records):
    environment = begun(OpenEnded(task, student, target_score=0.35))
    ends = [environment.step(batch)[2] for batch in (records[:1], records[1:])]
    assert ends == [False, True]
    environment = begun(OpenEnded(task, student, max_records=3))
    _, _, terminated, _, info = environment.step(records)
    assert terminated
    assert info["n_records_total"] == 3.0
    assert environment.results[-1].dropped == {"over_budget": 1}


def test_accumulate_trains_on_everything_and_incremental_on_new_records_and_a_replay(
    task, student, records
):
    accumulate = begun(OpenEnded(task, student, mode="accumulate"))
    accumulate.step(records[:2])
    accumulate.step(records[2:])
    assert (student.trainings, student.records) == (1, 4)
    incremental = begun(OpenEnded(task, student, mode="incremental", replay=1))
    incremental.step(records[:2])
    incremental.step(records[2:])
    assert (student.trainings, student.records) == (2, 2 + 2 + 1)


def test_a_failed_or_interrupted_step_leaves_environment_and_student_as_before(
    task, student, records, monkeypatch
):
    environment = begun(OpenEnded(task, student))
    environment.step(records[:2])

    def fail(*_: object) -> None:
        student.records = 99
        raise TrainingError("out of memory")

    monkeypatch.setattr(student, "train", fail)
    with pytest.raises(TrainingError):
        environment.step(records[2:])
    assert len(environment.results) == 2
    assert student.records == 2
    monkeypatch.undo()

    def interrupt(predictor: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(task, "evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        environment.step(records[2:])
    assert student.records == 2
    monkeypatch.undo()
    *_, info = environment.step(records[2:])
    assert info["n_records_total"] == 4.0
    assert info["iteration"] == 2.0


def test_the_same_seed_gives_the_same_observations_and_files(task, student, records, tmp_path):
    for name in ("one", "two"):
        environment = SkillList(task, student, directory=tmp_path / name)
        environment.reset(seed=3)
        environment.step(records[:2])
        environment.step(records[2:])
    one, two = (files_below(tmp_path / name) for name in ("one", "two"))
    assert one.keys() == two.keys()
    differing = {name for name in one if one[name] != two[name]}
    assert {Path(name).name for name in differing} <= {"iteration.json"}  # which has the seconds


def test_a_resumed_episode_continues_where_it_was(task, student, records, tmp_path):
    first = begun(SkillList(task, student, directory=tmp_path))
    observation, *_ = first.step(records[:2])
    student.reset()
    second = SkillList(task, student, directory=tmp_path)
    resumed, info = second.reset(seed=0, options={"resume": True})
    assert resumed == observation
    assert info["iteration"] == 1.0
    assert student.records == 2
    _, _, _, _, info = second.step(records)
    assert second.results[-1].dropped == {"duplicate": 2}


def test_a_different_episode_in_the_folder_is_not_overwritten(task, student, tmp_path):
    SkillList(task, student, directory=tmp_path).reset(seed=0)
    other = SkillList(task, student, directory=tmp_path)
    with pytest.raises(RunDirectoryError, match="'fresh': True"):
        other.reset(seed=0)
    other.reset(seed=0, options={"fresh": True})
    other.reset(seed=1)  # its own by now


def test_resuming_with_another_seed_student_or_task_is_refused_by_name(task, student, tmp_path):
    SkillList(task, student, directory=tmp_path).reset(seed=0)
    environment = SkillList(task, student, directory=tmp_path)
    with pytest.raises(RunDirectoryError, match="seed = 0"):
        environment.reset(seed=1, options={"resume": True})
    other = SkillList(PocketMathTask(n_validation=40, seed=7), student, directory=tmp_path)
    with pytest.raises(RunDirectoryError, match="instances"):
        other.reset(seed=0, options={"resume": True})
    student.describe = lambda: {"name": "somebody else"}
    with pytest.raises(RunDirectoryError, match="predictor"):
        environment.reset(seed=0, options={"resume": True})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"task": "pocket_math"}, "task is 'pocket_math', expected an object with"),
        ({"predictor": "pocket"}, r"predictor is 'pocket'.* it has no load, predict"),
        ({"predictor": PocketMathTask}, "predictor is <class .*PocketMathTask'>, expected"),
    ],
)
def test_what_is_no_task_or_no_student_is_refused_before_an_episode(task, student, given, expected):
    with pytest.raises(ConfigurationError, match=expected):
        OpenEnded(**{"task": task, "predictor": student, **given})


def test_a_temporary_folder_is_gone_after_close(task, student, records):
    environment = begun(OpenEnded(task, student))
    folder = environment.directory
    assert (folder / "iterations/000/iteration.json").exists()
    environment.close()
    assert not folder.exists()


def test_records_are_stamped_with_id_and_iteration(task, student, records, tmp_path):
    environment = begun(OpenEnded(task, student, directory=tmp_path))
    environment.step([*records, {"instruction": "héllo 世界 ", "output": "ok"}])
    kept: list[TrainingDatum] = IterationFiles(tmp_path / "iterations", 1).read_records()
    assert [r.provenance.id for r in kept] == [f"001-0000{i}" for i in range(5)]
    assert {r.provenance.iteration for r in kept} == {1}
    assert [r.provenance.skill for r in kept[:4]] == [r.provenance.skill for r in records]
    assert parse_training_data(kept) == tuple(kept)


@pytest.mark.parametrize("action", [None, {"instruction": "a", "output": "b"}])
def test_values_that_are_not_a_batch_are_refused(task, student, action):
    environment = begun(OpenEnded(task, student))
    with pytest.raises(InvalidActionError, match="list of training records"):
        environment.step(action)


def test_a_batch_of_two_stages_is_refused_before_anything_is_written(task, student, tmp_path):
    environment = begun(OpenEnded(task, student, directory=tmp_path))
    before = files_below(tmp_path)
    preference = {"kind": "preference", "instruction": "q", "chosen": "a", "rejected": "b"}
    with pytest.raises(InvalidRecordError, match="record 1, field kind"):
        environment.step([{"instruction": "a", "output": "b"}, preference])
    assert files_below(tmp_path) == before
    assert environment.pending_action() is None


def test_an_agent_may_change_the_stage_and_only_records_of_that_stage_are_replayed(task, student):
    environment = begun(OpenEnded(task, student, replay=10))
    environment.step([{"instruction": f"word {w}", "output": "x"} for w in "abc"])
    environment.step([{"kind": "preference", "instruction": "q", "chosen": "a", "rejected": "b"}])
    assert student.records == 3 + 1


def test_a_fresh_episode_forgets_test_answers_and_agent_states(task, student, tmp_path):
    environment = begun(SkillList(task, student, directory=tmp_path))
    for name in ("test/000.jsonl", "agent/001.json", "summary.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    environment.reset(seed=0, options={"fresh": True})
    assert {p.name for p in tmp_path.iterdir()} == {"environment.json", "iterations"}


class CannotJudgeAll:
    """Judges every second record, until its student is gone."""

    reason = "shy"

    def __init__(self):
        self.gone = True
        self.judged = 0

    def passes(self, records, predictor):
        if self.gone:
            raise PredictionError("the student is gone")
        self.judged += len(records)
        return [i % 2 == 0 or Failure(reason="no answer") for i in range(len(records))]


def test_a_student_gone_during_a_check_ends_the_run_there_and_it_is_checked_again(
    task, student, records, tmp_path, monkeypatch
):
    check = CannotJudgeAll()
    environment = begun(OpenEnded(task, student, directory=tmp_path, quality=[check]))
    with pytest.raises(PredictionError):
        environment.step(records)
    assert student.trainings == 0
    check.gone = False
    resumed = begun(OpenEnded(task, student, directory=tmp_path, quality=[check]), resume=True)

    def fail(training_data, run):
        raise TrainingError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(student, "train", fail)
        with pytest.raises(TrainingError):
            resumed.step(resumed.pending_action())
    again = begun(OpenEnded(task, student, directory=tmp_path, quality=[check]), resume=True)
    again.step(again.pending_action())
    assert check.judged == len(records)
    # the count of unjudged records survives the kill after the check
    assert again.results[-1].unjudged == {"shy": 2}
    assert again.results[-1].n_records == len(records)
