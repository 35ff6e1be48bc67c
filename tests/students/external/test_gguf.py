import gguf
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from dataenvgym.students.external.gguf import convert
from dataenvgym.students.trainers.student import fingerprint
from tests.students.external.tiny_gguf import write_gguf

TEXTS = (
    "the thing and  the 1234 others, 5.",
    "x=  12\n\n  34\t7",
    "Ünï 漢字 ½ ① 🙂",
    "<|im_start|>user\nhi<|im_end|>\n",
)


@pytest.fixture(scope="module")
def file(tiny_smollm, tmp_path_factory):
    return write_gguf(tiny_smollm, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(scope="module")
def converted(file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("converted")
    convert(file, folder)
    return folder


def test_a_converted_model_has_the_weights_and_settings_of_the_file(tiny_smollm, converted):
    before, after = map(AutoModelForCausalLM.from_pretrained, (tiny_smollm, converted))
    assert after.dtype == torch.float32
    assert all(torch.equal(v, after.state_dict()[k]) for k, v in before.state_dict().items())
    assert after.lm_head.weight is after.model.embed_tokens.weight
    same = ("num_key_value_heads", "rope_parameters", "max_position_embeddings", "eos_token_id")
    for name in (*same, "bos_token_id", "pad_token_id", "head_dim", "intermediate_size"):
        assert getattr(after.config, name) == getattr(before.config, name), name
    assert after.config.rms_norm_eps == pytest.approx(before.config.rms_norm_eps)
    assert after.generation_config.eos_token_id == 2
    assert not hasattr(after.config, "quantization_config")


def test_a_converted_tokenizer_splits_texts_as_before_and_round_trips(tiny_smollm, converted):
    before, after = map(AutoTokenizer.from_pretrained, (tiny_smollm, converted))
    assert after.get_vocab() == before.get_vocab()
    assert (after.eos_token, after.pad_token) == ("<|im_end|>", "<|im_end|>")
    for text in TEXTS:
        ids = after(text, add_special_tokens=False).input_ids
        assert ids == before(text, add_special_tokens=False).input_ids
        assert after.decode(ids) == text
    chat = [{"role": "user", "content": "hi 12"}]
    prompts = (t.apply_chat_template(chat, add_generation_prompt=True) for t in (before, after))
    assert len({str(prompt) for prompt in prompts}) == 1


def test_dequantized_weights_are_kept_exactly(tiny_smollm, tmp_path):
    file = write_gguf(tiny_smollm, tmp_path / "q4_1.gguf", quantize=True)
    convert(file, tmp_path)
    tensors = {t.name: t for t in gguf.GGUFReader(file).tensors}
    packed = tensors["blk.1.ffn_down.weight"]
    assert packed.tensor_type.name == "Q4_1"
    expected = torch.from_numpy(gguf.dequantize(packed.data, packed.tensor_type).copy())
    state = AutoModelForCausalLM.from_pretrained(tmp_path).state_dict()
    assert torch.equal(state["model.layers.1.mlp.down_proj.weight"], expected)
    assert not torch.equal(expected, expected.bfloat16().float())


def test_the_same_file_becomes_the_same_student(file, converted, tmp_path):
    convert(file, tmp_path)
    assert fingerprint(str(tmp_path)) == fingerprint(str(converted))
    assert "transformers_version" not in (tmp_path / "config.json").read_text()
