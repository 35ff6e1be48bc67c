"""Convert a GGUF file to a folder in Hugging Face format, with float32 weights.

    python -m dataenvgym.students.external.gguf FILE.gguf FOLDER

Float32 keeps each dequantized weight: bfloat16 would round 82% of those of SmolLM2, float16 48%.
The files depend on the weights only, not on the version of transformers, so that a hash of the
folder identifies the student on every machine.

It runs in a process of its own (see `models`), which returns the memory and keeps transformers'
progress bars from the terminal.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dataenvgym.storage import read_json, write_json

_VARYING = (
    "transformers_version",
    "_name_or_path",
    "_model_name_or_path",
    "local_files_only",
    "is_local",
)
"""Keys of configuration files that say by which program and from where they were written."""


def convert(file: Path, folder: Path) -> None:
    """Write the model in a GGUF file, a Llama with byte-level BPE, to `folder`, which exists."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    options: dict[str, Any] = {"gguf_file": file.name, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
    read = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
    _write_tokenizer(tokenizer, read.config.max_position_embeddings, folder)
    # transformers refuses to save a model that was read from GGUF
    config = {k: v for k, v in read.config.to_dict().items() if k != "quantization_config"}
    model = LlamaForCausalLM(LlamaConfig.from_dict(config))
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    for settings in folder.glob("*.json"):
        if settings.name != "tokenizer.json":
            content = read_json(settings)
            write_json(settings, {k: v for k, v in content.items() if k not in _VARYING})


def _write_tokenizer(tokenizer: Any, longest: int, folder: Path) -> None:
    """Write the tokenizer with SmolLM2's way to split texts, which transformers does not read.

    GGUF names it ("smollm"): each digit is a token, and then the parts are split like GPT-2's.
    """
    from tokenizers import pre_tokenizers

    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.model_max_length = longest
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
