"""`generate`: any rows through any prompt and model, as rows with the reply.

    generate(["prompt=question.yaml", "input=rows.jsonl", "model=vllm/NAME", "seeds=4"])

The folder of a generation has

    config.yaml                    the settings that determine the replies
    chunk-CCCC/replies-SSS.part    the replies with seed SSS to a chunk of rows, as they come; each
                                   line begins with its hash
    chunk-CCCC/replies-SSS.jsonl   the same, complete and in the order of the rows
    chunk-CCCC/files.json          its hash (see `checksums`)
    rows-SSS.jsonl                 each row with its reply, after the last chunk

Each reply is appended when it comes, so a killed generation loses only what was being asked. A row
that the model refuses (a content filter, too long a prompt) has the reason, `error`, in place of a
reply. Only one process at a time works on a chunk; several may work on chunks of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from omegaconf import DictConfig, OmegaConf
from pydantic import PositiveInt

from dataenvgym import exact_json
from dataenvgym.errors import (
    ConfigurationError,
    EvaluationError,
)
from dataenvgym.events import Count, counting
from dataenvgym.interfaces import (
    AblePredictor,
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    can,
)
from dataenvgym.records import Conversation
from dataenvgym.records.checksums import load, save
from dataenvgym.runs.config.building import build_predictor
from dataenvgym.runs.config.composition import compose
from dataenvgym.runs.config.identity import digest
from dataenvgym.runs.config.instantiation import check_value
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.runs.config.workspaces import Workspaces
from dataenvgym.storage import hash_files, remove_folder, remove_temporaries, write_jsonl
from dataenvgym.tasks.base import sample_seed
from dataenvgym.tasks.examples import WithExamples, examples_of
from dataenvgym.tasks.rows import SourceRow, read_rows
from dataenvgym.teachers.prompts import Prompt, default_prompt, read_prompt
from dataenvgym.workspace import locked, noting_interrupt

_SECTIONS = ("student", "predictor", "trainer", "input", "field", "num_chunks", "sampling")
_FACTS = ("finish_reason", "prompt_tokens", "completion_tokens")
"""Fields of the output beside the reply; they take the place of a row's own."""
_HASH = 17
"""Bytes of the hash that begins a line of a part, and a space."""
_AGAIN = "remove the file, and the same command asks again"


@dataclass(frozen=True)
class Generation:
    """A generation of which all requested chunks are finished.

    Attributes:
        directory: its folder.
        files: `rows-SSS.jsonl`; empty while other chunks are missing.
        n_rows: of the requested chunks.
        replies: how many, with all seeds.
        refusals: why there is no reply to a row, with all seeds.
        prompt_tokens, completion_tokens: of replies whose tokens are known.
        was_finished: True if nothing was asked.
    """

    directory: Path
    files: tuple[Path, ...]
    n_rows: int
    replies: int
    refusals: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int
    was_finished: bool


_GENERATIONS = Workspaces(
    "generation",
    "generations_dir",
    (*_SECTIONS, "prompt", "worked_examples"),
    begun="chunk-*/*",
)


