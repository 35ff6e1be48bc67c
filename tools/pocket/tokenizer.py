"""The pocket student's tokenizer: whole words and single digits, with bytes as a fallback.

A byte-level BPE without merges. Its vocabulary contains every word of the pocket tasks, the digits
with and without a space before them, and all 256 bytes. Known pieces are one token; any other text
becomes bytes, so every text round-trips.

The chat template marks turns only by special tokens, `<|user|>...<|end|><|assistant|>...<|end|>`:
pieces tokenized separately, as trainers do, give the same tokens as the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, END = "<|pad|>", "<|end|>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>")
CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|' + message['role'] + '|>' + (message['content'] or '') }}"
    "{%- for call in message['tool_calls'] or [] -%}"
    "{{ call['function'] | tojson }}"
    "{%- endfor -%}"
    "{{ '<|end|>' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|assistant|>' }}{%- endif -%}"
)
_PIECE = r" ?\p{L}+| ?\p{N}| ?#+| ?[^\s\p{L}\p{N}#]|\s+"
"""Words, single digits, runs of `#` and single symbols, each with the space before it."""


def build_tokenizer(texts: Iterable[str], *, vocab_size: int) -> PreTrainedTokenizerFast:
    """A tokenizer with one token for each word and symbol of `texts` and for each digit.

    Raises:
        ValueError: if that takes more than `vocab_size` tokens. Unused tokens are reserved.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    split = pre_tokenizers.Split(Regex(_PIECE), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words = {piece for text in texts for piece, _ in split.pre_tokenize_str(text)}
    words |= {space + digit for digit in "0123456789" for space in ("", " ")}
    encoded = {to_bytes.pre_tokenize_str(word)[0][0] for word in words}

    pieces = [PAD, END, *ROLES, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    pieces += sorted(encoded - set(pieces))
    if len(pieces) > vocab_size:
        raise ValueError(f"{len(pieces)} tokens are needed, vocab_size is {vocab_size}")
    pieces += [f"<|reserved_{i}|>" for i in range(vocab_size - len(pieces))]

    backend = Tokenizer(
        models.BPE({piece: i for i, piece in enumerate(pieces)}, [], ignore_merges=True)
    )
    backend.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([piece for piece in pieces if re.fullmatch(r"<\|\w+\|>", piece)])
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        pad_token=PAD,
        eos_token=END,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
        padding_side="left",
    )
    return tokenizer
