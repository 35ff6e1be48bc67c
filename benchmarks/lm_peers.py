"""One program of the benchmark `lm`, in its own environment; imports nothing of this repository.

    python lm_peers.py NAME WORK FOLDER DTYPE GGUF

It computes a round for each line that it reads, and prints its figures as a line of JSON; nothing
else comes to its standard output. It writes files only to the current folder.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

RANK, LEARNED = 16, 64
LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
QUESTIONS = ("Explain {} to a child.", "List ten facts about {}.", "Write a story about {}.")
THEMES = ("photosynthesis", "the moon", "gravity", "bicycles", "volcanoes", "honey bees", "rivers")


def main() -> None:
    """Answer lines until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # some programs log to the standard output
    name, work, folder, dtype, gguf = sys.argv[1:]
    rounds = (
        _generating(name, folder, dtype, gguf)
        if work == "generate"
        else _training(name, folder, dtype)
    )
    while sys.stdin.readline():
        wall, cpu = time.perf_counter(), time.process_time()
        tokens = next(rounds)
        found = {
            "tokens": tokens,
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        }
        print(json.dumps(found), file=answers, flush=True)


def _questions() -> list[str]:
    draw = random.Random(0)
    return [f"{draw.choice(QUESTIONS).format(draw.choice(THEMES))} ({i})" for i in range(32)]


def _generating(name: str, folder: str, dtype: str, gguf: str) -> Iterator[int]:
    """Yields the number of tokens of each round."""
    chats = [[{"role": "user", "content": question}] for question in _questions()]
    if name == "ours":
        yield from our_generation(folder, dtype)
    if name == "llama.cpp":
        yield from _llama_cpp(chats, gguf)
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder, padding_side="left")
    texts = [
        tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        for chat in chats
    ]
    if name == "vllm":
        import vllm

        # without a cache of prefixes over rounds: the others compute each round anew
        llm: Any = vllm.LLM(
            folder, dtype=dtype, max_model_len=512, max_num_seqs=32, enable_prefix_caching=False
        )
        sampling = vllm.SamplingParams(temperature=0.0, max_tokens=64)
        while True:
            outputs = llm.generate(texts, sampling, use_tqdm=False)
            yield sum(len(output.outputs[0].token_ids) for output in outputs)
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(2)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
    width = inputs["input_ids"].shape[1]
    while True:
        with torch.inference_mode():
            found = model.generate(**inputs, max_new_tokens=64, do_sample=False)
        yield int((found[:, width:] != tokenizer.pad_token_id).sum())


def our_generation(folder: str, dtype: Any, threads: int = 2) -> Generator[int, None, None]:
    """Yields the number of tokens of each round."""
    from dataenvgym.interfaces import SamplingParameters
    from dataenvgym.records import Message
    from dataenvgym.students.predictors import InProcessPredictor

    predictor = InProcessPredictor(folder, threads=threads, dtype=dtype)
    conversations = [(Message(role="user", content=question),) for question in _questions()]
    while True:
        replies: Any = predictor.predict(conversations, SamplingParameters(max_tokens=64))
        yield sum(reply.completion_tokens for reply in replies)


def _llama_cpp(chats: list[list[dict[str, str]]], gguf: str) -> Iterator[int]:
    from concurrent.futures import ThreadPoolExecutor

    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = gguf
    parameters.n_parallel, parameters.n_ctx = 32, 32 * 256
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 2
    server = xllamacpp.Server(parameters)

    def ask(chat: list[dict[str, str]]) -> int:
        reply: Any = server.handle_chat_completions(
            {"messages": chat, "max_tokens": 64, "temperature": 0.0, "cache_prompt": False}
        )
        return int(reply["usage"]["completion_tokens"])

    with ThreadPoolExecutor(32) as pool:
        while True:
            yield sum(pool.map(ask, chats))


def _rows() -> list[list[int]]:
    draw = random.Random(0)
    return [[draw.randrange(3, 49_000) for _ in range(128)] for _ in range(64)]


