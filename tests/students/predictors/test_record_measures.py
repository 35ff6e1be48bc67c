"""Losses and influences of records, measured with a student that stays as it is."""

import numpy as np
import pytest
import torch

from dataenvgym.errors import ConfigurationError, UnsupportedStageError
from dataenvgym.interfaces import TrainingRun
from dataenvgym.records import SupervisedDatum, TextDatum
from dataenvgym.storage import hash_files
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.trainers import InProcessTrainer, record_measures
from dataenvgym.students.trainers.in_process import training

USEFUL = [SupervisedDatum(instruction=f"tell {n}", output="yes yes") for n in range(4)]
OTHER = [SupervisedDatum(instruction=f"tell me {n}", output="no no no!") for n in range(4)]
GOLD = [SupervisedDatum(instruction=f"say {n}", output="yes yes") for n in range(3)]


def make(student, **options):
    options = {"num_train_epochs": 3, "lora_rank": 4, "learning_rate": 1e-2, **options}
    return InProcessPredictor(student, InProcessTrainer(threads=1, **options), threads=1)


@pytest.fixture
def predictor(tiny_student):
    return make(tiny_student)


def test_losses_are_in_the_order_of_the_records_and_of_the_student_as_it_is(predictor, tmp_path):
    mixed = [OTHER[0], USEFUL[0], OTHER[1]]
    before = predictor.losses(mixed)
    assert before == pytest.approx([predictor.losses([record])[0] for record in mixed])
    predictor.train(USEFUL, TrainingRun(tmp_path))
    after = predictor.losses(mixed)
    assert before[1] - after[1] > max(before[0] - after[0], 0.5)


def test_the_loss_after_learning_is_that_of_a_trained_copy(predictor, tmp_path):
    after = predictor.losses([*USEFUL, *OTHER], learned=USEFUL, seed=3)
    assert not predictor.has_learned
    predictor.train(USEFUL, TrainingRun(tmp_path, seed=3))
    saved = hash_files(tmp_path / "adapter")
    assert predictor.losses([*USEFUL, *OTHER]) == after
    predictor.influences(USEFUL, [GOLD], warmup=OTHER, epochs=1)
    predictor.save(tmp_path / "again")
    assert hash_files(tmp_path / "again") == saved


def test_a_record_like_the_targets_has_more_influence_and_the_largest_group_counts(predictor):
    pool = [*USEFUL, *OTHER]
    options = {"warmup": [USEFUL[0], OTHER[0]], "epochs": 2}
    values = predictor.influences(pool, [GOLD], **options)
    assert min(values[:4]) > max(values[4:])
    assert values == predictor.influences(pool, [GOLD], **options)
    both = predictor.influences(pool, [GOLD, OTHER[1:]], **options)
    alone = predictor.influences(pool, [OTHER[1:]], **options)
    largest = [max(pair) for pair in zip(values, alone, strict=True)]
    assert both == pytest.approx(largest, rel=1e-4)
    assert both != pytest.approx(values, rel=1e-4)


def test_an_update_has_the_momentum_of_the_training(tiny_student):
    """The training itself changes nothing here, so only the momentum can make a difference."""
    values = [
        make(tiny_student, learning_rate=1e-9, extra={"adam_beta1": beta}).influences(
            [*USEFUL[:2], *OTHER[:2]], [GOLD], warmup=OTHER, epochs=1
        )
        for beta in (0.0, 0.9)
    ]
    assert not np.allclose(*values, rtol=0.1, atol=0.0)


def test_gradients_of_many_records_at_once_are_those_of_each_alone(predictor, monkeypatch):
    pool, options = [*USEFUL, *OTHER], {"warmup": USEFUL, "epochs": 2}
    together = predictor.influences(pool, [GOLD], **options)
    monkeypatch.setattr(record_measures, "layout_of", lambda model: None)
    alone = predictor.influences(pool, [GOLD], **options)
    assert together != alone  # another order of additions
    assert np.allclose(together, alone, rtol=0.05)


@pytest.mark.parametrize("options", [{}, {"extra": {"train_on_prompt": True}}])
def test_influences_are_of_the_tokens_that_the_trainer_learns(tiny_student, tmp_path, options):
    config = make(tiny_student, **options)._file(USEFUL, tmp_path)
    with training(config, 1, "cpu") as begun:
        found = record_measures._objective(config, torch.device("cpu"))
        assert found.examples == begun.objective.examples


def test_options_and_records_that_cannot_be_measured_are_refused(predictor):
    with pytest.raises(ConfigurationError, match="0 records to measure"):
        predictor.losses([])
    with pytest.raises(ConfigurationError, match="kind 'text'"):
        predictor.influences([TextDatum(text="a")], [GOLD], warmup=GOLD, epochs=1)
    predictor.trainer.config = predictor.trainer.config.with_options(use_dora=True)
    with pytest.raises(UnsupportedStageError, match="use_dora is True"):
        predictor.influences(USEFUL, [GOLD], warmup=GOLD, epochs=1)
