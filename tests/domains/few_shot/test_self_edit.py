import json

import numpy as np
import pytest

from dataenvgym.domains.few_shot.augmentations import GROUPS, NOTHING, examples_of, read_self_edit
from tests.domains.few_shot.puzzles import problem

EDIT = {
    "data_generation": {f"use_{group}_augmentations": group == "size" for group in GROUPS},
    "training": {"strategy": "train_using_output_tokens", "learning_rate": 1e-4}
    | {"num_train_epochs": 2},
}


def changed(part, **fields):
    return json.dumps(EDIT | {part: EDIT[part] | fields})


def without(part, name):
    return json.dumps(EDIT | {part: {k: v for k, v in EDIT[part].items() if k != name}})


def made(one, groups=(), seed=0):
    return examples_of(one, groups, np.random.default_rng(seed))


@pytest.mark.parametrize("text", [json.dumps(EDIT), f"Sure:\n```json\n{json.dumps(EDIT)}\n```"])
def test_a_self_edit_is_read_from_a_reply(text):
    edit = read_self_edit(text)
    assert edit.failure == ""
    assert edit.data_generation.groups == ("size",)
    assert edit.training.strategy == "train_using_output_tokens"
    assert (edit.training.learning_rate, edit.training.num_train_epochs) == (1e-4, 2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I would turn the grids: [1]", "no JSON object"),
        (without("data_generation", "use_size_augmentations"), "use_size_augmentations"),
        (without("training", "strategy"), "strategy"),
        (changed("training", strategy="train_hard"), "strategy"),
        (changed("training", num_train_epochs=-1), "num_train_epochs"),
        (changed("training", learning_rate="1e-4"), "learning_rate"),
        (changed("training", learning_rate=True), "learning_rate"),
        (changed("data_generation", use_basic_augmentations="yes"), "use_basic_augmentations"),
        (changed("data_generation", use_color_augmentations=True), "use_color_augmentations"),
    ],
)
def test_an_edit_that_cannot_be_read_fails_with_0_epochs(text, reason):
    edit = read_self_edit(text)
    assert reason in edit.failure
    assert edit.training.num_train_epochs == 0
    assert edit.data_generation == NOTHING.data_generation


@pytest.mark.parametrize(
    ("epochs", "examples", "fails"), [(3, 250, False), (4, 188, True), (4, 187, False)]
)
def test_an_edit_fails_above_375_steps_in_batches_of_two(epochs, examples, fails):
    edit = read_self_edit(changed("training", num_train_epochs=epochs)).for_examples(examples)
    assert bool(edit.failure) == fails
    assert edit.training.num_train_epochs == (0 if fails else epochs)


def test_one_demonstration_is_to_be_solved_and_the_others_are_shown_or_all_but_one():
    one = problem(shown=4)
    examples = made(one)
    assert {len(example) for example in examples} == {3, 4}
    tasks = {(frozenset(map(one.demonstrations.index, e[:-1])), e[-1]) for e in examples}
    assert len(tasks) == 4 + 4 * 3
    assert all(last not in shown for *shown, last in examples)
    assert {p for e in examples for p in e} == {*one.demonstrations}


def test_at_most_250_different_examples_are_made():
    examples = made(problem(shown=5), GROUPS)
    assert len(examples) == 250 == len({*examples})
    assert len(made(problem(shown=2), ("basic",))) <= 2 * 2 * 12


def test_examples_with_a_grid_that_becomes_too_large_are_dropped():
    one = problem(shown=3, size=20)
    sizes = {(len(p.output), len(p.output[0])) for e in made(one, GROUPS) for p in e}
    assert sizes == {(20, 21), (21, 20)}


def test_colors_are_permuted_only_together_with_augmentations():
    one = problem(shown=3)
    plain = {*one.demonstrations}
    assert {p for e in made(one) for p in e} == plain
    assert {p for e in made(one, ("size",)) for p in e} > plain
