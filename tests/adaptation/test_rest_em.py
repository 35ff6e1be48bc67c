import torch

from dataenvgym.adaptation import EditResult, kept_edits
from dataenvgym.adaptation.rest_em import policy_record
from dataenvgym.interfaces import SamplingParameters, TrainingRun
from dataenvgym.records import Message, ScoredDatum, SupervisedDatum
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.predictors.checkpoints import save_nothing, write_merged
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import (
    padding_token,
    scored_examples,
    supervised_examples,
)
from dataenvgym.students.trainers.objectives import CrossEntropy, ScoredTurns, padder
from dataenvgym.students.trainers.student import load_base_model, load_tokenizer, twin


def edits(*means, baseline=0.6, context="c"):
    return [
        EditResult(context=context, sample=i, text=f"edit {i}", baseline=baseline, accuracies=each)
        for i, each in enumerate(m if isinstance(m, tuple) else (m,) for m in means)
    ]


def samples(results):
    return [result.sample for result in results]


def test_the_first_of_the_best_means_is_kept():
    assert samples(kept_edits(edits(0.2, 0.6, 0.6))) == [1]
    assert samples(kept_edits(edits((0.2, 0.4), (1.0, 0.0), (0.5, 0.4)))) == [1]
    assert samples(kept_edits(edits((0.8, 0.6, 1.0), (0.8, 0.8, 0.8)))) == [0]  # floats differ
    two = [*edits(0.2, 0.6), *edits(0.0, 0.0, 0.1, context="d")]
    assert [(r.context, r.sample) for r in kept_edits(two)] == [("c", 1), ("d", 2)]


def test_with_gain_required_nothing_is_kept_that_only_equals_the_base():
    assert kept_edits(edits(0.2, 0.6, 0.6), needs_gain=True) == []
    assert samples(kept_edits(edits(0.2, 0.6, 0.7), needs_gain=True)) == [2]
    assert kept_edits(edits((0.8, 0.2, 0.8)), needs_gain=True) == []  # .6000000000000001
    assert kept_edits(edits(0.7, baseline=None), needs_gain=True) == []


def test_every_success_is_kept_where_the_score_is_binary():
    assert samples(kept_edits(edits(1.0, 0.0, 1.0, (1.0, 0.0)), "successes")) == [0, 2]


def test_answers_that_were_lost_make_no_edit_better():
    lucky, plain = edits(1.0, 0.5)
    lucky = lucky.model_copy(update={"n_unscored": 4})
    assert samples(kept_edits([lucky, plain])) == [1]
    assert samples(kept_edits([lucky])) == [0]  # there is no other
    assert kept_edits([lucky], "successes") == []


def test_an_edit_that_failed_or_was_not_scored_is_never_kept():
    bad, empty, unscored, best = edits(1.0, 1.0, None, 0.1)
    bad = bad.model_copy(update={"failure": "there is no JSON object"})
    empty = empty.model_copy(update={"text": ""})
    assert samples(kept_edits([bad, empty, unscored, best])) == [3]
    assert kept_edits([bad, empty, unscored], "successes") == []


def test_a_partly_scored_edit_has_the_mean_of_what_was_scored():
    assert samples(kept_edits(edits((None, 0.5), (0.4, 0.4)))) == [0]


def test_the_writer_learns_the_prompt_of_an_edit_and_the_edit():
    prompt = (Message(role="system", content="s"), Message(role="user", content="write"))
    record = policy_record(prompt, "1. A")
    assert (record.prompt, record.messages[-1].content) == (prompt, "1. A")


# --- learning ---


def test_weights_of_0_and_1_give_the_gradient_of_training_on_what_is_kept(tiny_student):
    cpu, config = torch.device("cpu"), TrainingConfig(scored_reduction="sum")
    tokenizer = load_tokenizer(str(tiny_student))
    model = twin(load_base_model(str(tiny_student), device=cpu, dtype=torch.float32))
    model.requires_grad_(True)
    prompt = (Message(role="user", content="write"),)
    texts = ["1. A", "1. B\n2. C, and more", "nothing"]
    weights = [0.0, 1.0, 1.0]
    records = [policy_record(prompt, text) for text in texts]
    scored = [
        ScoredDatum(messages=record.messages, weights=(weight,))
        for record, weight in zip(records, weights, strict=True)
    ]
    padding = padder(padding_token(tokenizer), cpu)

    def gradient(losses):
        model.zero_grad()
        sum(losses).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    with workers(1, cpu) as run:
        weighted = ScoredTurns(scored_examples(scored, tokenizer, 100), config, padding, model, run)
    kept = [r for r, weight in zip(records, weights, strict=True) if weight]
    filtered = CrossEntropy(supervised_examples(kept, tokenizer, 100), padding)
    # one record in a batch, as each loss is a mean over its tokens
    of_weights = gradient(weighted.loss(model, [i], None) for i in range(3))
    of_kept = gradient(
        filtered.scales([[i]])[0] * filtered.loss(model, [i], None) for i in range(2)
    )
    assert of_kept.abs().max() > 0.01
    torch.testing.assert_close(of_weights, of_kept, rtol=1e-4, atol=1e-6)


def test_a_merged_student_answers_like_its_adapter(tiny_student, tmp_path):
    trainer = InProcessTrainer(threads=1, num_train_epochs=20, learning_rate=2e-2)
    student = InProcessPredictor(tiny_student, trainer, threads=1)
    (tmp_path / "run").mkdir()
    record = SupervisedDatum(instruction="say", output="yes")
    student.train([record], TrainingRun(directory=tmp_path / "run"))
    write_merged(student.student, tmp_path / "run/adapter", tmp_path / "merged")
    asked, sampling = [record.prompt] * 2, SamplingParameters(max_tokens=8)
    merged = InProcessPredictor(tmp_path / "merged", threads=1)
    assert [reply.text for reply in student.predict(asked, sampling)] == ["yes", "yes"]
    assert merged.predict(asked, sampling) == student.predict(asked, sampling)
    student.reset()
    assert merged.predict(asked, sampling) != student.predict(asked, sampling)
    # nothing was learned: the merged student is the student
    save_nothing(tmp_path / "nothing", student.student)
    write_merged(student.student, tmp_path / "nothing", tmp_path / "same")
    same = InProcessPredictor(tmp_path / "same", threads=1)
    assert same.predict(asked, sampling) == student.predict(asked, sampling)
