"""Shared by tests: a small student and a Redis server."""

import functools
import gc
import importlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

import pytest
from omegaconf import OmegaConf

# Before torch is imported: several threads in one operation lose where cores are shared.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# `nohup make test &` starts us with SIGINT ignored, which our children would inherit: tests that
# interrupt one would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # until the tests are collected


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-shown", action="store_true", help="write the files of `shown`")


@pytest.fixture
def shown(request):
    """Compares what people see with a file in `shown/` beside the test, which they can review."""

    def check(name: str, text: str) -> None:
        path = request.path.parent / "shown" / name
        if request.config.getoption("--write-shown"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert text == path.read_text()

    return check


def pytest_collection_finish() -> None:
    """Keep modules and tests, which stay to the end, out of garbage collections, and collect less.

    Later imports leave so many objects that each full collection takes more than 0.1 s.
    """
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape lone surrogates in captured output: pytest-xdist cannot send them."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report


@pytest.fixture(autouse=True)
def _modules_of_the_test_are_forgotten(tmp_path_factory):
    """A module that a test wrote and imported is gone after it: the next test may have another."""
    last = sys.modules[next(reversed(sys.modules))]
    yield
    folder = str(tmp_path_factory.getbasetemp())
    later = takewhile(lambda module: module[1] is not last, reversed(sys.modules.items()))
    written = [n for n, m in later if str(getattr(m, "__file__", None)).startswith(folder)]
    for name in written:
        del sys.modules[name]
    if written:  # the caches hold all installed packages: to fill them anew takes time
        importlib.invalidate_caches()


@pytest.fixture(scope="session", autouse=True)
def _state_of_the_user(tmp_path_factory):
    """Which folders are the user's own is remembered beside the tests, and not in the real home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def as_received(tmp_path_factory, monkeypatch):
    """Call it: all folders so far are then as if somebody else had sent them."""
    return lambda: monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture(scope="session", autouse=True)
def _a_curve_is_drawn_once():
    """Draw the same scores once a session: the same scores make the same bytes, see test_plots.

    Drawing `curve.png` takes longer than the rest of a small run.
    """
    from dataenvgym.runs.episodes import plots

    drawn: dict[tuple[str, ...], bytes] = {}

    @functools.wraps(draw := plots.curve_bytes)
    def curve_bytes(summary: Any, *, categories: Any = None, forgetting: Any = ()) -> bytes:
        scores = summary.model_dump_json(exclude={"iterations": {"__all__": {"seconds"}}})
        key = (scores, repr(categories), repr(forgetting))
        if key not in drawn:
            drawn[key] = draw(summary, categories=categories, forgetting=forgetting)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "curve_bytes", curve_bytes)
        yield


@pytest.fixture(scope="session", autouse=True)
def _files_of_hydra_are_parsed_once():
    """Hydra reads some thirty files for each configuration, the same ones each time."""
    parsed: dict[str, bytes] = {}
    parse = OmegaConf.load

    def load(file: Any) -> Any:
        if not hasattr(file, "read"):
            return parse(file)
        if (text := file.read()) not in parsed:
            file.seek(0)
            parsed[text] = pickle.dumps(parse(file))
        return pickle.loads(parsed[text])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OmegaConf, "load", load)
        yield


@contextmanager
def shared_pictures() -> Iterator[None]:
    """Draw one picture for all runs and one for all studies whose scores have the same names.

    For tests of what is around the pictures; `test_plots` of episodes and of studies draw each.
    """
    from dataenvgym.runs.episodes import plots
    from dataenvgym.studies import tables

    draw_curve, draw_study = plots.curve_bytes.__wrapped__, tables.draw_study

    @functools.wraps(draw_curve)
    def curve_bytes(summary: Any, **options: Any) -> bytes:
        first = summary.iterations[0]
        names = (len(summary.iterations), *first.val_score_by_skill, *summary.score_names)
        if names not in _pictures:
            _pictures[names] = draw_curve(summary, **options)
        return _pictures[names]

    def study(results: Any, path: Path) -> None:
        names = tuple((t.task, *(one.name for one in t.strategies)) for t in results.tasks)
        if names not in _pictures:
            draw_study(results, path)
            _pictures[names] = path.read_bytes()
        path.write_bytes(_pictures[names])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "curve_bytes", curve_bytes)
        patch.setattr(tables, "draw_study", study)
        yield


_pictures: dict[tuple[object, ...], bytes] = {}


@pytest.fixture(scope="module")
def pictures_are_shared():
    with shared_pictures():
        yield


@pytest.fixture(scope="session", autouse=True)
def _files_do_not_wait_for_the_disk() -> Iterator[None]:
    """A test outlives no power cut, and each file of thousands of runs would wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


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
SPECIAL = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>")


def _build_tiny_student(
    folder: Path,
    *,
    seed: int = 0,
    width: int = 32,
    layers: int = 2,
    context: int = 128,
    chat_template: str | None = CHAT_TEMPLATE,
    words: tuple[str, ...] = (),
) -> Path:
    """Write the student to `folder` in Hugging Face format, and return the folder."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *words]
    backend = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, [], ignore_merges=True))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(list(SPECIAL))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        chat_template=chat_template,
        clean_up_tokenization_spaces=False,
    )
    config = LlamaConfig(
        vocab_size=len(pieces),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=context,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        tie_word_embeddings=True,
        initializer_range=0.3,  # large enough for an adapter to turn answers round
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


CHATML = (
    "{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are helpful.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CHATML_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def build_tiny_smollm(folder: Path, *, seed: int = 0, chat_template: str | None = CHATML) -> Path:
    """Write a random model with SmolLM2's architecture and kind of tokenizer; return the folder.

    Three heads share a key and value, embeddings are tied, the tokenizer is byte-level BPE that
    keeps digits apart, and the end of a turn is also the padding.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    merges = [("t", "h"), ("th", "e"), ("i", "n"), ("a", "n"), ("Ġ", "the"), ("Ġ", "Ġ")]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*CHATML_SPECIAL, *alphabet, *("".join(pair) for pair in merges)]
    backend = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, merges))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(list(CHATML_SPECIAL))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
        chat_template=chat_template,
    )
    config = LlamaConfig(
        vocab_size=len(pieces),
        hidden_size=96,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    # not before: a new model's row for the padding is zero, so the end could not be learned
    model.config.pad_token_id = model.generation_config.pad_token_id = 2
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_smollm(tmp_path_factory):
    """The folder of a random model like SmolLM2; not to be changed."""
    return build_tiny_smollm(tmp_path_factory.mktemp("smollm") / "model")


class MakeStudent(Protocol):
    """Writes a tiny student to a folder, and returns the folder; options as above."""

    def __call__(self, folder: Path, **options: object) -> Path: ...


@pytest.fixture(scope="session")
def make_student():
    """Builds random Llamas that know bytes, and special tokens for turns."""
    return _build_tiny_student


@pytest.fixture(scope="session")
def tiny_student(make_student, tmp_path_factory):
    """The folder of such a student, in Hugging Face format; not to be changed."""
    return make_student(tmp_path_factory.mktemp("students") / "tiny")


@contextmanager
def _redis(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A real Redis server on a free port: its URL, and its process."""
    if (program := shutil.which("redis-server")) is None:
        pytest.skip("redis-server is not installed: `make test` installs Debian's where it may")
    from dataenvgym.students.external.processes import free_port

    port = free_port()
    options = f"--port {port} --bind 127.0.0.1 --appendonly no --save".split()
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [program, *options, "", "--dir", str(folder)], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        _wait_for_redis(process, port, folder / "log.txt")
        yield f"redis://127.0.0.1:{port}/0", process
    finally:
        process.kill()
        process.wait(10)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    """The URL of a real Redis server, started for the tests and ended with them."""
    with _redis(tmp_path_factory.mktemp("redis")) as (url, _):
        yield url


@pytest.fixture
def own_redis(tmp_path):
    """One for the test alone, which may stop or kill it: the URL, and the process."""
    (folder := tmp_path / "redis").mkdir()
    with _redis(folder) as server:
        yield server


@pytest.fixture
def redis_url(redis_server):
    """The same server, with nothing in it."""
    from redis import Redis

    Redis.from_url(redis_server).flushall()
    return redis_server


def _wait_for_redis(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    from redis import ConnectionError, Redis

    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        try:
            Redis(port=port).ping()
            return
        except ConnectionError:
            time.sleep(0.02)
    raise RuntimeError(f"redis-server did not come up on port {port}: {log.read_text()}")
