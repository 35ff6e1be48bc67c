"""Values for the student's chat template: evaluation and training see the same tokens."""

import pickle

import pytest
import torch

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import AdapterJob, SamplingParameters, TrainingRun
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
)
from dataenvgym.records.tool_formats import LLAMA_FACTORY
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors import InProcessPredictor, OpenAIPredictor
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import IGNORED
from dataenvgym.students.trainers.in_process import prepare
from tests.students.predictors.chat_templates import TEMPLATES

QWEN3 = TEMPLATES["thoughts of earlier turns are left out"]
# Granite's switch: another system message
GRANITE = (
    "{% if messages[0].role != 'system' %}<|system|>You answer.{% if thinking %} Think first{% "
    "endif %}{{ level }}<|end|>{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
    "<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
OFF, ON = {"enable_thinking": False}, {"enable_thinking": True}
THOUGHT = "<think>\nhm\n</think>\n\n"
HISTORY = (("Hi", f"{THOUGHT}Hello"),)
RECORDS = {
    "supervised": SupervisedDatum(instruction="1+1?", output="2"),
    "supervised, system": SupervisedDatum(instruction="1+1?", output="2", system="Be brief."),
    "supervised, thought": SupervisedDatum(instruction="1+1?", output=f"{THOUGHT}2"),
    "chat": ChatDatum(messages=(Message(role="user", content="1+1?"), Message(
        role="assistant", content="2"))),
    "preference": PreferenceDatum(
        instruction="1+1?", chosen="2", rejected="3", history=HISTORY, system="Be brief."
    ),
    "kto": KTODatum(instruction="1+1?", output="2", desirable=True, history=HISTORY),
    "scored": ScoredDatum(
        messages=(Message(role="user", content="1+1?"), Message(role="assistant", content="2")),
        weights=(1.0,),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def qwen(make_student, tmp_path_factory):
    return make_student(tmp_path_factory.mktemp("qwen"), chat_template=QWEN3, context=512)


@pytest.fixture(scope="module")
def granite(make_student, tmp_path_factory):
    return make_student(tmp_path_factory.mktemp("granite"), chat_template=GRANITE, context=512)


def predictor_of(student, kwargs, **options):
    trainer = InProcessTrainer(threads=1, num_train_epochs=1, **options)
    return InProcessPredictor(student, trainer, threads=1, chat_template_kwargs=kwargs)


def trained_on(predictor, record, folder):
    """The tokens and labels of a record in the training that the predictor writes."""
    predictor.train([record], TrainingRun(directory=folder))
    config = TrainingConfig.read(folder / "training.yaml")
    with workers(1, torch.device("cpu")) as run:
        _, objective = prepare(config, torch.device("cpu"), run)
    (first,) = objective.examples
    for name in ("chosen", "example"):
        first = getattr(first, name, first)
    return first.tokens, first.labels


def asked_with(predictor, record):
    tokenizer = predictor._student.base.tokenizer
    (tokens,) = encode_prompts(tokenizer, [record.prompt], LLAMA_FACTORY, context=None)
    return tokens, tokenizer


@pytest.mark.parametrize("kwargs", [None, OFF, ON], ids=["none", "off", "on"])
@pytest.mark.parametrize("name", RECORDS)
def test_training_and_evaluation_see_the_same_tokens(qwen, tmp_path, name, kwargs):
    predictor, record = predictor_of(qwen, kwargs, cutoff_len=512), RECORDS[name]
    tokens, labels = trained_on(predictor, record, tmp_path)
    prompt, tokenizer = asked_with(predictor, record)
    assert tokens[: len(prompt)] == prompt
    assert set(labels[: len(prompt)]) == {IGNORED}
    assert IGNORED not in labels[len(prompt) :]
    text = tokenizer.decode(prompt)
    assert text.endswith("<think>\n\n</think>\n\n") == (kwargs == OFF)
    learned = tokenizer.decode(tokens[len(prompt) :])
    before = "" if kwargs == OFF else THOUGHT if "thought" in name else THOUGHT.replace("hm", "")
    assert learned == f"{before}2<|end|>"


def test_the_template_itself_renders_the_same_prompt(qwen):
    predictor = predictor_of(qwen, OFF)
    chat = [{"role": "user", "content": "1+1?"}]
    prompt, _ = asked_with(predictor, RECORDS["supervised"])
    plain = InProcessPredictor(qwen)._student.base.tokenizer
    text = plain.apply_chat_template(
        chat, add_generation_prompt=True, tokenize=False, enable_thinking=False
    )
    assert plain(text, add_special_tokens=False)["input_ids"] == prompt


def test_any_value_that_the_template_reads_holds_in_process(granite, tmp_path):
    said = """ it's "x" ☃ 🙂\n{{ y }}"""
    predictor = predictor_of(granite, {"thinking": True, "level": said}, cutoff_len=512)
    record = RECORDS["supervised"]
    tokens, _ = trained_on(predictor, record, tmp_path)
    prompt, tokenizer = asked_with(predictor, record)
    assert tokens[: len(prompt)] == prompt
    assert f"You answer. Think first{said}<|end|>" in tokenizer.decode(prompt)


def test_the_training_file_has_llama_factorys_name_for_it(qwen, granite, tmp_path):
    predictor_of(qwen, OFF).train([RECORDS["supervised"]], TrainingRun(directory=tmp_path / "a"))
    text = (tmp_path / "a" / "training.yaml").read_text()
    assert "enable_thinking: false\n" in text
    assert "chat_template_kwargs" not in text
    predictor_of(qwen, None).train([RECORDS["supervised"]], TrainingRun(directory=tmp_path / "b"))
    text = (tmp_path / "b" / "training.yaml").read_text()
    assert "enable_thinking" not in text
    assert "chat_template_kwargs" not in text


def test_a_copy_answers_alike_and_the_values_are_part_of_who_it_is(qwen):
    predictor = predictor_of(qwen, OFF)
    copy = pickle.loads(pickle.dumps(predictor))
    asked = [(Message(role="user", content=str(n)),) for n in range(8)]
    sampling = SamplingParameters(max_tokens=8)
    replies = copy.predict(asked, sampling)
    assert replies == predictor.predict(asked, sampling)
    assert replies != predictor_of(qwen, None).predict(asked, sampling)
    assert predictor.describe()["chat_template_kwargs"] == OFF
    assert "chat_template_kwargs" not in predictor_of(qwen, None).describe()


def test_a_value_that_the_template_does_not_read_is_refused(qwen, granite, tiny_student):
    with pytest.raises(ConfigurationError, match="enable_thinking"):
        predictor_of(qwen, {"enable_thinkin": False})
    with pytest.raises(ConfigurationError, match="thinking"):
        predictor_of(granite, {"messages": [], "thinking": True})
    with pytest.raises(ConfigurationError, match="none: leave it"):
        predictor_of(tiny_student, OFF)
    with pytest.raises(ConfigurationError, match="no template"):
        InProcessPredictor(qwen, format="completion", chat_template_kwargs=OFF)


class LlamaFactory:
    """A trainer that reads LLaMA-Factory's file."""

    def __init__(self, **options):
        self.config = TrainingConfig(**options)

    def train(self, config_path):
        raise NotImplementedError


def test_what_llama_factory_cannot_express_is_refused_before_the_run(qwen, granite, make_student,
                                                                     tmp_path):  # fmt: skip
    def make(student, kwargs, **options):
        trainer = LlamaFactory(**options)
        return InProcessPredictor(student, trainer, chat_template_kwargs=kwargs)

    for kwargs in (OFF, ON):
        assert make(qwen, kwargs).chat_template_kwargs == kwargs
    differ = "prompts would differ from those of the evaluation"
    with pytest.raises(ConfigurationError, match=differ):
        make(granite, {"thinking": True})
    with pytest.raises(ConfigurationError, match=differ):
        make(qwen, {"enable_thinking": 0})
    # nor does LLaMA-Factory leave the prompt as this template does
    other = QWEN3.replace("{{ '<think>\n\n</think>\n\n' }}", "")
    assert other != QWEN3
    with pytest.raises(ConfigurationError, match=differ):
        make(make_student(tmp_path / "other", chat_template=other), OFF)
    # LLaMA-Factory finds no thought in these replies, so it would not add one
    silent = QWEN3.replace("loop.index0 > ns.last and", "false and")
    student = make_student(tmp_path / "silent", chat_template=silent)
    with pytest.raises(ConfigurationError, match=differ):
        make(student, OFF)
    assert predictor_of(student, OFF).chat_template_kwargs == OFF
    with pytest.raises(ConfigurationError, match="qwen"):
        make(qwen, OFF, template="qwen3")
    with pytest.raises(ConfigurationError, match="enable_thinking"):
        make(qwen, OFF, extra={"enable_thinking": True})


def test_many_adapters_are_trained_with_the_values_and_by_trainers_that_can(granite, tmp_path):
    predictor = predictor_of(granite, {"thinking": True})
    records = [RECORDS["supervised"]]
    job = AdapterJob(records=records, run=TrainingRun(directory=tmp_path / "a"))
    other = AdapterJob(
        records=records, run=TrainingRun(directory=tmp_path / "b"), trainer=LlamaFactory()
    )
    trained, failed = predictor.train_each([job, other])
    assert trained == tmp_path / "a" / "adapter"
    config = TrainingConfig.read(tmp_path / "a" / "training.yaml")
    assert config.chat_template_kwargs == {"thinking": True}
    assert "prompts would differ" in failed.reason


def test_a_vllm_server_gets_the_values_with_each_request(make, qwen, stand_in):
    from tests.students.predictors.conftest import ask

    assert str(ask(make(InProcessTrainer(), student=qwen, chat_template_kwargs=OFF))).endswith("|?")
    assert str(ask(make(InProcessTrainer(), student=qwen))).endswith("|?")
    given, plain = stand_in.events("ask")
    assert given["chat_template_kwargs"] == OFF
    assert "chat_template_kwargs" not in plain
    with pytest.raises(ConfigurationError, match="'thinks'"):
        make(InProcessTrainer(), student=qwen, chat_template_kwargs={"thinks": True})


def test_another_server_gets_them_and_openai_itself_is_refused(stand_in):
    with stand_in.runs("--model", "gpt", "--served-model-name", "gpt") as url:
        options = {"base_url": url, "api_key_variable": None}
        predictor = OpenAIPredictor("gpt", chat_template_kwargs=OFF, **options)
        copy = pickle.loads(pickle.dumps(predictor))
        copy.predict([(Message(role="user", content="?"),)], SamplingParameters())
        (asked,) = stand_in.events("ask")
        assert asked["chat_template_kwargs"] == OFF
        assert copy.describe()["chat_template_kwargs"] == OFF
        with pytest.raises(ConfigurationError, match="completion has"):
            OpenAIPredictor("gpt", format="completion", chat_template_kwargs=OFF, **options)
    with pytest.raises(ConfigurationError, match="takes none"):
        OpenAIPredictor("gpt", chat_template_kwargs=OFF)
