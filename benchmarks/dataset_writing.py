"""Records written per second: `write_dataset` against a minimal loop.

    python -m benchmarks.dataset_writing [--records 50000] [--repetitions 7] [--stream 1000000]

The floor is a plain loop that builds the same dicts from the same records by hand and writes them
with orjson, without checks, without an entry in `dataset_info.json` and without a sync to the
disk. Both write in turn, in the same process, and must have written the same bytes. Peak memory
is that of a fresh process that writes records from a generator. Writes
`benchmarks/results/dataset_writing.json` and a table to standard output.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchmarks.common import print_table, write_results
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    Provenance,
    SupervisedDatum,
    TextDatum,
    Tool,
    ToolCall,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import LLAMA_FACTORY
from dataenvgym.students.llama_factory import write_dataset

NEWLINE = orjson.OPT_APPEND_NEWLINE
HISTORY = (("What is 1 plus 1?", "1 plus 1 is 2."), ("And 2 plus 2?", "2 plus 2 is 4."))
TOOL = Tool(
    name="add",
    description="Adds two numbers.",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    },
)


# --- records --------------------------------------------------------------------------------------


def texts(i: int) -> tuple[str, str, Provenance]:
    question = f"What is {i} plus {7 * i}? Show how you get there, then give the sum."
    answer = f"To add {i} and {7 * i}, add tens and ones. The final answer is {8 * i}."
    return question, answer, Provenance(id=f"r{i}", skill="addition", agent="bench", iteration=1)


def supervised(i: int) -> SupervisedDatum:
    question, answer, provenance = texts(i)
    return SupervisedDatum(instruction=question, output=answer, provenance=provenance)


def supervised_full(i: int) -> SupervisedDatum:
    question, answer, provenance = texts(i)
    return SupervisedDatum(
        instruction=question,
        input="Digits only.",
        output=answer,
        system="You add.",
        history=HISTORY,
        provenance=provenance,
    )


def chat(i: int) -> ChatDatum:
    question, answer, provenance = texts(i)
    call = ToolCall(name="add", arguments={"a": i, "b": 7 * i})
    messages = (
        Message(role="user", content=question),
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content=str(8 * i)),
        Message(role="assistant", content=answer),
    )
    return ChatDatum(messages=messages, system="You add.", tools=(TOOL,), provenance=provenance)


def preference(i: int) -> PreferenceDatum:
    question, answer, provenance = texts(i)
    return PreferenceDatum(
        instruction=question, chosen=answer, rejected="No idea.", provenance=provenance
    )


def kto(i: int) -> KTODatum:
    question, answer, provenance = texts(i)
    return KTODatum(
        instruction=question, output=answer, desirable=i % 2 == 0, provenance=provenance
    )


def text(i: int) -> TextDatum:
    question, answer, provenance = texts(i)
    return TextDatum(text=f"{question}\n{answer}", provenance=provenance)


# --- floors: everything in the loop, as one would write it for one kind of record -----------------


def floor_supervised(records: Sequence[Any], path: Path) -> None:
    with path.open("wb") as stream:
        for record in records:
            row = {
                "instruction": record.instruction,
                "input": record.input,
                "output": record.output,
                "system": record.system,
                "history": [list(turn) for turn in record.history],
            }
            stream.write(orjson.dumps(row, option=NEWLINE))


def floor_chat(records: Sequence[Any], path: Path) -> None:
    tools = LLAMA_FACTORY.flatten(records[0].conversation)[0].content.removeprefix("You add.")
    with path.open("wb") as stream:
        for record in records:
            turns = []
            for message in record.messages:
                if message.tool_calls:
                    call = message.tool_calls[0]
                    value = f"Action: {call.name}\nAction Input: {json.dumps(call.arguments)}"
                    turns.append({"from": "gpt", "value": value})
                elif message.role == "assistant":
                    turns.append({"from": "gpt", "value": message.content})
                else:
                    turns.append({"from": "human", "value": message.content})
            row = {"conversations": turns, "system": record.system + tools, "tools": ""}
            stream.write(orjson.dumps(row, option=NEWLINE))


def floor_preference(records: Sequence[Any], path: Path) -> None:
    with path.open("wb") as stream:
        for record in records:
            row = {
                "instruction": record.instruction,
                "input": record.input,
                "chosen": record.chosen,
                "rejected": record.rejected,
                "system": record.system,
                "history": [list(turn) for turn in record.history],
            }
            stream.write(orjson.dumps(row, option=NEWLINE))


def floor_kto(records: Sequence[Any], path: Path) -> None:
    with path.open("wb") as stream:
        for record in records:
            row = {
                "instruction": record.instruction,
                "input": record.input,
                "output": record.output,
                "kto_tag": record.desirable,
                "system": record.system,
                "history": [list(turn) for turn in record.history],
            }
            stream.write(orjson.dumps(row, option=NEWLINE))


def floor_text(records: Sequence[Any], path: Path) -> None:
    with path.open("wb") as stream:
        for record in records:
            stream.write(orjson.dumps({"text": record.text}, option=NEWLINE))


Floor = Callable[[Sequence[Any], Path], None]
KINDS: dict[str, tuple[Callable[[int], TrainingDatum], Floor]] = {
    "supervised": (supervised, floor_supervised),
    "supervised, all fields": (supervised_full, floor_supervised),
    "chat with tools": (chat, floor_chat),
    "preference": (preference, floor_preference),
    "kto": (kto, floor_kto),
    "text": (text, floor_text),
}


# --- measuring ------------------------------------------------------------------------------------


def measure(kind: str, count: int, repetitions: int, folder: Path) -> dict[str, Any]:
    """Records per second, ours and the floor's, over interleaved repetitions."""
    make, floor = KINDS[kind]
    records = [make(i) for i in range(count)]
    path = folder / "floor.jsonl"
    ours: list[float] = []
    floors: list[float] = []
    for repetition in range(repetitions + 1):  # the first one warms up
        turns: list[tuple[list[float], Callable[[], object]]] = [
            (ours, lambda: write_dataset(folder, iter(records), name="ours")),
            (floors, lambda: floor(records, path)),
        ]
        for seconds, write in turns if repetition % 2 else reversed(turns):
            gc.collect()
            start = time.perf_counter()
            write()
            seconds.append(time.perf_counter() - start)
    if path.read_bytes() != (folder / "ours.jsonl").read_bytes():
        raise AssertionError(f"{kind}: the floor wrote something else")
    ratios = [b / a for a, b in zip(ours[1:], floors[1:], strict=True)]
    return {
        "kind": kind,
        "ours, records/s": round(count / statistics.median(ours[1:])),
        "floor, records/s": round(count / statistics.median(floors[1:])),
        "ratio": statistics.median(ratios),
        "lowest ratio": min(ratios),
        "bytes/record": round(path.stat().st_size / count),
    }


