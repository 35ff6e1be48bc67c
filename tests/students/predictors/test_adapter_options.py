"""Adapters that PEFT writes, with any of its options: replies are PEFT's, or it is refused."""

import json
import random

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.interfaces import SamplingParameters, TrainingRun
from dataenvgym.records import Message, SupervisedDatum
from dataenvgym.records.tool_formats import LLAMA_FACTORY
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.predictors.checkpoints import write_merged
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers import InProcessTrainer

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:peft"),
    pytest.mark.filterwarnings("ignore::FutureWarning:transformers"),
]

ASKED = [(Message(role="user", content=f"{n} " * (n % 5 + 1)),) for n in range(4)]
GREEDY = SamplingParameters(max_tokens=6)
MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
TARGETS = [
    ["lm_head"],
    ["embed_tokens"],
    ["q_proj", "lm_head"],
    ["embed_tokens", "lm_head", "v_proj"],
    list(MODULES),
    r".*\.(q|v)_proj",
    "all-linear",
]
OPTIONS = [
    {},
    {"use_rslora": True},
    {"use_dora": True},
    {"rank_pattern": {"q_proj": 2, r"^model\.layers\.1\.mlp\.up_proj": 3}},
    {"alpha_pattern": {"q_proj": 3, "lm_head": 40, "embed_tokens": 1}},
    {"layers_to_transform": [1], "layers_pattern": "layers", "target_modules": ["q_proj"]},
    {"layers_to_transform": 0, "target_modules": ["q_proj", "up_proj"]},
    {"exclude_modules": r".*\.0\..*"},
    {"bias": "all"},
    {"bias": "lora_only"},
    {"fan_in_fan_out": True},
    {"modules_to_save": ["lm_head"], "target_modules": ["q_proj"]},
    {"modules_to_save": ["embed_tokens", "lm_head"], "target_modules": ["up_proj"]},
    {"modules_to_save": ["norm"]},
    {"init_lora_weights": "gaussian"},
    {"init_lora_weights": "orthogonal", "target_modules": ["k_proj", "lm_head"]},
    {"lora_dropout": 0.5, "revision": "main"},
    {"task_type": None},
]  # fmt: skip
REFUSED = [
    {"init_lora_weights": "pissa"},
    {"lora_bias": True, "target_modules": ["q_proj"]},
    {"layer_replication": [[0, 2], [1, 2]], "target_modules": ["q_proj"]},
    {"trainable_token_indices": [3, 4], "target_modules": ["q_proj"]},
    {"task_type": "SEQ_CLS"},
    {"lora_alpha": None},
    {"lora_alpha": "16"},
    {"r": 0},
    {"use_dora": 1},
    {"target_modules": None},
    {"rank_pattern": {"(a|a)*$": 3}},
    {"rank_pattern": {"q_proj": None}},
    {"alpha_pattern": ["q_proj"]},
    {"bias": "some"},
    {"peft_type": "LOHA"},
    {"option_of_tomorrow": {"x": 1}},
]


@pytest.fixture(scope="module", params=["tied", pytest.param("untied", marks=pytest.mark.slow)])
def student(request, make_student, tmp_path_factory):
    """The tied student; and one with another output layer, and with biases."""
    folder = make_student(tmp_path_factory.mktemp("students") / request.param, context=512)
    if request.param == "tied":
        return folder
    config = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(1)
    config |= {"tie_word_embeddings": False, "attention_bias": True}
    head = weights["model.embed_tokens.weight"]
    weights["lm_head.weight"] = head[:, torch.randperm(head.shape[1], generator=generator)].clone()
    for name in [name for name in weights if "_attn." in name]:
        bias = torch.randn(len(weights[name]), generator=generator) * 0.1
        weights[name.replace(".weight", ".bias")] = bias
    (folder / "config.json").write_text(json.dumps(config))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def write_adapter(student, folder, options, seed=0):
    """An adapter with random weights, by PEFT itself."""
    options = {"target_modules": ["q_proj"], "task_type": "CAUSAL_LM", **options}
    base = AutoModelForCausalLM.from_pretrained(student)
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, **options))
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                size = (
                    weight.detach().std() if "magnitude" not in name and weight.std() > 0 else 0.2
                )
                weight.data += torch.randn(weight.shape, generator=generator) * max(
                    float(size), 0.1
                )
    model.save_pretrained(folder)
    return folder


def replies_of_peft(student, folder, predictor):
    """The replies and logits of PEFT's model, with nothing merged."""
    base = AutoModelForCausalLM.from_pretrained(student)
    model = PeftModel.from_pretrained(base, folder).eval()
    tokenizer = predictor._student.base.tokenizer
    replies, logits = [], []
    for prompt in encode_prompts(tokenizer, ASKED, LLAMA_FACTORY, context=None):
        tokens = torch.tensor([prompt])
        with torch.inference_mode():
            for i in range(GREEDY.max_tokens):
                found = model(input_ids=tokens).logits
                logits += [found] if i == 0 else []
                tokens = torch.cat([tokens, found[:, -1:].argmax(-1)], dim=1)
                if int(tokens[0, -1]) == tokenizer.eos_token_id:
                    break
        replies.append(tokenizer.decode(tokens[0, len(prompt) :], skip_special_tokens=True))
    return replies, logits


