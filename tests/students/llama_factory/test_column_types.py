"""Every text that we write is still text for the JSON loader that LLaMA-Factory uses."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.records import KTODatum, PreferenceDatum, SupervisedDatum, TrainingDatum
from dataenvgym.students.llama_factory import write_dataset


def long_records(kind: type, **answers: str) -> Iterable[TrainingDatum]:
    """12 MB of records, more than the loader takes the types from; only the last has a history."""
    for i in range(6000):
        history = (("Hi", "Hello"),) if i == 5999 else ()
        yield kind(instruction="x" * 2000, history=history, **answers)


DATES = [
    SupervisedDatum(instruction=f"{day} and a day?", output=f"2024-03-{day:02}")
    for day in range(1, 20)
]


@pytest.mark.parametrize(
    "records",
    [
        DATES,
        [KTODatum(instruction="When?", output="2024-03-05", desirable=True)],
        [
            PreferenceDatum(instruction="When?", chosen="2024-03-05", rejected="No idea."),
            PreferenceDatum(instruction="Who?", chosen="Nobody.", rejected="2024-03-05"),
        ],
        [SupervisedDatum(instruction="Hi \u2028\U0001f600\x00", output="\r\n\\\"'")],
    ],
)
def test_the_loader_finds_the_texts_that_were_written(records, tmp_path):
    texts = {
        str(value)
        for record in records
        for name, value in record
        if name in ("instruction", "output", "chosen", "rejected")
    }
    assert texts <= set(strings(loaded(tmp_path, records)))


@pytest.mark.parametrize(
    ("kind", "answers"),
    [(SupervisedDatum, {"output": "y"}), (PreferenceDatum, {"chosen": "y", "rejected": "z"})],
)
@pytest.mark.slow
def test_the_loader_finds_a_history_at_the_very_end(kind, answers, tmp_path):
    rows = loaded(tmp_path, long_records(kind, **answers))
    assert "Hello" in set(strings(rows[len(rows) - 1]))


def loaded(folder: Path, records: Iterable[TrainingDatum]) -> Any:
    import datasets

    written = write_dataset(folder, records)
    return datasets.load_dataset(
        "json",
        data_files=[str(folder / f"{written.name}.jsonl")],
        split="train",
        cache_dir=str(folder / "cache"),
    )


def strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif hasattr(value, "__iter__"):
        for item in value:
            yield from strings(item)