def stream(count: int, folder: Path) -> None:
    """Write records from a generator; print seconds and peak memory (run in a fresh process)."""

    def records() -> Iterator[TrainingDatum]:
        for i in range(count):
            yield supervised(i)

    start = time.perf_counter()
    written = write_dataset(folder, records())
    seconds = time.perf_counter() - start
    # not getrusage, whose peak begins with that of the process that started this one
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    print(json.dumps({"records": written.count, "seconds": seconds, "kB": int(peak[1])}))


def measure_stream(count: int, folder: Path) -> dict[str, Any]:
    """Speed and peak memory of a fresh process that writes supervised records as they are made."""
    command = [sys.executable, "-m", "benchmarks.dataset_writing", "--stream-to", str(folder)]
    command += ["--stream", str(count)]
    root = Path(__file__).parents[1]
    output = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=root).stdout)
    return {
        "records from a generator": output["records"],
        "seconds, making them included": output["seconds"],
        "peak memory, MB": output["kB"] / 1024,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; `--help` names the options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=50_000, help="of each kind")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--stream", type=int, default=1_000_000, help="records from a generator")
    parser.add_argument("--stream-to", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.stream_to:
        stream(options.stream, options.stream_to)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [measure(kind, options.records, options.repetitions, folder) for kind in KINDS]
        streamed = measure_stream(options.stream, folder)
    print_table(rows)
    print()
    print_table([streamed])
    settings = {"records": options.records, "repetitions": options.repetitions}
    path = write_results("dataset_writing", {**settings, "kinds": rows, "stream": streamed})
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    main()
