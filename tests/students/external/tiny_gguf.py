"""Write a small model as GGUF."""

from pathlib import Path

import gguf
import numpy as np
from transformers import AutoModelForCausalLM, AutoTokenizer

_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(model_folder: Path, file: Path, *, quantize: bool = False) -> Path:
    """Write the model in `model_folder` as llama.cpp's converter does, in float32 or Q4_1."""
    model = AutoModelForCausalLM.from_pretrained(model_folder)
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    config = model.config
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_rope_dimension_count(config.head_dim)
    backend = tokenizer.backend_tokenizer
    pieces = [backend.id_to_token(i) for i in range(config.vocab_size)]
    special = set(tokenizer.all_special_tokens)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(pieces)
    writer.add_token_types([3 if piece in special else 1 for piece in pieces])
    writer.add_token_merges([f"{a} {b}" for a, b in _merges(tokenizer)])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_unk_token_id(tokenizer.unk_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_add_bos_token(False)
    if tokenizer.chat_template is not None:
        writer.add_chat_template(tokenizer.chat_template)
    for name, tensor in model.state_dict().items():
        if name != "lm_head.weight":
            _add_tensor(writer, name, tensor.numpy(), config, quantize=quantize)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _merges(tokenizer):
    import json

    return json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]


def _add_tensor(writer, name, values, config, *, quantize):
    if name == "model.embed_tokens.weight":
        name = "token_embd.weight"
    elif name == "model.norm.weight":
        name = "output_norm.weight"
    else:
        _, _, layer, part = name.split(".", 3)
        part = part.removesuffix(".weight")
        heads = {
            "self_attn.q_proj": config.num_attention_heads,
            "self_attn.k_proj": config.num_key_value_heads,
        }
        if part in heads:  # llama.cpp pairs the dimensions of a head in another order
            halves = values.reshape(heads[part], 2, -1, values.shape[1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        name = f"blk.{layer}.{_NAMES[part]}.weight"
    values = np.ascontiguousarray(values)
    if quantize and values.ndim == 2:
        kind = gguf.GGMLQuantizationType.Q4_1
        writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)
    else:
        writer.add_tensor(name, values)
