"""Rows of other people are the conversations that LLaMA-Factory reads in them; so are options."""

import json
import random
import re

import pytest

from dataenvgym.records import ChatDatum, ToolCall
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset
from dataenvgym.students.llama_factory.entries import OPENAI_TAGS
from tests.students.llama_factory.test_reading import TOOLS, twins
from tests.students.llama_factory.test_training_config import OURS

pytestmark = [pytest.mark.external, pytest.mark.timeout(600)]

COLUMNS = {"messages": "m", "tools": "t"}
ADDED = "detailed thinking off"  # LLaMA-Factory adds it to the system message, or instead of it

BETWEEN = "\n</tool_response>\n<tool_response>\n"  # results of several calls


def action(call: ToolCall) -> str:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return f"Action: {call.name}\nAction Input: {arguments}"


def once(text: str) -> str:
    """The text without what differs: arguments quoted because they were text, some spaces."""
    lines = re.sub("</think>\n+Action", "</think>Action", text).split("\n")
    for i, line in enumerate(lines):
        if line.startswith('Action Input: "'):
            arguments = json.loads(json.loads(line.removeprefix("Action Input: ")))
            lines[i] = f"Action Input: {json.dumps(arguments, ensure_ascii=False)}"
    return "\n".join(lines)


def turns_of(record: ChatDatum) -> list[dict[str, str]]:
    turns: list[dict[str, str]] = []
    for message in record.messages:
        role, content = str(message.role), message.content
        if message.tool_calls:
            role, content = "function", content + "\n".join(map(action, message.tool_calls))
        elif role == "tool":
            role = "observation"
            if turns[-1]["role"] == role:
                content = f"{turns.pop()['content']}{BETWEEN}{content}"
        turns.append({"role": role, "content": once(content)})
    return turns


def test_our_fields_are_options_that_llama_factory_has_or_never_get_into_its_files(llama_factory):
    facts = set(llama_factory.ask("facts"))
    assert TrainingConfig.model_fields.keys() - {"extra"} - OURS <= facts
    assert not OURS & facts


def test_conversations_with_calls_are_equal(llama_factory, tmp_path):
    rng, info = random.Random(0), {}
    for i in range(150):
        shared, openai = twins(rng)
        for at in reversed(range(1, len(shared))):  # as LLaMA-Factory wants them in this form
            if shared[at - 1]["from"] == shared[at]["from"] == "observation":
                shared[at - 1]["value"] += BETWEEN + shared.pop(at)["value"]
        for message in openai:
            if "tool_calls" in message:
                message["content"] = None  # LLaMA-Factory drops it
            for call in message.get("tool_calls", ()):
                arguments = call["function"]["arguments"]
                if not isinstance(arguments, str):  # its loader would add those of other calls
                    call["function"]["arguments"] = json.dumps(arguments)
        openai_row = {"formatting": "openai", "tags": OPENAI_TAGS}
        for rows, entry in ((shared, {"formatting": "sharegpt"}), (openai, openai_row)):
            name = f"{entry['formatting']}{i}"
            info[name] = {"file_name": f"{name}.json", "columns": COLUMNS, **entry}
            row = {"m": rows, "t": json.dumps(TOOLS)}
            (tmp_path / f"{name}.json").write_text(json.dumps([row]))
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    found = llama_factory.ask("read", tmp_path)
    for name in info:
        (record,) = read_dataset(tmp_path, name)
        assert isinstance(record, ChatDatum)
        expected = [turns_of(record), record.system]
        ((turns, system),) = found[name]
        turns = [{**turn, "content": once(turn["content"])} for turn in turns]
        if name.startswith("openai"):
            system = system.removesuffix(ADDED).removesuffix("\n")
        assert [turns, system] == expected, name
