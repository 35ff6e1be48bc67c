from pathlib import Path

import pytest

from dataenvgym.errors import AdapterError
from dataenvgym.events import counting, hearing_progress
from dataenvgym.interfaces import AdapterJob, Failure, SamplingParameters, TrainingRun, can
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer

GREEDY = SamplingParameters(max_tokens=8)
ASKED = [(Message(role="user", content=f"{n} " * (n % 5 + 1)),) for n in range(9)]
DATA = [
    [SupervisedDatum(instruction=f"say {n}", output=str(n + k)) for n in range(6)] for k in (0, 5)
]


@pytest.fixture
def predictor(tiny_student):
    trainer = InProcessTrainer(threads=1, num_train_epochs=2, lora_rank=4, learning_rate=1e-2)
    return InProcessPredictor(tiny_student, trainer, threads=2, batch_size=8)


def run(folder: Path, seed: int = 0) -> TrainingRun:
    folder.mkdir(parents=True, exist_ok=True)
    return TrainingRun(directory=folder, seed=seed)


@pytest.mark.parametrize("batch_size", [8, 1])
def test_each_adapter_answers_its_own_conversations(predictor, tmp_path, batch_size):
    predictor.batch_size = batch_size  # in common batches, or one adapter after another
    assert can(predictor, "train_each", "predict_each")
    jobs = [AdapterJob(records, run(tmp_path / str(k)), None) for k, records in enumerate(DATA)]
    first, second = predictor.train_each(jobs)
    assert predictor.former_adapter() is None
    assert predictor._student.folder is None
    base = predictor.predict(ASKED, GREEDY)
    expected = [base]
    for folder in (first, second):
        predictor.load(folder)
        expected.append(predictor.predict(ASKED, GREEDY))
    assert expected[0] != expected[1] != expected[2]
    adapters = [None, first, second] * 3
    replies = predictor.predict_each(adapters, ASKED, GREEDY)
    assert replies == [expected[i % 3][i] for i in range(9)]
    assert len({str(r) for r in replies}) > 1
    with pytest.raises(AdapterError):
        predictor.predict_each([tmp_path], ASKED[:1], GREEDY)


def test_a_job_that_fails_leaves_the_others(predictor, tmp_path):
    unfit = InProcessTrainer(threads=1, lora_target="nowhere")
    failed, trained = predictor.train_each(
        [
            AdapterJob(DATA[0], run(tmp_path / "a"), unfit),
            AdapterJob(DATA[1], run(tmp_path / "b")),
        ]
    )
    assert isinstance(failed, Failure)
    assert "lora_target is 'nowhere'" in failed.reason
    assert isinstance(trained, Path)
    assert trained.is_dir()


def test_the_trained_adapters_are_counted_within_what_counts_around_them(predictor, tmp_path):
    heard: list[str] = []
    with hearing_progress(heard.append), counting("inner loops", 2):
        predictor.train_each(
            [AdapterJob(records, run(tmp_path / str(k))) for k, records in enumerate(DATA)]
        )
    told = [text for text in heard if "training steps" in text]
    assert told[0].startswith("0 of 2 inner loops, 0 of 2 adapters, 0 of ")
    assert "0 of 2 inner loops, 2 of 2 adapters" in heard