def texts(replies):
    return [reply.text for reply in replies]


def logits_of(model, predictor):
    prompts = encode_prompts(predictor._student.base.tokenizer, ASKED, LLAMA_FACTORY, context=None)
    with torch.inference_mode():
        return [model(input_ids=torch.tensor([prompt])).logits for prompt in prompts]


def cases():
    """Every target and every option, each with a few of the others."""
    rng = random.Random(0)
    for options in OPTIONS:
        yield {"target_modules": rng.choice(TARGETS), **options}
    for targets in TARGETS:
        yield {**rng.choice(OPTIONS[1:5]), "target_modules": targets}


@pytest.mark.parametrize("options", list(cases()), ids=str)
def test_replies_are_those_of_pefts_unmerged_model(student, tmp_path, options):
    folder = write_adapter(student, tmp_path / "adapter", options)
    predictor = InProcessPredictor(student, adapter=folder, threads=1)
    expected, logits = replies_of_peft(student, folder, predictor)
    assert texts(predictor.predict(ASKED, GREEDY)) == expected
    merged = predictor._student.model
    for ours, theirs in zip(logits_of(merged, predictor), logits, strict=True):
        assert torch.allclose(ours, theirs, atol=2e-3, rtol=1e-3)
    untouched = InProcessPredictor(student, threads=1)
    base = texts(untouched.predict(ASKED, GREEDY))
    together = untouched.predict_each([folder, None, folder, None], ASKED, GREEDY)
    assert texts(together) == [expected[0], base[1], expected[2], base[3]]


@pytest.mark.parametrize("targets", TARGETS[:3], ids=str)
def test_a_merged_student_on_disk_answers_like_the_adapter(student, tmp_path, targets):
    folder = write_adapter(student, tmp_path / "adapter", {"target_modules": targets})
    predictor = InProcessPredictor(student, adapter=folder, threads=1)
    write_merged(str(student), folder, tmp_path / "merged")
    whole = InProcessPredictor(tmp_path / "merged", threads=1)
    assert whole.predict(ASKED, GREEDY) == predictor.predict(ASKED, GREEDY)


@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_an_option_that_would_give_other_replies_is_refused_by_name(
    tiny_student, tmp_path_factory, tmp_path, options
):
    folder = write_adapter(tiny_student, tmp_path, {})
    file = folder / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **options}))
    predictor = InProcessPredictor(tiny_student, adapter=folder, threads=1)
    with pytest.raises(AdapterError, match=next(iter(options))):
        predictor.predict(ASKED, GREEDY)


def test_an_option_that_is_off_may_be_unknown(tiny_student, tmp_path):
    folder = write_adapter(tiny_student, tmp_path, {})
    predictor = InProcessPredictor(tiny_student, adapter=folder, threads=1)
    replies = predictor.predict(ASKED, GREEDY)
    file = folder / "adapter_config.json"
    new = {"option_of_tomorrow": False, "another": None, "modules_to_save": None}
    file.write_text(json.dumps({**json.loads(file.read_text()), **new}))
    assert InProcessPredictor(tiny_student, adapter=folder).predict(ASKED, GREEDY) == replies
    config = {**json.loads(file.read_text()), "modules_to_save": ["norm"]}
    file.write_text(json.dumps(config))
    with pytest.raises(AdapterError, match="does not fit"):  # PEFT would take random weights
        InProcessPredictor(tiny_student, adapter=folder).predict(ASKED, GREEDY)


@pytest.mark.parametrize("targets", ["q_proj,lm_head", "embed_tokens, up_proj"])
def test_a_trained_adapter_answers_like_the_model_that_was_trained(student, tmp_path, targets):
    trainer = InProcessTrainer(
        threads=1, lora_target=targets, lora_rank=4, learning_rate=0.01, num_train_epochs=4
    )
    predictor = InProcessPredictor(student, trainer, threads=1)
    untouched = predictor.predict(ASKED, GREEDY)
    records = [SupervisedDatum(instruction=f"{n} ", output=f"{n * n} fine") for n in range(8)]
    predictor.train(records, TrainingRun(directory=tmp_path))
    expected, _ = replies_of_peft(student, tmp_path / "adapter", predictor)
    assert texts(predictor.predict(ASKED, GREEDY)) == expected != texts(untouched)
    evaluated = InProcessPredictor(student, adapter=tmp_path / "adapter", threads=1)
    assert texts(evaluated.predict(ASKED, GREEDY)) == expected


@pytest.mark.parametrize("targets", ["q_proj,nowhere", "all,lm_head", "norm"])
def test_a_target_that_the_student_lacks_is_refused(tiny_student, tmp_path, targets):
    predictor = InProcessPredictor(tiny_student, InProcessTrainer(lora_target=targets))
    records = [SupervisedDatum(instruction="1", output="2")]
    with pytest.raises(ConfigurationError, match="lora_target"):
        predictor.train(records, TrainingRun(directory=tmp_path))
