"""A model like SmolLM2 learns in process: grouped keys, tied embeddings, ChatML, byte-level BPE."""

import shutil

import pytest

from dataenvgym.interfaces import SamplingParameters, TrainingRun
from dataenvgym.records import ChatDatum, Message, SupervisedDatum, Tool, ToolCall
from dataenvgym.records.tool_formats import read_reply
from dataenvgym.storage import read_json, write_json
from dataenvgym.students.predictors import InProcessPredictor, generation
from dataenvgym.students.trainers import InProcessTrainer, compute
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


ADD = Tool(name="add", description="Adds.", parameters={"properties": {"a": {"type": "integer"}}})
CALL = ToolCall(name="add", arguments={"a": 12})
ERRAND = ChatDatum(
    tools=(ADD,),
    messages=(
        Message(role="user", content="Add 12."),
        Message(role="assistant", content="I add.", tool_calls=(CALL,)),
        Message(role="tool", content="24"),
        Message(role="assistant", content="It is 24."),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("smallest", [1, compute.LARGE], ids=["as large", "as small"])
def test_it_learns_to_call_a_tool(tiny_smollm, tmp_path, monkeypatch, smallest):
    monkeypatch.setattr(compute, "LARGE", smallest)
    options = {"num_train_epochs": 40, "lora_rank": 16, "learning_rate": 1e-2, "cutoff_len": 700}
    trainer = InProcessTrainer(threads=1, lora_target="all", **options)
    folder = shutil.copytree(tiny_smollm, tmp_path / "student")
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", config | {"max_position_embeddings": 1024})
    student = InProcessPredictor(folder, trainer, threads=1, tool_format="hermes")
    student.train([ERRAND], TrainingRun(directory=tmp_path / "run"))
    asked = ERRAND.conversation[:1]
    (reply,) = student.predict([asked], SamplingParameters(max_tokens=80))
    assert read_reply(asked, reply.text).message == ERRAND.messages[1]


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
