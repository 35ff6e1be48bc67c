"""Our text formats write the tokens that LLaMA-Factory writes itself.

The same conversations are given to LLaMA-Factory twice: as other people give them, with tools,
calls and results apart, which it then formats; and as our datasets have them, all text.

Where its own tokens cannot be ours, `DIFFERENCES` says which they are.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.records import ChatDatum, Conversation, Message, Tool, ToolCall
from dataenvgym.records.tool_formats import (
    HERMES,
    LLAMA3,
    LLAMA_FACTORY,
    MISTRAL,
    ToolFormat,
    as_function,
)
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset, write_dataset
from dataenvgym.students.pocket import student_path
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers.examples import IGNORED, supervised_examples
from dataenvgym.students.trainers.student import load_tokenizer
from tests.students.external.test_forms_of_llama_factory import BETWEEN

pytestmark = [pytest.mark.external, pytest.mark.timeout(600)]

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA3_CHAT = (
    "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
    "'<|end_header_id|>\n\n' + m['content'] + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
    "{% endif %}"
)
MISTRAL_CHAT = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m['role'] == 'system' %}{{ '[SYSTEM_PROMPT]' + m['content'] + '[/SYSTEM_PROMPT]' }}"
    "{% elif m['role'] == 'user' %}{{ '[INST]' + m['content'] + '[/INST]' }}"
    "{% else %}{{ m['content'] + eos_token }}{% endif %}{% endfor %}"
)
# LLaMA-Factory wants the processor of images that models with this template have
MISTRAL_FILES = {
    "processor_config.json": {"processor_class": "PixtralProcessor", "patch_size": 16},
    "preprocessor_config.json": {
        "processor_class": "PixtralProcessor",
        "image_processor_type": "PixtralImageProcessor",
        "patch_size": {"height": 16, "width": 16},
        "size": {"longest_edge": 64},
    },
}
SYSTEM = "Help.\n"
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


RECORDS = [
    chat(calls("", KÖLN), result('{"sky": "blue"}')),
    chat(calls("", KÖLN, BONN), result("rain")),
    chat(calls("Let me see.\n", BONN), result(" rain\n"), calls("", KÖLN), result("sun")),
    chat(calls("", KÖLN, BONN), result("sun"), result("rain\n")),
    chat(),
]


def row_of(record: ChatDatum) -> dict[str, Any]:
    """A row as other people write it: tools, calls and results apart from text."""
    turns: list[dict[str, str]] = []
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
        if turns and turns[-1]["from"] == role == "observation":
            turns[-1]["value"] += BETWEEN + value  # as LLaMA-Factory joins OpenAI's messages
        else:
            turns.append({"from": role, "value": value})
    tools = json.dumps([as_function(tool) for tool in TOOLS])
    return {"messages": turns, "system": SYSTEM, "tools": tools}


def write_apart(folder: Path) -> str:
    """The records as a dataset of other people."""
    columns = {name: name for name in ("messages", "system", "tools")}
    entry = {"file_name": "apart.json", "formatting": "sharegpt", "columns": columns}
    folder.mkdir()
    (folder / "dataset_info.json").write_text(json.dumps({"apart": entry}))
    (folder / "apart.json").write_text(json.dumps([row_of(record) for record in RECORDS]))
    return "apart"


@dataclass(frozen=True)
class Family:
    """Models with a chat template that LLaMA-Factory knows.

    Attributes:
        template: its name there.
        special: special tokens, of which the first ends a turn.
        begins: a special token that begins every conversation.
        files: more files of its folder.
    """

    template: str
    chat: str
    special: tuple[str, ...]
    begins: str | None = None
    files: Mapping[str, Any] = field(default_factory=dict)


FAMILIES = {
    "hermes": Family("qwen", CHATML, ("<|im_end|>", "<|im_start|>")),
    "llama3": Family(
        "llama3",
        LLAMA3_CHAT,
        ("<|eot_id|>", "<|eom_id|>", "<|start_header_id|>", "<|end_header_id|>"),
        begins="<|begin_of_text|>",
    ),
    "mistral": Family(
        "mistral_small",
        MISTRAL_CHAT,
        (
            *("</s>", "[INST]", "[/INST]", "[TOOL_CALLS]"),
            *("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"),
            *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
        ),
        begins="<s>",
        files=MISTRAL_FILES,
    ),
}
FORMATS: Mapping[str, ToolFormat] = {
    "llama_factory": LLAMA_FACTORY,  # it takes the tokenizer's own template
    "hermes": HERMES,
    "llama3": LLAMA3,
    "mistral": MISTRAL,
}
# Results are turns of the user's in our text, and calls come behind what is said beside them.
HEADER = "<|start_header_id|>{}<|end_header_id|>"
DAY = datetime.now().strftime("%d %b %Y")
DIFFERENCES: Mapping[str, list[tuple[str, str]]] = {
    "hermes": [("Let me see.\n<tool_call>", "Let me see.\n\n<tool_call>")],
    "llama3": [
        (HEADER.format("ipython"), HEADER.format("user")),
        (f"Cutting Knowledge Date: December 2023\nToday Date: {DAY}\n\n", ""),
    ],
    "mistral": [
        ("[TOOL_RESULTS]", "[INST][TOOL_RESULTS]"),
        ("[/TOOL_RESULTS]", "[/TOOL_RESULTS][/INST]"),
        ("[TOOL_CALLS]Let me see.\n", "Let me see.\n[TOOL_CALLS]"),
    ],
}


@pytest.fixture(scope="module")
def students(make_student, tmp_path_factory):
    """A student for each format."""
    from tokenizers.processors import TemplateProcessing

    found = {"llama_factory": student_path()}
    for name, family in FAMILIES.items():
        begins = (family.begins,) if family.begins else ()
        folder = make_student(
            tmp_path_factory.mktemp("students") / name,
            words=(*family.special, *begins),
            chat_template=family.chat,
        )
        tokenizer = load_tokenizer(str(folder))
        named = {"eos_token": family.special[0], "additional_special_tokens": list(family.special)}
        tokenizer.add_special_tokens(named)
        if family.begins:
            tokenizer.add_special_tokens({"bos_token": family.begins})
            tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
                single=f"{family.begins} $A",
                special_tokens=[(family.begins, tokenizer.bos_token_id)],
            )
        tokenizer.save_pretrained(folder)
        for file, content in family.files.items():
            (folder / file).write_text(json.dumps(content))
        found[name] = folder
    return found


def as_ours(examples: Mapping[str, Any], student: Path, name: str) -> Mapping[str, Any]:
    """LLaMA-Factory's examples with our tokens in the places that differ."""
    tokenizer = load_tokenizer(str(student))
    pairs = [
        [tokenizer(text, add_special_tokens=False)["input_ids"] for text in pair]
        for pair in DIFFERENCES.get(name, ())
    ]
    tokens, labels = [], []
    for ids, learned in zip(examples["input_ids"], examples["labels"], strict=True):
        found, marked, at = [], [], 0
        while at < len(ids):
            theirs, ours = next(
                (pair for pair in pairs if ids[at : at + len(pair[0])] == pair[0]),
                (ids[at : at + 1],) * 2,
            )
            found += ours
            marked += [IGNORED] * len(ours) if learned[at] == IGNORED else ours
            at += len(theirs)
        tokens.append(found)
        labels.append(marked)
    return {"input_ids": tokens, "labels": labels}


