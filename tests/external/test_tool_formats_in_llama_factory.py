"""Our text formats write the tokens that LLaMA-Factory writes itself.

The same conversations are given to LLaMA-Factory twice: as other people give them, with tools,
calls and results apart, which it then formats; and as our datasets have them, all text.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.llama_factory import TrainingConfig, read_dataset, write_dataset
from dataenvgym.pocket import student_path
from dataenvgym.predictors.prompts import encode_prompts
from dataenvgym.records import ChatDatum, Conversation, Message, Tool, ToolCall
from dataenvgym.tool_formats import HERMES, LLAMA_FACTORY, ToolFormat, as_function
from dataenvgym.trainers.examples import supervised_examples
from dataenvgym.trainers.student import load_tokenizer

pytestmark = [pytest.mark.external, pytest.mark.timeout(600)]

PROBE = Path(__file__).with_name("llama_factory_probe.py")
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SYSTEM = "Help.\n"
SPECIAL = ("<|im_start|>", "<|im_end|>")
TOOLS = (
    Tool(
        name="weather",
        description="The weather",
        parameters={
            "type": "object",
            "properties": {
                "town": {"type": "string", "description": "wo", "enum": ["Bonn", "Köln"]},
                "days": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["town"],
        },
    ),
    Tool(name="now", parameters={"type": "object", "properties": {}}),
)
KÖLN = ToolCall(name="weather", arguments={"town": 'K"ö"ln\n</tool_call>', "days": [1, 2]})
BONN = ToolCall(name="weather", arguments={"town": "Bonn", "days": []})


def chat(*messages: Message) -> ChatDatum:
    asked, end = (
        Message(role="user", content="Wetter? "),
        Message(role="assistant", content="Rain."),
    )
    return ChatDatum(messages=(asked, *messages, end), system=SYSTEM, tools=TOOLS)


def calls(content: str, *tool_calls: ToolCall) -> Message:
    return Message(role="assistant", content=content, tool_calls=tool_calls)


def result(content: str) -> Message:
    return Message(role="tool", content=content)


# LLaMA-Factory takes text beside calls in one of its formattings, results in a row in the other
RECORDS: Mapping[str, list[ChatDatum]] = {
    "sharegpt": [
        chat(calls("", KÖLN), result('{"sky": "blue"}')),
        chat(calls("", KÖLN, BONN), result("rain")),
        chat(calls("Let me see.\n", BONN), result(" rain\n"), calls("", KÖLN), result("sun")),
        chat(),
    ],
    "openai": [chat(calls("", KÖLN, BONN), result("sun"), result("rain\n"))],
}


def sharegpt_row(record: ChatDatum) -> dict[str, Any]:
    turns = []
    for message in record.messages:
        role, value = (
            {"user": "human", "tool": "observation"}.get(message.role, "gpt"),
            message.content,
        )
        if message.tool_calls:
            role, called = "function_call", [call.model_dump() for call in message.tool_calls]
            value = json.dumps(called[0] if len(called) == 1 else called).replace("<", "\\u003c")
            if message.content:
                value = f"{message.content}<tool_call>{value}</tool_call>"
        turns.append({"from": role, "value": value})
    return {"messages": turns}


def openai_row(record: ChatDatum) -> dict[str, Any]:
    def function(call: ToolCall) -> dict[str, Any]:
        return {"type": "function", "function": call.model_dump()}

    return {
        "messages": [
            {
                "role": message.role,
                "content": message.content,
                "tool_calls": [function(call) for call in message.tool_calls] or None,
            }
            for message in record.messages
        ]
    }


OPENAI_TAGS = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "observation_tag": "tool",
    "function_tag": "function_call",
    "system_tag": "system",
}


def write_apart(folder: Path, formatting: str, records: list[ChatDatum]) -> str:
    """A dataset as other people write it: tools, calls and results apart from text."""
    row = sharegpt_row if formatting == "sharegpt" else openai_row
    columns = {name: name for name in ("messages", "system", "tools")}
    entry = {"file_name": f"{formatting}.jsonl", "formatting": formatting, "columns": columns}
    if formatting == "openai":
        entry["tags"] = OPENAI_TAGS
    folder.mkdir()
    (folder / "dataset_info.json").write_text(json.dumps({formatting: entry}))
    tools = json.dumps([as_function(tool) for tool in TOOLS])
    # before tools, LLaMA-Factory ends the system message of this formatting with a line break
    system = SYSTEM.removesuffix("\n") if formatting == "openai" else SYSTEM
    with (folder / f"{formatting}.jsonl").open("w") as stream:
        for record in records:
            stream.write(json.dumps({**row(record), "system": system, "tools": tools}) + "\n")
    return formatting


@dataclass(frozen=True)
class Written:
    """Tokens and labels of the same records: by LLaMA-Factory's formatter, and by ours."""

    student: Path
    theirs: Mapping[str, Any]
    of_our_text: Mapping[str, Any]
    ours: Mapping[str, Any]


