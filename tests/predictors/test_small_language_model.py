"""A model like SmolLM2 learns in process: grouped keys, tied embeddings, ChatML, byte-level BPE."""

import pytest
import torch

from dataenvgym.interfaces import Reply, SamplingParameters, TrainingRun
from dataenvgym.predictors import InProcessPredictor
from dataenvgym.predictors.checkpoints import ADAPTER_FILES
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.trainers import InProcessTrainer
from dataenvgym.trainers.examples import IGNORED, supervised_examples
from dataenvgym.trainers.student import load_tokenizer

GREEDY = SamplingParameters(max_tokens=12)
DATA = [SupervisedDatum(instruction=f"{n} {n}?", output="the inn 12") for n in range(12)]
ASKED = [(Message(role="user", content=datum.instruction),) for datum in DATA]


@pytest.fixture
def make(tiny_smollm):
    def make():
        options = {"num_train_epochs": 12, "lora_rank": 16, "learning_rate": 1e-2}
        trainer = InProcessTrainer(threads=1, lora_target="all", **options)
        return InProcessPredictor(tiny_smollm, trainer, threads=1, batch_size=8)

    return make


def texts(replies):
    assert all(isinstance(reply, Reply) for reply in replies)
    return [reply.text for reply in replies]


def test_it_is_computed_in_float32_and_answers_like_transformers(make, tiny_smollm):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(tiny_smollm)
    tokenizer = AutoTokenizer.from_pretrained(tiny_smollm)
    expected = []
    for (message,) in ASKED:
        chat = [{"role": "user", "content": message.content}]
        asked = tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        output = model.generate(**asked, max_new_tokens=12, do_sample=False)[0]
        new = output[asked["input_ids"].shape[1] :]
        expected.append(tokenizer.decode(new, skip_special_tokens=True))
    predictor = make()
    assert texts(predictor.predict(ASKED, GREEDY)) == expected
    assert predictor._student.model.dtype == torch.float32


def test_a_reply_is_learned_with_its_end_which_is_also_the_padding(tiny_smollm):
    tokenizer = load_tokenizer(str(tiny_smollm))
    assert tokenizer.pad_token_id == tokenizer.eos_token_id
    (example,) = supervised_examples(DATA[:1], tokenizer, 512)
    learned = [token for token in example.labels if token != IGNORED]
    assert tokenizer.decode(learned) == "the inn 12<|im_end|>\n"
    text = tokenizer.decode(example.tokens)
    assert text.startswith("<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\n0 0?")
    chat = [
        {"role": "user", "content": DATA[0].instruction},
        {"role": "assistant", "content": DATA[0].output},
    ]
    assert text == tokenizer.apply_chat_template(chat, tokenize=False)


def test_what_it_learns_is_saved_loaded_and_forgotten(make, tmp_path):
    predictor = make()
    before = texts(predictor.predict(ASKED, GREEDY))
    predictor.train(DATA, TrainingRun(directory=tmp_path))
    learned = texts(predictor.predict(ASKED, GREEDY))
    assert learned == [datum.output for datum in DATA] != before
    predictor.save(tmp_path / "saved")
    assert all((tmp_path / "saved" / name).is_file() for name in ADAPTER_FILES)
    other = make()
    other.load(tmp_path / "saved")
    assert texts(other.predict(ASKED, GREEDY)) == learned
    predictor.reset()
    assert texts(predictor.predict(ASKED, GREEDY)) == before
