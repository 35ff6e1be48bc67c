"""A model like SmolLM2 learns in process: grouped keys, tied embeddings, ChatML, byte-level BPE."""

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.students.predictors import InProcessPredictor, generation
from dataenvgym.students.trainers import compute
from dataenvgym.students.trainers.examples import IGNORED, supervised_examples
from dataenvgym.students.trainers.student import load_tokenizer


def test_a_reply_is_learned_with_its_end_which_is_also_the_padding(tiny_smollm):
    tokenizer = load_tokenizer(str(tiny_smollm))
    assert tokenizer.pad_token_id == tokenizer.eos_token_id
    record = SupervisedDatum(instruction="0 0?", output="the inn 12")
    (example,) = supervised_examples([record], tokenizer, 512)
    learned = [token for token in example.labels if token != IGNORED]
    assert tokenizer.decode(learned) == "the inn 12<|im_end|>\n"
    text = tokenizer.decode(example.tokens)
    assert text.startswith("<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\n0 0?")
    chat = [
        {"role": "user", "content": record.instruction},
        {"role": "assistant", "content": record.output},
    ]
    assert text == tokenizer.apply_chat_template(chat, tokenize=False)


def test_samples_of_a_prompt_share_a_batch_of_a_large_model(tiny_smollm, monkeypatch):
    monkeypatch.setattr(compute, "LARGE", 1)
    batches = []
    real = generation.generate

    def generate(model, prompts, *arguments, **options):
        batches.append({tuple(prompt) for prompt in prompts})
        return real(model, prompts, *arguments, **options)

    monkeypatch.setattr(generation, "generate", generate)
    student = InProcessPredictor(tiny_smollm, threads=1, batch_size=4)
    asked = [(Message(role="user", content=text),) for text in ("1 2?", "3 4?")] * 4
    sampling = SamplingParameters(temperature=1.0, max_tokens=3)
    replies = [reply.text for reply in student.predict(asked, sampling)]
    assert list(map(len, batches)) == [1, 1]
    assert len(set(replies[::2])) > 1
    assert [reply.text for reply in student.predict(asked[:3], sampling)] == replies[:3]
