"""Exports a run's records as a Hugging Face dataset, and its adapter with a model card."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import yaml

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.records import (
    ChatDatum,
    Conversation,
    Model,
    PreferenceDatum,
    ScoredDatum,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import spoken
from dataenvgym.runs.documents import Table, inline, markdown
from dataenvgym.runs.episodes.run_files import RunFiles
from dataenvgym.runs.texts import change
from dataenvgym.storage import publishing, read_json, write_text

BATCH = 1000  # rows in memory at a time
_SIDES = ("chosen", "rejected")
_PROVENANCE = ("id", "skill", "subskill", "agent", "iteration")


def export_records(run_directory: str | Path, output: str | Path) -> Path:
    """Write all accepted records to the new folder `output`, which `load_dataset` loads.

    Records of one kind go to `data/train.parquet`; records of several kinds to
    `data/<kind>.parquet`, each a configuration with the name of its kind. Preferences between turns
    of conversations are a separate kind here, `preference_chat`. Each row also has the record's
    provenance: id, skill, subskill, agent, iteration. Tools and tool calls are JSON texts, so every
    row has the same columns.

    Raises:
        RunDirectoryError: if there is no such run, or it has no records.
        ConfigurationError: if `output` exists and is not an empty folder, or pyarrow is not
            installed.
    """
    run = RunFiles(run_directory)
    output = _new_folder(output)
    sizes = Counter(map(_kind, run.records()))
    if not sizes:
        raise RunDirectoryError(f"{run.directory} has no accepted records to export yet")
    with publishing(output) as folder:
        for kind in sizes:
            rows = (_row(record) for record in run.records() if _kind(record) == kind)
            _write_parquet(folder / _file(kind, sizes), rows)
        write_text(folder / "README.md", _dataset_card(run, sizes))
    return output


def export_adapter(
    run_directory: str | Path, output: str | Path, *, iteration: int | None = None
) -> Path:
    """Copy the adapter of the best iteration, or of the given one, to the new folder `output`.

    Raises:
        RunDirectoryError: if there is no such run, iteration or adapter, or it contains a link.
        ConfigurationError: if `output` exists and is not an empty folder.
    """
    run = RunFiles(run_directory)
    output = _new_folder(output)
    number = run.best if iteration is None else iteration
    run.iteration(number)
    source = run.results[number].adapter
    if source is None:
        which = "the best iteration" if iteration is None else f"iteration {number}"
        raise RunDirectoryError(
            f"{run.directory}: {which} is the base student, which has no adapter; "
            f"choose a trained iteration, up to {len(run.iterations) - 1}"
        )
    files = run.iteration(source)
    files.check_adapter()
    adapter = files.adapter
    if not adapter.is_dir():
        raise RunDirectoryError(f"{adapter} is missing; restore it, or run the episode again")
    # in a folder from another user, links may lead to any file of this machine
    for path in (adapter, *sorted(adapter.rglob("*"))):
        if path.is_symlink():
            raise RunDirectoryError(
                f"{path} is a link, and only files of the run are exported; replace the link by "
                "its file"
            )
    with publishing(output) as folder:
        shutil.copytree(adapter, folder, dirs_exist_ok=True)
        write_text(folder / "README.md", _model_card(run, number, adapter))
    return output


def _new_folder(output: str | Path) -> Path:
    path = Path(output).resolve()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigurationError(
            f"{path} already exists, expected a new or empty folder; "
            "choose another one, or remove it"
        )
    return path


# --- records ---


def _write_parquet(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    """Write the rows, which have the same columns, as Parquet.

    With JSON lines, `datasets` would turn texts that look like dates into timestamps.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as error:
        raise ConfigurationError(
            f"exporting a Hugging Face dataset needs pyarrow ({error}); "
            "pip install 'dataenvgym[datasets]'"
        ) from error
    text, first = pa.string(), next(rows)
    turns = pa.list_(pa.struct([(name, text) for name in ("role", "content", "tool_calls")]))
    types = {
        "iteration": pa.int64(),
        "desirable": pa.bool_(),
        "history": pa.list_(pa.list_(text)),
        "weights": pa.list_(pa.float64()),
        "messages": turns,
    }
    if "messages" in first:
        types |= dict.fromkeys(_SIDES, turns)
    schema = pa.schema([(name, types.get(name, text)) for name in first])
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = chain([first], rows)
    with pq.ParquetWriter(path, schema) as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _row(record: TrainingDatum) -> dict[str, Any]:
    """The columns of a record: its provenance first, then its own fields."""
    row = {name: getattr(record.provenance, name) for name in _PROVENANCE}
    fields = record.model_dump(mode="json", exclude={"kind", "provenance"})
    if isinstance(record, PreferenceDatum) and record.messages:
        sides = {s: _turns(answer) for s, answer in zip(_SIDES, record.segments, strict=True)}
        fields = {"system": record.system} | sides
    if isinstance(record, ChatDatum | ScoredDatum | PreferenceDatum) and record.messages:
        fields |= {"tools": _json(record.tools), "messages": _turns(record.messages)}
    return row | fields


