"""Where the processor seconds of a language model go, in generation and training on CPU.

    python -m benchmarks.lm_profile [FOLDER] [--dtype float32|bfloat16]

The work is that of the benchmark `lm`, on one thread: 32 replies of 64 tokens, and a training step
of 16 x 128 tokens. torch's profiler counts the time of each operation without those that it calls.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from benchmarks.common import print_table, write_results
from benchmarks.lm_peers import RANK, our_generation, our_training
from dataenvgym.students.external.models import external_models

KINDS = ("output layer", "other products with weights", "LoRA's products", "attention", "the rest")


def main() -> None:
    """A table with a row for each kind of operation."""
    import torch
    from transformers import AutoConfig

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", help="a model in Hugging Face format")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    options = parser.parse_args()
    folder = str(options.folder or external_models()["smollm2"].require().folder)
    config = AutoConfig.from_pretrained(folder)
    torch.set_num_threads(1)
    works = {"generation": our_generation, "training": our_training}
    found = {}
    for name, work in works.items():
        with closing(work(folder, options.dtype, 1)) as rounds:
            found[name] = _shares(rounds, config.vocab_size)
    rows = [{"operations": kind, **{f"{name}_%": 100 * shares.get(kind, 0.0)
            for name, shares in found.items()}} for kind in KINDS]  # fmt: skip
    print_table(rows)
    write_results(f"lm_profile_{options.dtype}", {"shares": rows})


def _shares(rounds: Iterator[int], vocabulary: int) -> dict[str, float]:
    """The share of each kind in the time of the second round."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    everywhere = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    next(rounds)
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, experimental_config=everywhere
    ) as profiled:
        next(rounds)
    times: dict[str, float] = defaultdict(float)
    for one in profiled.key_averages(group_by_input_shape=True):
        times[_kind(one, vocabulary)] += one.self_cpu_time_total
    return {kind: time / sum(times.values()) for kind, time in times.items()}


def _kind(one: Any, vocabulary: int) -> str:
    name, sizes = one.key, [size for shape in one.input_shapes for size in shape or ()]
    if "attention" in name or ("softmax" in name and vocabulary not in sizes):
        return "attention"
    if any(part in name for part in ("linear", "mm", "mkldnn")):
        if vocabulary in sizes:
            return "output layer"
        is_lora = RANK in sizes and "mkldnn" not in name  # 16 may also be the rows of a batch
        return "LoRA's products" if is_lora else "other products with weights"
    return "output layer" if vocabulary in sizes else "the rest"


if __name__ == "__main__":
    main()