def _training(name: str, folder: str, dtype: str) -> Iterator[int]:
    """Yields the number of tokens of each step."""
    import torch

    if name == "ours":
        yield from our_training(folder, dtype)
    if name.startswith("llama-factory"):
        yield from _llama_factory(folder, dtype)
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import SFTConfig, SFTTrainer

    torch.set_num_threads(2)
    mask = [0] * (128 - LEARNED) + [1] * LEARNED
    data = Dataset.from_list([{"input_ids": row, "completion_mask": mask} for row in _rows()] * 50)
    config = SFTConfig(
        output_dir="out",
        per_device_train_batch_size=16,
        max_steps=200,
        learning_rate=1e-4,
        gradient_checkpointing=name != "trl",
        bf16=dtype == "bfloat16",
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        completion_only_loss=True,
        max_length=128,
        disable_tqdm=True,
    )
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
    trainer = SFTTrainer(
        model,
        config,
        train_dataset=data,
        processing_class=AutoTokenizer.from_pretrained(folder),
        peft_config=LoraConfig(
            r=RANK, lora_alpha=2 * RANK, target_modules=LAYERS, task_type="CAUSAL_LM"
        ),
    )
    wait, steps = _steps(TrainerCallback)
    trainer.add_callback(wait)
    yield from steps(trainer.train)


def _llama_factory(folder: str, dtype: str) -> Iterator[int]:
    """Its command `train`, with its defaults; only the tokens of the data set are ours."""
    from unittest.mock import patch

    import torch
    from datasets import Dataset
    from llamafactory.train.sft import workflow
    from llamafactory.train.tuner import run_exp
    from transformers import TrainerCallback

    torch.set_num_threads(2)
    rows = [
        {
            "input_ids": row,
            "attention_mask": [1] * 128,
            "labels": [-100] * (128 - LEARNED) + row[-LEARNED:],
        }
        for row in _rows()
    ]
    data = {"train_dataset": Dataset.from_list(rows * 50)}
    options = {
        "model_name_or_path": folder,
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "lora",
        "lora_rank": RANK,
        "lora_target": "all",
        "template": "default",
        "dataset": "none",
        "cutoff_len": 128,
        "output_dir": "out",
        "per_device_train_batch_size": 16,
        "gradient_accumulation_steps": 1,
        "max_steps": 200,
        "learning_rate": 1e-4,
        "bf16": dtype == "bfloat16",
        "use_cpu": True,
        "report_to": "none",
        "save_strategy": "no",
    }
    wait, steps = _steps(TrainerCallback)
    with patch.object(workflow, "get_dataset", lambda *_, **__: data):
        yield from steps(lambda: run_exp(options, [wait]))


def _steps(callback: Any) -> tuple[Any, Callable[[Callable[[], Any]], Iterator[int]]]:
    """A callback that waits before each step, and what makes a training with it a generator."""
    import queue
    from concurrent.futures import Future, ThreadPoolExecutor

    go: queue.Queue[None] = queue.Queue()
    done: queue.Queue[Future[Any] | int] = queue.Queue()

    class Wait(callback):  # type: ignore[misc]
        def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
            go.get()

        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            done.put(16 * 128)

    def steps(train: Callable[[], Any]) -> Iterator[int]:
        training = ThreadPoolExecutor(1).submit(train)
        training.add_done_callback(done.put)
        while True:
            go.put(None)
            found = done.get()
            if isinstance(found, Future):
                raise RuntimeError(f"the training came to its end: {found.result()}")
            yield found

    return Wait(), steps


def our_training(folder: str, dtype: str, threads: int = 2) -> Generator[int, None, None]:
    """Yields the number of tokens of each step."""
    import torch

    from dataenvgym.students.llama_factory import TrainingConfig
    from dataenvgym.students.trainers import adapters
    from dataenvgym.students.trainers.compute import workers
    from dataenvgym.students.trainers.examples import IGNORED, Example
    from dataenvgym.students.trainers.loop import optimize
    from dataenvgym.students.trainers.objectives import CrossEntropy, padder
    from dataenvgym.students.trainers.student import load_base_model

    cpu = torch.device("cpu")
    config = TrainingConfig(
        lora_rank=RANK,
        lora_target="all",
        bf16=dtype == "bfloat16",
        per_device_train_batch_size=16,
        gradient_accumulation_steps=1,
        max_steps=200,
        learning_rate=1e-4,
    )
    examples = [Example(row, [IGNORED] * (128 - LEARNED) + row[-LEARNED:]) for row in _rows()]
    with workers(threads, cpu) as run:
        base = load_base_model(folder, device=cpu, dtype=getattr(torch, dtype))
        model = adapters.new_adapter(base, config).train()
        adapters.speed_up_layers(model)
        for _ in optimize(model, CrossEntropy(examples, padder(0, cpu)), config, parts=2, run=run):
            yield 16 * 128


if __name__ == "__main__":
    main()
