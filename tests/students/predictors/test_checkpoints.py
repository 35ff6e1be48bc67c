"""Saved states of a student, and students with fully trained weights."""

from pathlib import Path

import pytest

from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.interfaces import Reply, SamplingParameters, TrainingRun
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.storage import hash_files
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.predictors.checkpoints import (
    kind_of,
    require_kind,
    save_nothing,
)
from dataenvgym.students.trainers import TrainerInterface

GREEDY = SamplingParameters(max_tokens=8)
ASKED = [(Message(role="user", content=f"{n} " * (n % 5 + 1)),) for n in range(12)]
DATA = [SupervisedDatum(instruction="1", output="2")]


def answers(predictor: InProcessPredictor) -> list[str]:
    return [r.text for r in predictor.predict(ASKED, GREEDY) if isinstance(r, Reply)]


@pytest.fixture(scope="module")
def whole(make_student, tmp_path_factory):
    """The tiny student with other weights, as a training of all weights leaves it."""
    return make_student(tmp_path_factory.mktemp("whole") / "student", seed=7)


class Returns:
    """A trainer that has nothing but `train`, and perhaps options."""

    def __init__(self, result: object, **options: str) -> None:
        if options:
            self.config = TrainingConfig(**options)
        self.result = result
        self.asked: list[TrainingConfig] = []

    def train(self, config_path: Path) -> object:
        self.asked.append(TrainingConfig.read(config_path))
        return self.result


# --- folders ---


def test_a_folder_is_an_adapter_a_whole_student_or_nothing_learned(adapter, whole, tmp_path):
    save_nothing(tmp_path / "nothing", "some/student")
    (tmp_path / "empty").mkdir()
    half = adapter("half")
    (half / "adapter_model.safetensors").unlink()
    assert kind_of(adapter("whole")) == "adapter"
    assert kind_of(whole) == "student"
    assert kind_of(tmp_path / "nothing") == "nothing"
    for folder in (half, tmp_path / "empty", tmp_path / "nowhere"):
        assert kind_of(folder) is None
        with pytest.raises(AdapterError, match="adapter_config"):
            require_kind(folder)


def test_an_adapter_is_not_trained_on_top_of_a_whole_student(make_trainer, whole, tmp_path):
    run = TrainingRun(directory=tmp_path)
    student = InProcessPredictor("s", make_trainer(), adapter=whole)
    with pytest.raises(ConfigurationError, match="finetuning_type"):
        student.train_on(DATA, run)


# --- an initial adapter, in this process ---


@pytest.fixture(scope="module")
def taught(tiny_student, tmp_path_factory):
    """The folder of an adapter of the tiny student that changes its answers."""
    from dataenvgym.students.trainers import InProcessTrainer

    trainer = InProcessTrainer(threads=1, num_train_epochs=2, learning_rate=1e-1)
    predictor = InProcessPredictor(tiny_student, trainer)
    folder = tmp_path_factory.mktemp("taught")
    predictor.train(DATA, TrainingRun(directory=folder))
    return folder / "adapter"


@pytest.mark.slow
def test_a_student_with_an_adapter_starts_with_it_and_reset_goes_back_to_it(
    tiny_student, taught, make_trainer, tmp_path
):
    untouched = answers(InProcessPredictor(tiny_student))
    predictor = InProcessPredictor(tiny_student, make_trainer(), adapter=taught)
    first = answers(predictor)
    assert first != untouched
    save_nothing(tmp_path / "nothing", "s")
    predictor.load(tmp_path / "nothing")
    assert answers(predictor) == untouched
    predictor.reset()
    assert answers(predictor) == first
    predictor.save(tmp_path / "saved")
    assert hash_files(tmp_path / "saved") == hash_files(taught)
    assert predictor.describe()["adapter"] == hash_files(taught)
    assert "adapter" not in InProcessPredictor(tiny_student).describe()


def test_a_training_from_the_base_starts_from_the_adapter_that_was_there_first(
    tiny_student, taught, tmp_path
):
    trainer = Returns(taught)
    predictor = InProcessPredictor(tiny_student, trainer, adapter=taught)
    predictor.train(DATA, TrainingRun(directory=tmp_path))
    assert [config.adapter_name_or_path for config in trainer.asked] == [str(taught)]
    (tmp_path / "2").mkdir()
    predictor.train([], TrainingRun(directory=tmp_path / "2"))
    assert hash_files(tmp_path / "2" / "adapter") == hash_files(taught)


# --- whole students, in this process ---


def test_a_whole_student_is_answered_with_saved_and_loaded_again(tiny_student, whole, tmp_path):
    predictor = InProcessPredictor(tiny_student, Returns(whole, finetuning_type="full"))
    untouched, expected = answers(predictor), answers(InProcessPredictor(whole))
    assert untouched != expected
    predictor.train(DATA, TrainingRun(directory=tmp_path))
    assert answers(predictor) == expected
    predictor.save(tmp_path / "saved")
    predictor.reset()
    assert answers(predictor) == untouched
    predictor.load(tmp_path / "saved")
    assert answers(predictor) == expected
    assert answers(InProcessPredictor(tiny_student, adapter=whole)) == expected


def test_a_training_continues_from_a_whole_student(tiny_student, whole, tmp_path):
    predictor = InProcessPredictor(
        tiny_student, Returns(whole, finetuning_type="full"), adapter=whole
    )
    predictor.train(DATA, TrainingRun(directory=tmp_path, start="adapter"))
    assert TrainingConfig.read(tmp_path / "training.yaml").model_name_or_path == str(whole)


def test_a_whole_student_that_does_not_fit_leaves_the_student_as_it_was(
    tiny_student, make_student, whole, tmp_path
):
    predictor = InProcessPredictor(tiny_student)
    predictor.load(whole)
    before = answers(predictor)
    other = make_student(tmp_path / "other", words=("more", "words"))
    with pytest.raises(AdapterError, match="made from another"):
        predictor.load(other)
    (other / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(AdapterError, match="is broken"):
        predictor.load(other)
    assert answers(predictor) == before


# --- trainers of one's own ---


def test_a_trainer_needs_only_train(tiny_student, whole, tmp_path):
    trainer = Returns(str(whole))
    assert isinstance(trainer, TrainerInterface)
    predictor = InProcessPredictor(tiny_student, trainer)
    predictor.train(DATA, TrainingRun(tmp_path, seed=3))
    (config,) = trainer.asked
    assert config.model_name_or_path == str(tiny_student)
    usual = TrainingConfig()
    assert (config.lora_rank, config.learning_rate) == (usual.lora_rank, usual.learning_rate)
    assert predictor.describe()["training"] == {}