def generate(
    overrides: Sequence[str], *, config_dir: str | Path | None = None, fresh: bool = False
) -> Generation:
    """Generate a reply to each row, or resume; see `configs/generate.yaml` for the options.

    Args:
        fresh: start over, and remove existing files: those of `chunk`, if it is given.

    Raises:
        ConfigurationError: before the model is asked: for an impossible option, or a name in the
            prompt that a row does not have.
        RunDirectoryError: if the folder began with other settings, or another process works on the
            same chunk.
        EvaluationError: if the model was out of reach for some rows, or refused all; replies to the
            others are kept.
    """
    prompt, rest = _prompt_of(overrides)
    config = compose(rest, config_dir=config_dir, name="generate")
    typed = {override.key for override in parse_overrides(rest)}
    if "concurrency" in config.predictor and "predictor.concurrency" not in typed:
        config.predictor.concurrency = config.concurrency
    for name in ("seeds", "num_chunks", "concurrency"):
        check_value(config[name], PositiveInt, name)
    n_chunks, only = int(config.num_chunks), config.chunk
    if only is not None and only not in range(n_chunks):
        raise ConfigurationError(f"chunk is {only!r}, expected a number from 0 to {n_chunks - 1}")
    section = OmegaConf.to_container(config.sampling, resolve=True)
    check_value(section, SamplingParameters, "sampling")
    sampling = SamplingParameters.model_validate(section)
    if config.seeds > 1 and sampling.temperature == 0.0:
        raise ConfigurationError(
            f"seeds is {config.seeds} and sampling.temperature is 0.0: greedy replies are all "
            "alike. Draw them (sampling.temperature=1.0), or take one (seeds=1)"
        )
    source = Path(str(config.input)).expanduser()
    rows = [row.values for row in _checked(read_rows(source), prompt, str(config.field))]
    examples = examples_of(config.worked_examples) if config.worked_examples else None
    settings = _GENERATIONS.settings(
        config,
        prompt=prompt.model_dump(),
        input=hash_files(source)[:16],
        worked_examples=examples and examples.model_dump(),
    )
    directory = Path(str(config.generations_dir)).expanduser() / str(
        config.name or f"{source.name.partition('.')[0]}-{digest(_GENERATIONS.decisive(settings))}"
    )
    anew = sorted(directory.glob("chunk-*" if only is None else f"chunk-{only:04d}")) * fresh
    with ExitStack() as stack:
        for folder in anew:
            stack.enter_context(locked(folder))
        identity = {"environment": "generation"}
        with _GENERATIONS.opened(
            directory,
            settings,
            fresh=fresh and only is None,
            identity=identity,
            below=False,
            wait=True,
        ):
            for folder in anew if only is not None else ():
                remove_folder(folder)
    work = _Work(directory, prompt, rows, config, sampling)
    chunks = range(n_chunks) if only is None else [int(only)]
    n_rows = sum(len(work.rows_of(chunk)) for chunk in chunks)
    with noting_interrupt(directory), counting("replies", n_rows * config.seeds) as count:
        for chunk in chunks:
            work.finish(chunk, count)
    found = [one for chunk in chunks for seed in work.seeds for one in work.replies(chunk, seed)]
    replies = [one for one in found if "error" not in one]
    refusals = [f"row {one['row'] + 1}: {one['error']}" for one in found if "error" in one]
    if refusals and not replies:
        raise EvaluationError(
            f"none of {len(refusals)} rows has a reply. The first one: {refusals[0]}. Once the "
            "cause is gone, --fresh asks again"
        )
    with locked(directory, wait=True):
        files = work.join()
    return Generation(
        directory=directory,
        files=files,
        n_rows=n_rows,
        replies=len(replies),
        refusals=tuple(refusals),
        prompt_tokens=sum(one.get("prompt_tokens") or 0 for one in replies),
        completion_tokens=sum(one.get("completion_tokens") or 0 for one in replies),
        was_finished=work.predictor is None,
    )


def _prompt_of(overrides: Sequence[str]) -> tuple[Prompt, list[str]]:
    """The prompt that is typed, and the other overrides."""
    given = [text.removeprefix("prompt=") for text in overrides if text.startswith("prompt=")]
    if len(given) != 1:
        raise ConfigurationError(
            "name the prompt once: prompt=FILE, a YAML file with user (and perhaps system), in "
            "which {name} stands for a field of the rows"
        )
    name = given[0].strip("'\"")
    is_file = Path(name).expanduser().is_file() or "/" in name or name.endswith((".yaml", ".yml"))
    prompt = read_prompt(Path(name).expanduser()) if is_file else default_prompt(name)
    return prompt, [text for text in overrides if not text.startswith("prompt=")]


def _checked(rows: Iterable[SourceRow], prompt: Prompt, field: str) -> Iterator[SourceRow]:
    """The rows; ConfigurationError if one lacks a field of the prompt, or has that of the reply."""
    if field in _FACTS:
        raise ConfigurationError(
            f"field is {field!r}, which has a fact about the reply: choose another name"
        )
    for row in rows:
        if missing := sorted(prompt.names - row.values.keys()):
            raise ConfigurationError(
                f"the prompt has {{{missing[0]}}}, and {row.where} has no such field, only "
                f"{', '.join(row.values)}"
            )
        if field in row.values:
            raise ConfigurationError(
                f"{row.where} has a field {field!r} already, where the reply would be: choose "
                "another one, field=NAME"
            )
        yield row


