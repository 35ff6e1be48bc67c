"""Estimates by gradients agree with what a training without the record shows."""

import pytest

from dataenvgym.records import SupervisedDatum
from dataenvgym.storage import hash_files
from dataenvgym.students.trainers.influence import GoldAnswers
from tests.students.trainers.test_in_process import prepare

GOLD = [SupervisedDatum(instruction=f"say {n}", output="yes yes") for n in range(4)]
USEFUL = [SupervisedDatum(instruction=f"tell {n}", output="yes yes") for n in range(6)]
HARMFUL = [SupervisedDatum(instruction=f"tell me {n}", output="no no no") for n in range(6)]


@pytest.fixture
def training(tiny_student, tmp_path):
    """A training on useful and harmful records: its trainer, its file, and the gold answers."""
    trainer, path = prepare(tmp_path, tiny_student, [*USEFUL, *HARMFUL], learning_rate=1e-2)
    config = trainer.config.read(path)
    return trainer, path, config, GoldAnswers(GOLD, config, 1, "cpu")


def test_a_record_that_helps_has_a_higher_estimate_than_one_that_harms(training):
    _, _, config, gold = training
    effects = gold.effects(config)
    assert min(effects[:6]) > max(0, *effects[6:])
    assert sum(map(abs, effects)) == pytest.approx(12)


def test_the_loss_is_that_of_the_adapter(training):
    trainer, path, _, gold = training
    untouched, trained = gold.loss(None), gold.loss(trainer.train(path))
    trainer.left_out = range(6, 12)
    useful = gold.loss(trainer.train(path))
    assert useful < trained
    assert useful < untouched


def test_a_training_that_leaves_nothing_out_is_the_same_bit_for_bit(training):
    trainer, path, _, _ = training
    before = hash_files(trainer.train(path))
    trainer.left_out = {0}
    assert hash_files(trainer.train(path)) != before
    trainer.left_out = ()
    assert hash_files(trainer.train(path)) == before