@pytest.fixture(scope="module")
def written(llama_factory, students, tmp_path_factory):
    """Tokens and labels by LLaMA-Factory's formatter, of our text by LLaMA-Factory, and by us."""
    trainings, ours = [], {}
    for name, form in FORMATS.items():
        student, folder = students[name], tmp_path_factory.mktemp(name)
        apart = write_apart(folder / "apart")
        flat = write_dataset(folder / "flat", RECORDS, tool_format=form).name
        for kind, dataset in (("apart", apart), ("flat", flat)):
            config = TrainingConfig(
                model_name_or_path=student,
                template=FAMILIES[name].template if name in FAMILIES else None,
                dataset=dataset,
                dataset_dir=folder / kind,
                output_dir=folder / f"{kind}-adapter",
                cutoff_len=4096,
            )
            config.write(folder / f"{kind}.yaml")
            trainings.append(folder / f"{kind}.yaml")
        read: Any = list(read_dataset(folder / "flat", flat))
        examples = supervised_examples(read, load_tokenizer(str(student)), 4096)
        ours[name] = {
            "input_ids": [e.tokens for e in examples],
            "labels": [e.labels for e in examples],
        }
    measured = (one["examples"] for one in llama_factory.ask("measure", *trainings))
    return {
        name: (as_ours(next(measured), students[name], name), next(measured), examples)
        for name, examples in ours.items()
    }


@pytest.mark.parametrize("name", FORMATS)
def test_our_text_has_the_tokens_of_llama_factorys_own_formatter(written, name):
    theirs, of_our_text, ours = written[name]
    assert theirs == of_our_text == ours
    assert len(ours["input_ids"]) == len(RECORDS)


@pytest.mark.parametrize("name", FORMATS)
def test_prompts_have_the_tokens_that_llama_factory_trains_on(written, students, name):
    theirs, *_ = written[name]
    tokenizer = load_tokenizer(str(students[name]))
    for record, tokens in zip(RECORDS, theirs["input_ids"], strict=True):
        whole = record.conversation
        prompts: list[Conversation] = [
            whole[:i] for i, message in enumerate(whole) if message.role == "assistant"
        ]
        for prompt in encode_prompts(tokenizer, prompts, FORMATS[name], context=None):
            assert isinstance(prompt, list)
            assert tokens[: len(prompt)] == prompt