FORMATS: Mapping[str, tuple[ToolFormat, str | None]] = {
    "llama_factory": (LLAMA_FACTORY, None),  # it takes the tokenizer's own template
    "hermes": (HERMES, "qwen"),
}


@pytest.fixture(scope="module")
def chatml_student(make_student: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = make_student(
        tmp_path_factory.mktemp("students") / "chatml", words=SPECIAL, chat_template=CHATML
    )
    tokenizer = load_tokenizer(str(folder))
    tokenizer.add_special_tokens(
        {"eos_token": "<|im_end|>", "additional_special_tokens": list(SPECIAL)}
    )
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def written(
    llama_factory_python: Path, chatml_student: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[tuple[str, str], Written]:
    home = tmp_path_factory.mktemp("llama_factory")
    trainings, ours = [], {}
    for name, (form, template) in FORMATS.items():
        student = chatml_student if template else student_path()
        for formatting, records in RECORDS.items():
            folder = home / name / formatting
            folder.mkdir(parents=True)
            apart = write_apart(folder / "apart", formatting, records)
            flat = write_dataset(folder / "flat", records, tool_format=form).name
            for kind, dataset in (("apart", apart), ("flat", flat)):
                config = TrainingConfig(
                    model_name_or_path=student,
                    template=template,
                    stage="sft",
                    dataset=dataset,
                    dataset_dir=folder / kind,
                    output_dir=folder / f"{kind}-adapter",
                    cutoff_len=4096,
                )
                config.write(folder / f"{kind}.yaml")
                trainings.append(folder / f"{kind}.yaml")
            read: Any = list(read_dataset(folder / "flat", flat))
            examples = supervised_examples(read, load_tokenizer(str(student)), 4096)
            ours[name, formatting] = {
                "input_ids": [e.tokens for e in examples],
                "labels": [e.labels for e in examples],
            }
    measured = iter(measure(llama_factory_python, home, trainings))
    return {
        key: Written(
            chatml_student if FORMATS[key[0]][1] else student_path(),
            next(measured)["examples"],
            next(measured)["examples"],
            examples,
        )
        for key, examples in ours.items()
    }


def measure(python: Path, home: Path, trainings: list[Path]) -> list[Any]:
    """What LLaMA-Factory's trainer sees of each training (see `llama_factory_probe`)."""
    environment = {
        **{name: v for name, v in os.environ.items() if name != "PYTHONPATH"},
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
    }
    command = [python, PROBE, "measure", home / "measured.json", *trainings]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    measured: list[Any] = json.loads((home / "measured.json").read_text())
    return measured


@pytest.mark.parametrize("formatting", RECORDS)
@pytest.mark.parametrize("name", FORMATS)
def test_our_text_has_the_tokens_of_llama_factorys_own_formatter(
    written: Mapping[tuple[str, str], Written], name: str, formatting: str
) -> None:
    one = written[name, formatting]
    assert one.of_our_text == one.ours
    assert one.theirs == one.ours
    assert len(one.ours["input_ids"]) == len(RECORDS[formatting])


@pytest.mark.parametrize("formatting", RECORDS)
@pytest.mark.parametrize("name", FORMATS)
def test_prompts_have_the_tokens_that_llama_factory_trains_on(
    written: Mapping[tuple[str, str], Written], name: str, formatting: str
) -> None:
    one, form = written[name, formatting], FORMATS[name][0]
    tokenizer = load_tokenizer(str(one.student))
    for record, tokens in zip(RECORDS[formatting], one.theirs["input_ids"], strict=True):
        whole = record.conversation
        prompts: list[Conversation] = [
            whole[:i] for i, message in enumerate(whole) if message.role == "assistant"
        ]
        for prompt in encode_prompts(tokenizer, prompts, form, context=None):
            assert isinstance(prompt, list)
            assert tokens[: len(prompt)] == prompt