class _Work:
    """The rows of a generation and their replies.

    Attributes:
        predictor: the model; None until something must be asked.
        seeds: the numbers of the replies to each row.
    """

    def __init__(
        self,
        directory: Path,
        prompt: Prompt,
        rows: Sequence[dict[str, Any]],
        config: DictConfig,
        sampling: SamplingParameters,
    ) -> None:
        self.predictor: PredictorInterface | None = None
        self._directory = directory
        self._prompt = prompt
        self._rows = rows
        self._config = config
        self.seeds = range(int(config.seeds))
        self._at_once = int(config.concurrency)
        self._sampling = sampling

    def rows_of(self, chunk: int) -> range:
        """The numbers of the rows in a chunk; chunks differ by one row at most."""
        n, chunks = len(self._rows), int(self._config.num_chunks)
        return range(n * chunk // chunks, n * (chunk + 1) // chunks)

    def finish(self, chunk: int, count: Count) -> None:
        """Ask for the replies that a chunk lacks."""
        folder = self._file(chunk, 0).parent
        folder.mkdir(exist_ok=True)
        with locked(folder):
            remove_temporaries(folder)
            for seed in self.seeds:
                if not self._file(chunk, seed).exists():
                    self._draw(chunk, seed, count)
                else:
                    count.skip(len(self.rows_of(chunk)))
                    with suppress(OSError):  # a kill may have left it
                        self._file(chunk, seed).with_suffix(".part").unlink()

    def replies(self, chunk: int, seed: int) -> list[dict[str, Any]]:
        """The replies and refusals of a finished chunk, one for each row.

        Raises:
            RunDirectoryError: if the file is damaged.
        """
        return load(self._file(chunk, seed), list[Any], _AGAIN) or []

    def join(self) -> tuple[Path, ...]:
        """Write each row with its reply, if all chunks are there; the paths by seed."""
        chunks = range(int(self._config.num_chunks))
        if not all(self._file(c, seed).exists() for c in chunks for seed in self.seeds):
            return ()
        paths = []
        for seed in self.seeds:
            path = self._directory / f"rows-{seed:03d}.jsonl"
            parts = (one for c in chunks for one in self.replies(c, seed))
            pairs = zip(self._rows, parts, strict=True)
            write_jsonl(path, ({**row, **self._shown(reply)} for row, reply in pairs))
            paths.append(path)
        return tuple(paths)

    def _shown(self, reply: dict[str, Any]) -> dict[str, Any]:
        """A saved reply as fields of the output."""
        shown = {str(self._config.field): reply.get("text")} | {n: reply.get(n) for n in _FACTS}
        return {**shown, "error": reply["error"]} if "error" in reply else shown

    def _file(self, chunk: int, seed: int) -> Path:
        return self._directory / f"chunk-{chunk:04d}" / f"replies-{seed:03d}.jsonl"

    def _draw(self, chunk: int, seed: int, count: Count) -> None:
        file, rows = self._file(chunk, seed), self.rows_of(chunk)
        part = file.with_suffix(".part")
        found = {one["row"]: one for one in _whole_lines(part) if one["row"] in rows}
        failed: dict[int, str] = {}
        count.skip(len(found))
        sampling = self._sampling.model_copy(
            update={"seed": sample_seed(self._sampling.seed, seed)}
        )
        with part.open("ab") as stream:
            if stream.tell():
                stream.write(b"\n")  # a killed process may have left half a line
            for row, reply in self._asked(chunk, found, sampling):
                count.add()
                if isinstance(reply, Reply):
                    found[row] = {"row": row, **reply.model_dump()}
                elif reply.outage:
                    failed[row] = reply.reason
                    continue
                else:
                    found[row] = {"row": row, "error": reply.reason}
                line = exact_json.dumps(found[row])
                stream.write(_hash_of(line) + line + b"\n")
                stream.flush()
        if failed:
            raise EvaluationError(
                f"{len(failed)} of {len(rows)} rows have no reply, the first one: "
                f"row {min(failed) + 1}: {failed[min(failed)]}. The same command asks for them "
                "again"
            )
        save(file, [found[row] for row in rows])
        part.unlink()

    def _asked(
        self, chunk: int, known: dict[int, dict[str, Any]], sampling: SamplingParameters
    ) -> Iterator[tuple[int, Reply | Failure]]:
        """Ask for each row of a chunk that is not known; the replies as they come."""
        rows = self.rows_of(chunk)
        if all(row in known for row in rows):
            return
        if self.predictor is None:
            self.predictor = build_predictor(self._config, trainable=False)
            if can(self.predictor, "connect"):
                self.predictor.connect()
            if self._config.worked_examples:
                examples = examples_of(self._config.worked_examples)
                self.predictor = WithExamples(self.predictor, examples)
        if can(self.predictor, "submit"):
            wanted = (row for row in rows if row not in known)
            yield from self._submitted(self.predictor, wanted, sampling)
            return
        for start in range(rows.start, rows.stop, self._at_once):
            # whole batches, so that a resumed generation has the same ones
            batch = range(start, min(start + self._at_once, rows.stop))
            if not all(row in known for row in batch):
                conversations = [self._conversation(row) for row in batch]
                replies = self.predictor.predict(conversations, sampling)
                pairs = zip(batch, replies, strict=True)
                yield from ((row, reply) for row, reply in pairs if row not in known)

    def _submitted(
        self, predictor: AblePredictor, wanted: Iterator[int], sampling: SamplingParameters
    ) -> Iterator[tuple[int, Reply | Failure]]:
        done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        waiting = 0
        while True:
            for row in islice(wanted, self._at_once - waiting):
                future = predictor.submit(self._conversation(row), sampling)
                future.add_done_callback(partial(lambda row, of: done.put((row, of)), row))
                waiting += 1
            if not waiting:
                return
            row, found = done.get()
            waiting -= 1
            yield row, found.result()

    def _conversation(self, row: int) -> Conversation:
        values = {name: self._rows[row][name] for name in self._prompt.names}
        texts = {
            name: value if isinstance(value, str | None) else exact_json.dumps(value).decode()
            for name, value in values.items()
        }
        return self._prompt.render(**texts)


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The replies in a file to which a killed process appended."""
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        if line[:_HASH] == _hash_of(line[_HASH:]):
            yield exact_json.loads(line[_HASH:])


def _hash_of(line: bytes) -> bytes:
    return hashlib.sha256(line).hexdigest()[: _HASH - 1].encode() + b" "
