"""Tokens per second of a language model on CPU: ours beside other programs.

    make bench-lm BENCH_ARGS="--rounds 3 --gguf FILE"
    python -m benchmarks.lm [FOLDER] [--rounds N] [--limit SECONDS] [--dtype float32|bfloat16]
        [--gguf FILE] [--wait default|passive] [--only NAME,NAME]

FOLDER is a model in Hugging Face format; default: SmolLM2-135M-Instruct of
`dataenvgym external install smollm2`.

    generation    32 prompts, 64 new tokens each, greedy: transformers' `generate`, vLLM, and
                  llama.cpp (with --gguf FILE and the package `xllamacpp` in an environment of its
                  own, whose Python is `LLAMA_CPP_PYTHON`), which computes with the weights as they
                  are in FILE, whatever --dtype says
    training      LoRA of rank 16 on all linear layers, AdamW, steps of 16 x 128 tokens of which the
                  last 64 are learned: TRL's SFTTrainer, with its recomputation of activations (its
                  default) and without; LLaMA-Factory, which recomputes by default

Each program is a process of its own with two threads (`lm_peers.py`) that computes one round at a
time; the programs take turns, so all of them meet the same load. The table has medians over the
rounds, of the wall clock and of processor seconds, and the largest memory of the process. A program
that fails, or needs more than SECONDS for a round (the first, which is not counted, has its start
too), leaves the table with a word why. All programs write to a temporary folder only.

Take published figures on a machine with no other work, with the default of --wait. OpenMP's threads
wait for each other by spinning: where another process holds one of two cores, llama.cpp with two
threads fell from 73 tokens a second to 1, which looked like a hang, and vLLM is slowed too. With
`--wait passive` they sleep while they wait, which is the fair comparison on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from benchmarks.common import print_table, write_results
from dataenvgym.students.external.environments import external_environment
from dataenvgym.students.external.models import external_models

PEERS = Path(__file__).with_name("lm_peers.py")
LAST_LINES = 15
"""Of what a failed program wrote, these are shown."""


class LeftOut(Exception):
    """A program failed or took too long: says why."""


class Peer:
    """A process that computes a round whenever it reads a line."""

    def __init__(self, name: str, python: Path, arguments: list[str], wait: str) -> None:
        self.name = name
        self.rounds: list[dict[str, float]] = []
        self.left_out = ""
        self._folder = tempfile.TemporaryDirectory(prefix="dataenvgym-lm-")
        folder = Path(self._folder.name)
        self._said = folder / "messages.txt"
        passive = {"OMP_WAIT_POLICY": "passive"} if wait == "passive" else {}
        with self._said.open("w") as said:
            self._process = subprocess.Popen(
                [str(python), "-P", str(PEERS), name, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                cwd=folder,
                start_new_session=True,
                env={
                    **os.environ,
                    **passive,
                    "OMP_NUM_THREADS": "2",
                    "VLLM_CPU_OMP_THREADS_BIND": "0-1",
                    "VLLM_CPU_KVCACHE_SPACE": "1",
                    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
                    "VLLM_NO_USAGE_STATS": "1",
                    "VLLM_CACHE_ROOT": str(folder / "vllm"),
                    "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
                    "HF_HUB_OFFLINE": "1",
                    "HF_DATASETS_CACHE": str(folder / "datasets"),
                    "PYTHONPATH": str(PEERS.parents[1]) if name == "ours" else "",
                },
            )
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def round(self, limit: float) -> dict[str, float]:
        """One round: its seconds, its processor seconds, its tokens, the memory so far (GB)."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=limit)
        except queue.Empty:
            raise LeftOut(f"no answer within {limit:g} s") from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise LeftOut(f"it ended with status {self._process.wait()}")
        found: dict[str, float] = json.loads(line)
        return found

    def leave_out(self, reason: str) -> None:
        """End the process and say why, with the last that it wrote."""
        self.left_out = reason
        lines = self._said.read_text(errors="replace").splitlines()[-LAST_LINES:]
        print(f"{self.name} is left out: {reason}. Its last messages:", file=sys.stderr)
        print(*(f"    {line[:300]}" for line in lines), sep="\n", file=sys.stderr, flush=True)
        self.close()

    def close(self) -> None:
        """End the process, with those that it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", help="a model in Hugging Face format")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=240, help="seconds for each round")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--gguf", type=Path, help="the same model for llama.cpp")
    parser.add_argument("--wait", default="default", choices=("default", "passive"))
    parser.add_argument("--only", default="", help="names of programs, with commas")
    options = parser.parse_args()
    folder = Path(options.folder or external_models()["smollm2"].require().folder).absolute()
    pythons = _programs(options.gguf)
    known = [name for programs in pythons.values() for name in programs]
    only = set(filter(None, options.only.split(",")))
    if unknown := only - set(known):
        raise SystemExit(f"--only has {sorted(unknown)}, expected some of {known}")
    tables = {}
    for work, programs in pythons.items():
        chosen = {name: python for name, python in programs.items() if not only or name in only}
        arguments = [
            work,
            str(folder),
            options.dtype,
            str(options.gguf and options.gguf.absolute()),
        ]
        if chosen:
            peers = [Peer(name, p, arguments, options.wait) for name, p in chosen.items()]
            tables[work] = _table(work, peers, options.rounds, options.limit)
            print_table(tables[work])
    kept = {"rounds": options.rounds, "wait": options.wait, **tables}
    write_results(f"lm_{options.dtype}", kept)


def _programs(gguf: Path | None) -> dict[str, dict[str, Path]]:
    """The Python of each program, and a line for each that is not there."""
    ours = Path(sys.executable)
    generate, train = {"ours": ours, "transformers": ours}, {"ours": ours}
    for name in ("vllm", "llamafactory"):
        environment = external_environment(name)
        if not environment.is_installed:
            print(f"without {name}: {environment.how_to_install}", file=sys.stderr)
        elif name == "vllm":
            generate[name] = environment.python
        else:
            peers = ("trl", "trl (recomputing)", "llama-factory (recomputing)")
            train |= dict.fromkeys(peers, environment.python)
    if gguf and (python := os.environ.get("LLAMA_CPP_PYTHON")):
        generate["llama.cpp"] = Path(python)
    else:
        print("without llama.cpp: it needs --gguf FILE and LLAMA_CPP_PYTHON", file=sys.stderr)
    return {"generate": generate, "train": train}


def _table(work: str, peers: list[Peer], rounds: int, limit: float) -> list[dict[str, Any]]:
    for number in range(rounds + 1):
        for peer in [peer for peer in peers if not peer.left_out]:
            try:
                found = peer.round(limit)
            except LeftOut as error:
                peer.leave_out(str(error))
                continue
            speed = found["tokens"] / found["wall_s"]
            told = f"{speed:,.0f} tokens per second" if number else f"{found['wall_s']:.0f} s"
            print(f"{work}, round {number}, {peer.name}: {told}", file=sys.stderr, flush=True)
            if number:  # the first one warms up
                peer.rounds.append(found)
    for peer in peers:
        peer.close()
    rows = [_row(work, peer) for peer in peers]
    ours = rows[0] if peers[0].name == "ours" and not peers[0].left_out else None
    for row in rows:
        row |= {"ours_is_faster_by": "", "in_cpu_s": ""}
        if ours is not None and not row["left_out"]:
            row["ours_is_faster_by"] = ours["tokens_per_s"] / row["tokens_per_s"]
            row["in_cpu_s"] = row["cpu_s"] / ours["cpu_s"]
        row["left_out"] = row.pop("left_out")
    return rows


def _row(work: str, peer: Peer) -> dict[str, Any]:
    if peer.left_out:
        nothing = dict.fromkeys(("tokens_per_s", "cpu_s", "memory_gb"), "")
        return {work: peer.name, **nothing, "left_out": peer.left_out}
    return {
        work: peer.name,
        "tokens_per_s": statistics.median(r["tokens"] / r["wall_s"] for r in peer.rounds),
        "cpu_s": statistics.median(r["cpu_s"] for r in peer.rounds),
        "memory_gb": max(r["memory_gb"] for r in peer.rounds),
        "left_out": "",
    }


if __name__ == "__main__":
    main()
