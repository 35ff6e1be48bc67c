import torch
from torch.utils.data import RandomSampler

from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.examples import IGNORED, Example
from dataenvgym.students.trainers.loop import epoch_order, updates
from dataenvgym.students.trainers.objectives import pad


def test_the_order_is_the_one_that_a_seeded_random_sampler_draws():
    for epoch in range(3):
        generator = torch.Generator().manual_seed(7 + epoch)
        assert epoch_order(50, 7, epoch) == list(RandomSampler(range(50), generator=generator))


def test_every_epoch_sees_every_example_once_in_another_order():
    config = TrainingConfig(per_device_train_batch_size=4, num_train_epochs=2)
    steps = updates(10, config)
    assert [len(step.batches[0]) for step in steps] == [4, 4, 2, 4, 4, 2]
    first, second = ([i for s in steps[a : a + 3] for i in s.batches[0]] for a in (0, 3))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert [round(s.epoch, 2) for s in steps] == [0.33, 0.67, 1.0, 1.33, 1.67, 2.0]


def test_accumulated_batches_make_one_step_and_an_epochs_rest_another():
    config = TrainingConfig(
        per_device_train_batch_size=2, gradient_accumulation_steps=2, num_train_epochs=1
    )
    assert [[len(b) for b in step.batches] for step in updates(9, config)] == [[2, 2], [2, 2], [1]]


def test_a_fraction_of_an_epoch_and_a_number_of_steps_end_a_training_early():
    assert (
        len(updates(10, TrainingConfig(per_device_train_batch_size=1, num_train_epochs=1.5))) == 15
    )
    assert len(updates(10, TrainingConfig(per_device_train_batch_size=1, max_steps=23))) == 23


def test_padding_is_masked_and_not_learned():
    batch = pad([Example([5, 6, 7], [IGNORED, 6, 7]), Example([8], [8])], 0, torch.device("cpu"))
    assert batch.tokens.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert batch.mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch.labels.tolist() == [[IGNORED, 6, 7], [8, IGNORED, IGNORED]]
