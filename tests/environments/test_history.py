import numpy as np
import pytest

from dataenvgym.environments import iterations
from dataenvgym.environments.checks import CheckedRecord
from dataenvgym.environments.iterations import History, IterationFiles, IterationResult
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.records import PerformanceReport, PreferenceDatum, SupervisedDatum, TrainingDatum
from dataenvgym.students.llama_factory import stage_of

REPORT = PerformanceReport(task="t", score=0.0, accuracy=0.0, n=1, n_errors=0)


def supervised(count: int, name: str) -> list[TrainingDatum]:
    return [
        SupervisedDatum(instruction=f"{name} {i} é\u2028\u0085", output="x") for i in range(count)
    ]


BATCHES: list[list[TrainingDatum]] = [
    [],
    supervised(7, "a"),
    [PreferenceDatum(instruction="p", chosen="a", rejected=str(i)) for i in range(3)],
    [],
    supervised(1, "b"),
    supervised(12, "c"),
]


@pytest.fixture
def files(tmp_path):
    folders = [IterationFiles(tmp_path, i) for i in range(len(BATCHES))]
    for folder, batch in zip(folders, BATCHES, strict=True):
        folder.clear()
        folder.save(
            "records.jsonl", [CheckedRecord(record=one, verdict="accepted") for one in batch]
        )
        stage = stage_of(batch[0]) if batch else None
        facts = {"iteration": folder.number, "n_records": len(batch), "stage": stage}
        folder.write_result(IterationResult(report=REPORT, **facts))
    return folders


@pytest.mark.parametrize("mode", ["accumulate", "incremental"])
def test_read_from_files_it_is_what_was_appended(files, tmp_path, mode):
    options = TeachingOptions(mode=mode)
    appended = History(tmp_path, options)
    for folder in files:
        appended.append(folder.read_result())
    resumed = History(tmp_path, options, files)
    everything = [record for batch in BATCHES for record in batch]
    for history in (appended, resumed):
        assert history.records == everything
        counts = {one.iteration: one.n_records for one in history.results}
        assert counts == {0: 0, 1: 7, 2: 3, 3: 0, 4: 1, 5: 12}
        assert history.last.iteration == 5
        assert history.sample(9, "sft", np.random.default_rng(3)) == appended.sample(
            9, "sft", np.random.default_rng(3)
        )


@pytest.mark.parametrize("size", [0, 1, 5, 19, 20, 50])
def test_a_sample_is_drawn_from_all_records_of_the_stage_in_their_order(files, tmp_path, size):
    history = History(tmp_path, TeachingOptions(), files)
    candidates = BATCHES[1] + BATCHES[4] + BATCHES[5]
    drawn = history.sample(size, "sft", np.random.default_rng(size))
    rng = np.random.default_rng(size)
    picks = rng.choice(20, min(size, 20), replace=False) if size else []
    assert drawn == [candidates[int(i)] for i in sorted(picks)]
    assert len(history.sample(size, "dpo", rng)) == min(size, 3)
    assert history.sample(size, "kto", rng) == []


def test_incremental_training_reads_only_the_records_that_it_replays(files, tmp_path, monkeypatch):
    read: list[str] = []
    parse = iterations.parse_training_datum
    monkeypatch.setattr(
        iterations, "parse_training_datum", lambda value, **k: read.append("") or parse(value, **k)
    )
    history = History(tmp_path, TeachingOptions(replay=3), files)
    new = supervised(2, "new")
    trained = history.training_records(new, 0)
    assert trained[3:] == new
    assert (len(trained), len(read)) == (3 + 2, 3)
