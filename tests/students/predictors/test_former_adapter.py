"""A student with another adapter at the same time, and its version before the last training."""

from pathlib import Path

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters, TrainingRun
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers import student as trainers_student

GREEDY = SamplingParameters(max_tokens=8)
ASKED = [(Message(role="user", content=f"{n} " * (n % 5 + 1)),) for n in range(9)]
DATA = [SupervisedDatum(instruction=f"say {n}", output=str(n)) for n in range(6)]


@pytest.fixture
def predictor(tiny_student):
    trainer = InProcessTrainer(threads=1, num_train_epochs=2, lora_rank=4, learning_rate=1e-2)
    return InProcessPredictor(tiny_student, trainer, threads=1, batch_size=8)


def trained(predictor: InProcessPredictor, folder: Path, seed: int = 0) -> Path:
    folder.mkdir()
    predictor.train(DATA, TrainingRun(directory=folder, seed=seed, start="adapter"))
    return folder / "adapter"


def test_a_former_adapter_answers_as_it_did_and_the_student_stays_as_it_is(predictor, tmp_path):
    answers = [predictor.predict(ASKED, GREEDY)]
    for name in ("one", "two"):
        trained(predictor, tmp_path / name)
        answers.append(predictor.predict(ASKED, GREEDY))
    assert answers[0] != answers[1] != answers[2]
    beside = [predictor.with_adapter(f) for f in (None, tmp_path / "one" / "adapter")]
    assert [other.predict(ASKED, GREEDY) for other in beside] == answers[:2]
    assert predictor.predict(ASKED, GREEDY) == answers[2]
    assert predictor.former_adapter() == tmp_path / "one" / "adapter"


def test_all_adapters_share_one_base_model_without_copies_of_its_weights(
    predictor, tmp_path, monkeypatch
):
    loaded = []
    load = trainers_student.load_base_model

    def counted(name: str, **options: object) -> object:
        loaded.append(name)
        return load(name, **options)

    folder = trained(predictor, tmp_path / "one")
    other = InProcessPredictor(predictor.student)
    monkeypatch.setattr(trainers_student, "load_base_model", counted)
    other.load(folder)
    beside = [other.with_adapter(folder), other.with_adapter(None)]
    for each in (other, *beside):
        each.predict(ASKED[:1], GREEDY)
    assert len(loaded) == 1
    base = {p.data_ptr() for p in other._loaded.base.model.parameters()}
    own = [p for p in beside[0]._student.model.parameters() if p.data_ptr() not in base]
    assert (
        0
        < sum(p.numel() for p in own)
        < 0.2 * sum(p.numel() for p in other._loaded.base.model.parameters())
    )
    assert all(p.ndim == 2 and 4 in p.shape for p in own)  # of rank 4: the adapter's own


def test_the_former_student_is_known_until_another_adapter_is_loaded(predictor, tmp_path):
    assert predictor.former_adapter() is None
    first = trained(predictor, tmp_path / "one")
    assert predictor.former_adapter() is None
    trained(predictor, tmp_path / "two")
    assert predictor.former_adapter() == first
    predictor.load(first)
    with pytest.raises(ConfigurationError, match="known what"):
        predictor.former_adapter()
    predictor.remember_former(None)
    assert predictor.former_adapter() is None
    predictor.load(first)
    predictor.reset()
    assert predictor.former_adapter() is None


def test_a_student_that_had_learned_something_already_begins_with_that(predictor, tmp_path):
    folder = trained(predictor, tmp_path / "one")
    other = InProcessPredictor(predictor.student, predictor.trainer, adapter=folder, threads=1)
    untouched = other.with_adapter(None).predict(ASKED, GREEDY)
    assert untouched == predictor.predict(ASKED, GREEDY)
    trained(other, tmp_path / "two")
    assert other.former_adapter() == folder
    assert other.with_adapter(None).predict(ASKED, GREEDY) == untouched


def test_a_training_that_fails_forgets_nothing(predictor, tmp_path, monkeypatch):
    trained(predictor, tmp_path / "one")
    trained(predictor, tmp_path / "two")

    def fails(config_path: Path) -> Path:
        raise OSError("no disk")

    monkeypatch.setattr(predictor.trainer, "train", fails)
    with pytest.raises(OSError, match="no disk"):
        trained(predictor, tmp_path / "three")
    assert predictor.former_adapter() == tmp_path / "one" / "adapter"