def _turns(messages: Conversation) -> list[dict[str, Any]]:
    return [
        {"role": one.role, "content": spoken(one), "tool_calls": _json(one.tool_calls)}
        for one in messages
    ]


def _json(models: Sequence[Model]) -> str:
    return exact_json.dumps([one.model_dump(mode="json") for one in models]).decode()


def _kind(record: TrainingDatum) -> str:
    """The kind of a record; preferences between turns of conversations have other columns."""
    is_turn = isinstance(record, PreferenceDatum) and bool(record.messages)
    return f"{record.kind}_chat" if is_turn else record.kind


def _file(kind: str, sizes: Counter[str]) -> str:
    return f"data/{kind if len(sizes) > 1 else 'train'}.parquet"


def _dataset_card(run: RunFiles, sizes: Counter[str]) -> str:
    names = {kind: kind if len(sizes) > 1 else "default" for kind in sorted(sizes)}
    head = {
        "pretty_name": f"{run.summary.task}, written by {run.summary.agent}",
        "tags": ["dataenvgym", "synthetic"],
        "configs": [
            {"config_name": name, "data_files": [{"split": "train", "path": _file(kind, sizes)}]}
            for kind, name in names.items()
        ],
    }
    first = next(iter(names.values()))
    choice = "" if first == "default" else f', "{first}"'
    rows = [(name, kind, sizes[kind]) for kind, name in names.items()]
    kinds = markdown([Table(("configuration", "kind", "records"), rows, texts=2)])
    task, agent = inline(run.summary.task), inline(run.summary.agent)
    return _card(head, f"""Training records for {task}

{sizes.total()} training records that the agent {agent} wrote (seed {run.summary.seed}) while it
taught the student {inline(run.student)} the task {task} in dataenvgym. They passed the checks for
duplicates and for overlap with the evaluation instances.

{_result(run, run.best)}

```python
from datasets import load_dataset

records = load_dataset("path/to/this/folder"{choice}, split="train")
```

{kinds}
Each record has its provenance: `id`, the `skill` and the `subskill` that it teaches, the `agent`,
and the `iteration` that it was made for. `history` holds earlier (user, assistant) turns; `tools`
and `tool_calls` are JSON texts.
""")  # fmt: skip


# --- adapter ---


def _model_card(run: RunFiles, number: int, adapter: Path) -> str:
    config = adapter / "adapter_config.json"
    described = read_json(config) if config.exists() else {}
    base = described.get("base_model_name_or_path") if isinstance(described, dict) else None
    head: dict[str, Any] = {"library_name": "peft", "tags": ["dataenvgym", "lora"]}
    if base == run.student:  # a name on the hub, not a folder of this machine
        head["base_model"] = base
    summary, student, task = run.summary, inline(run.student), inline(run.summary.task)
    return _card(head, f"""{student}, taught {task}

A LoRA adapter for the base model **{student}**, after iteration {number} of an episode of
dataenvgym in which the agent {inline(summary.agent)} taught it the task {task} (seed
{summary.seed}) with {summary.iterations[number].n_records_total} training records.

{_result(run, number)}

```python
from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("path/to/the/base/model")
model = PeftModel.from_pretrained(base, "path/to/this/folder")
```
""")  # fmt: skip


def _card(head: dict[str, Any], text: str) -> str:
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n# {text}"


def _result(run: RunFiles, number: int) -> str:
    """The scores before and after, as a table; with the test split if it was scored."""
    summary = run.summary
    one, base = summary.iterations[number], summary.iterations[0]
    rows = [("validation", base.val_score, one.val_score, change(one.val_score - base.val_score))]
    before, after = summary.test_score_before, summary.test_score_after
    if before is not None and after is not None and number == run.best:
        rows.append(("test", before, after, change(after - before)))
    names = ("split", "base student", f"iteration {number}", "change")
    return markdown([Table(names, rows)]).strip()
