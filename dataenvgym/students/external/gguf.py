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

from dataenvgym.errors import ExternalError
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
    """Write the model in a GGUF file to `folder`, which exists.

    Raises:
        ExternalError: if the file is not a complete GGUF file of a Llama with byte-level BPE and a
            chat template.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    try:
        options: dict[str, Any] = {"gguf_file": file.name, "trust_remote_code": False}
        tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
        read = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
    except Exception as error:  # numpy, gguf and transformers raise what they like for a cut file
        raise ExternalError(
            f"{file.name} cannot be read as GGUF, it may be cut: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(read, LlamaForCausalLM):
        raise ExternalError(f"{file.name} has a {type(read).__name__}, expected a LlamaForCausalLM")
    if tokenizer.chat_template is None:
        raise ExternalError(f"{file.name} has no chat template, which a student needs")
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
    try:
        convert(Path(sys.argv[1]), Path(sys.argv[2]))
    except (ExternalError, OSError, MemoryError) as error:
        sys.exit(str(error) or type(error).__name__)
