"""The in-process trainer and LLaMA-Factory, from the same dataset folder and YAML file.

LLaMA-Factory's side is its own (see `llama_factory_probe`): its preprocessing, its collators, its
trainers, and for the trainings `llamafactory-cli train`. Two measures of loss are used, both of
whole batches, in the order in which an epoch of the training takes them:

- theirs: `compute_loss` of LLaMA-Factory's trainer;
- ours: the log of an in-process training whose learning rate is next to nothing.

Everything is float32, on CPU.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    SupervisedDatum,
    TextDatum,
    ToolCall,
    TrainingDatum,
)
from dataenvgym.storage import read_jsonl
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset, write_dataset
from dataenvgym.students.pocket import student_path
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.completions import as_completions
from dataenvgym.students.trainers.examples import (
    IGNORED,
    judged_examples,
    preference_examples,
    supervised_examples,
    text_examples,
)
from dataenvgym.students.trainers.loop import updates
from dataenvgym.students.trainers.student import load_tokenizer

pytestmark = [pytest.mark.external, pytest.mark.timeout(1200)]

PROBE = Path(__file__).with_name("llama_factory_probe.py")
STILL = 1e-30
"""A learning rate at which nothing is learned."""

Columns = Mapping[str, list[Any]]


# --- records --------------------------------------------------------------------------------------

PROMPTS: tuple[dict[str, Any], ...] = (
    {"instruction": "1+1?"},
    {"instruction": "add", "input": "1 and 1"},
    {"instruction": "again", "system": "Be brief. ", "history": (("1+1?", "2"), ("2+2?", "4"))},
    {"instruction": " größer\n\n 你好 🙂 ", "input": "{{content}} ", "history": (("a", "\n b "),)},
    {"instruction": "<|end|> <think>x</think> <image_soft>", "system": "<|user|>"},
)
ANSWERS = ("2", "zwei ", "\n<|end|> 4", "你好 🙂", "<tool_call>4</tool_call>")

TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "town": {"type": "string", "description": "where", "enum": ["Bonn", "Köln"]},
                    "days": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["town"],
            },
        },
    },
    {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}},
)


def said(*texts: str) -> tuple[Message, ...]:
    """The messages of user and assistant in turn."""
    return tuple(
        Message(role="assistant" if i % 2 else "user", content=text) for i, text in enumerate(texts)
    )


def tool_use() -> ChatDatum:
    """A conversation with tools: two calls at once, their result, a call with words."""
    ask = ToolCall(name="weather", arguments={"town": "Köln", "days": [1, 2], "x": {"y": None}})
    return ChatDatum(
        messages=(
            Message(role="user", content="Wetter?"),
            Message(
                role="assistant", content="", tool_calls=(ask, ToolCall(name="now", arguments={}))
            ),
            Message(role="tool", content='{"sky": "blue"}'),
            Message(role="assistant", content="Let me see.\n", tool_calls=(ask,)),
            Message(role="tool", content="rain"),
            Message(role="assistant", content="Rain."),
        ),
        system="Help.",
        tools=TOOLS,
    )


SUPERVISED = [SupervisedDatum(**p, output=a) for p in PROMPTS for a in ANSWERS]
CHATS = [
    ChatDatum(messages=said("a", "A")),
    ChatDatum(messages=said("a", "A", "b", " B\n", "c", "C"), system="s"),
    tool_use(),
    tool_use().model_copy(update={"system": ""}),
    ChatDatum(messages=said("no tool needed", "right"), tools=TOOLS[1:]),
]
PREFERENCES = [
    PreferenceDatum(**p, chosen=a, rejected=b) for p in PROMPTS for a, b in pairwise(ANSWERS)
]
TURN_PREFERENCES = [
    PreferenceDatum(
        messages=tool_use().messages[:n],
        system=system,
        tools=TOOLS,
        chosen="Rain.",
        rejected=(tool_use().messages[3],),
    )
    for n in (1, 3, 5)
    for system in ("", "Help.")
]
JUDGED = [
    KTODatum(**p, output=a, desirable=i % 3 > 0)
    for i, (p, a) in enumerate((p, a) for p in PROMPTS for a in ANSWERS)
]
TEXTS = [TextDatum(text=f"{'la ' * n}and {n} times. 🙂<|end|>\n") for n in range(1, 40)]
ALONE = [record for record in SUPERVISED if not record.history]
BARE = {"template": "empty"}
DATES = [f"2024-03-{day:02}" for day in range(1, 21)]


@dataclass(frozen=True)
class Case:
    """Records, the options to train on them with, and the student's chat template."""

    records: Sequence[TrainingDatum]
    options: Mapping[str, Any] = field(default_factory=dict)
    template: str | None = None


TURN = "<|{{ message.role }}|>{{ message.content }}<|end|>"
SPEAK = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
WITH_DEFAULT_SYSTEM = (
    "{% if messages[0].role != 'system' %}<|system|>Be a student.<|end|>{% endif %}"
    f"{{% for message in messages %}}{TURN}{{% endfor %}}{SPEAK}"
)
THINKING = (
    "{% for message in messages %}<|{{ message.role }}|>"
    "{% if message.role == 'assistant' and loop.last %}<think>\n\n</think>\n\n{% endif %}"
    f"{{{{ message.content }}}}<|end|>{{% endfor %}}{SPEAK}"
)
SWITCHED = THINKING + (
    "{% if add_generation_prompt and enable_thinking is defined and not enable_thinking %}"
    "<think>\n\n</think>\n\n{% endif %}"
)
OFF, ON = ({"chat_template_kwargs": {"enable_thinking": value}} for value in (False, True))
THOUGHTS = ("<think>\nhm\n</think>\n\nyes", "no", "</think>maybe")
# With thoughts, LLaMA-Factory's prompts of several turns are not those of an evaluation.
THOUGHT_RECORDS = [
    *(SupervisedDatum(instruction="q", output=t) for t in THOUGHTS),
    *(chat for chat in CHATS if len(chat.messages) == 2),
]
THOUGHT_PREFERENCES = [
    PreferenceDatum(instruction="q", chosen=t, rejected="n", history=(("p", "r"),))
    for t in THOUGHTS
]
# Nor does an evaluation write tools behind a default system message.
WITHOUT_TOOLS_ALONE = [chat for chat in CHATS if chat.system or not chat.tools]

CASES: Mapping[str, Case] = {
    "supervised": Case(SUPERVISED),
    "supervised, answers are dates": Case(
        [SupervisedDatum(instruction="when?", output=d) for d in DATES]
    ),
    "supervised, cut": Case(SUPERVISED, {"cutoff_len": 24}),
    "chat": Case(CHATS, {"cutoff_len": 1024}),
    "chat, cut": Case(CHATS, {"cutoff_len": 350}),
    "supervised and chat": Case([*SUPERVISED, *CHATS]),
    "preference": Case(PREFERENCES),
    "preference, questions are dates": Case(
        [
            PreferenceDatum(instruction=d, chosen="day", rejected="week", history=(("a", "b"),))
            for d in DATES
        ]
    ),
    "preference, turns of conversations with tools": Case(
        [*PREFERENCES, *TURN_PREFERENCES], {"cutoff_len": 1024}
    ),
    "preference, cut": Case(PREFERENCES, {"cutoff_len": 24}),
    "preference, with supervision": Case(PREFERENCES, {"pref_ftx": 0.5, "pref_beta": 0.3}),
    "kto": Case(JUDGED),
    "kto, answers are dates": Case(
        [KTODatum(instruction="when?", output=d, desirable=d > "2024-03-05") for d in DATES]
    ),
    "kto, cut": Case(JUDGED, {"cutoff_len": 24}),
    "kto, weighted": Case(JUDGED, {"kto_chosen_weight": 0.5, "kto_rejected_weight": 2.0}),
    "kto, more than a thousand": Case(
        [KTODatum(instruction=f"{n}", output=f"={n}", desirable=n % 2 > 0) for n in range(1010)]
    ),
    "text": Case(TEXTS),
    "text, cut": Case(TEXTS, {"cutoff_len": 24}),
    "text, packed": Case(TEXTS, {"cutoff_len": 25, "packing": True}),
    "text, packed, more than a thousand": Case(
        [TextDatum(text=f"line {n}") for n in range(1010)], {"cutoff_len": 40, "packing": True}
    ),
    "completions": Case(
        as_completions([*ALONE, CHATS[0]], str(student_path())), {**BARE, "cutoff_len": 24}
    ),
    "completions, preference": Case(
        as_completions([r for r in PREFERENCES if not r.history], str(student_path())), BARE
    ),
    "completions, kto": Case(
        as_completions([r for r in JUDGED if not r.history], str(student_path())), BARE
    ),
    "completions, text": Case(as_completions(TEXTS, str(student_path())), BARE),
    "default system": Case([*SUPERVISED, *WITHOUT_TOOLS_ALONE], template=WITH_DEFAULT_SYSTEM),
    "default system, kto": Case(JUDGED, template=WITH_DEFAULT_SYSTEM),
    "thoughts": Case(THOUGHT_RECORDS, template=THINKING),
    "thoughts, preference": Case(THOUGHT_PREFERENCES, template=THINKING),
    # it puts no empty thought before a reply with a lone tag, and strips earlier replies
    "thoughts, switched off": Case(
        [record for record in THOUGHT_RECORDS if "</think>m" not in str(record)], OFF, SWITCHED
    ),
    "thoughts, switched on": Case(THOUGHT_RECORDS, ON, SWITCHED),
    "thoughts, switched off, preference": Case(
        [
            record.model_copy(update={"history": ()})
            for record in THOUGHT_PREFERENCES
            if "</think>m" not in record.chosen
        ],
        OFF,
        SWITCHED,
    ),
    "thoughts, switched off, kto": Case([r for r in JUDGED if not r.history], OFF, SWITCHED),
}


def sums(stage: str, count: int) -> list[TrainingDatum]:
    """Records of one stage that can be learned."""
    records: list[TrainingDatum] = []
    for n in range(count):
        question, right, wrong = f"{n % 9} + {n % 7}", f"{n % 9 + n % 7}", f"{n % 5} or so"
        if stage == "sft":
            records.append(SupervisedDatum(instruction=question, output=f"{right} it is"))
        elif stage == "pt":
            records.append(TextDatum(text=f"{question} makes {right}"))
        elif stage == "dpo":
            records.append(PreferenceDatum(instruction=question, chosen=right, rejected=wrong))
        else:
            answer = wrong if n % 3 == 0 else right
            records.append(KTODatum(instruction=question, output=answer, desirable=n % 3 > 0))
    return records


# --- both sides -----------------------------------------------------------------------------------


def write_training(folder: Path, records: Sequence[TrainingDatum], **options: Any) -> Path:
    """The YAML file for a training on the records, as a predictor writes it."""
    dataset = write_dataset(folder / "dataset", records)
    config = TrainingConfig(
        **{"model_name_or_path": student_path(), "per_device_train_batch_size": 8, **options},
        stage=dataset.stage,
        dataset=dataset.name,
        dataset_dir=dataset.folder,
        output_dir=folder / "adapter",
        logging_steps=1,
        seed=5,
    )
    path = folder / "training.yaml"
    config.write(path)
    return path


def changed(path: Path, folder: Path, **options: Any) -> Path:
    """The same training with other options, in a folder of its own."""
    config = TrainingConfig.read(path).with_options(output_dir=folder / "adapter", **options)
    folder.mkdir(parents=True)
    config.write(folder / "training.yaml")
    return folder / "training.yaml"


def measure_ours(path: Path, folder: Path) -> list[float]:
    """The loss of each batch of the training's first epoch, with the weights it begins with."""
    once = changed(path, folder, learning_rate=STILL, num_train_epochs=1)
    InProcessTrainer().train(once)
    return [line["loss"] for line in read_jsonl(folder / "trainer_log.jsonl")]


def examples_of_ours(path: Path) -> Columns:
    """The in-process trainer's examples, under LLaMA-Factory's column names."""
    config = TrainingConfig.read(path)
    records: Any = list(read_dataset(Path(config.dataset_dir or ""), config.dataset or ""))
    tokenizer = load_tokenizer(
        config.model_name_or_path or "",
        template=config.template,
        chat_template_kwargs=config.chat_template_kwargs,
    )
    cutoff = config.cutoff_len
    if config.stage == "dpo":
        pairs = preference_examples(records, tokenizer, cutoff)
        return {
            "chosen_input_ids": [pair.chosen.tokens for pair in pairs],
            "chosen_labels": [pair.chosen.labels for pair in pairs],
            "rejected_input_ids": [pair.rejected.tokens for pair in pairs],
            "rejected_labels": [pair.rejected.labels for pair in pairs],
        }
    if config.stage == "kto":
        judged = judged_examples(records, tokenizer, cutoff)
        return {
            "input_ids": [one.example.tokens for one in judged],
            "labels": [one.example.labels for one in judged],
            "kl_input_ids": [one.mismatched.tokens for one in judged],
            "kl_labels": [one.mismatched.labels for one in judged],
            "kto_tags": [one.desirable for one in judged],
        }
    if config.stage == "pt":
        room = cutoff - config.packing  # see InProcessTrainer
        examples = text_examples(records, tokenizer, room, packing=config.packing)
        # LLaMA-Factory's collator makes the labels of this stage
        return {"input_ids": [example.tokens for example in examples]}
    examples = supervised_examples(records, tokenizer, cutoff)
    return {
        "input_ids": [example.tokens for example in examples],
        "labels": [example.labels for example in examples],
    }


@dataclass(frozen=True)
class LlamaFactory:
    """LLaMA-Factory in an environment of its own."""

    python: Path
    folder: Path

    def measure(self, trainings: Sequence[Path]) -> list[Any]:
        """For each training what `llama_factory_probe` says of it."""
        out = self.folder / "measured.json"
        self._run(self.python, PROBE, "measure", out, *trainings)
        measured: list[Any] = json.loads(out.read_text())
        return measured

    def train(self, training: Path) -> None:
        """Train as everybody does."""
        self._run(self.python.with_name("llamafactory-cli"), "train", training)

    def _run(self, *command: str | Path) -> None:
        environment = {
            **{name: v for name, v in os.environ.items() if name != "PYTHONPATH"},
            "CUDA_VISIBLE_DEVICES": "",
            "HF_HOME": str(self.folder / "huggingface"),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def llama_factory(llama_factory_python, tmp_path_factory):
    return LlamaFactory(llama_factory_python, tmp_path_factory.mktemp("llama_factory"))


# --- the same tokens, the same losses -------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """A training, and the input of LLaMA-Factory's trainer."""

    training: Path
    examples: Columns
    batches: Sequence[Columns]
    losses: Sequence[float]


@pytest.fixture(scope="module")
def seen(llama_factory, tmp_path_factory):
    trainings = {}
    for name, case in CASES.items():
        folder = tmp_path_factory.mktemp("case")
        options = dict(case.options)
        if case.template is not None:
            options["model_name_or_path"] = folder / "student"
            shutil.copytree(student_path(), folder / "student")
            (folder / "student" / "chat_template.jinja").write_text(case.template)
        trainings[name] = write_training(folder, case.records, **options)
    measured = llama_factory.measure(list(trainings.values()))
    return {
        name: Seen(path, **one)
        for (name, path), one in zip(trainings.items(), measured, strict=True)
    }


@pytest.mark.parametrize("name", CASES)
def test_both_see_the_same_tokens_and_labels_in_the_same_order(seen, name):
    assert seen[name].examples == examples_of_ours(seen[name].training)


@pytest.mark.parametrize("name", [name for name in CASES if "packed" not in name])
def test_llama_factory_loses_no_record(seen, name):
    for column in seen[name].examples.values():
        assert len(column) == len(CASES[name].records)
    assert sum(map(n_examples, seen[name].batches)) >= len(CASES[name].records)


@pytest.mark.parametrize("name", CASES)
def test_both_take_the_same_batches_in_the_same_order(seen, name):
    config = TrainingConfig.read(seen[name].training).with_options(num_train_epochs=1)
    examples = seen[name].examples
    column = "chosen_input_ids" if config.stage == "dpo" else "input_ids"
    ours = updates(len(examples[column]), config)
    assert len(ours) == len(seen[name].batches)
    for update, batch in zip(ours, seen[name].batches, strict=True):
        expected = [examples[column][i] for i in update.batches[0]]
        found = batch["input_ids"][: len(expected)]
        assert [row[: len(e)] for row, e in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize("name", CASES)
def test_the_losses_of_the_first_epochs_batches_agree_at_step_0(seen, name, tmp_path):
    assert measure_ours(seen[name].training, tmp_path / "ours") == pytest.approx(
        seen[name].losses, abs=1e-3
    )


def n_examples(batch: Columns) -> int:
    return len(batch["input_ids"])


# --- the intended tokens are learned --------------------------------------------------------------


def sides(seen: Seen, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Of each example, by LLaMA-Factory's labels, the text that is not learned and the rest.

    Args:
        prefix: of the columns.
    """
    tokenizer = load_tokenizer(str(student_path()))
    columns = (seen.examples[f"{prefix}{name}"] for name in ("input_ids", "labels"))
    for tokens, labels in zip(*columns, strict=True):
        learned = [label for label in labels if label != IGNORED]
        assert learned == [t for t, label in zip(tokens, labels, strict=True) if label == t]
        prompt = [t for t, label in zip(tokens, labels, strict=True) if label == IGNORED]
        yield tokenizer.decode(prompt), tokenizer.decode(learned)


def asked(record: Any, *, history: bool) -> str:
    """The prompt of an alpaca record in the pocket student's words."""
    turns = "".join(
        f"<|user|>{question}<|end|><|assistant|>{f'{reply}<|end|>' if history else ''}"
        for question, reply in record.history
    )
    system = f"<|system|>{record.system}<|end|>" if record.system else ""
    text = f"{record.instruction}\n{record.input}" if record.input else record.instruction
    return f"{system}{turns}<|user|>{text}<|end|><|assistant|>"


def test_of_a_supervised_record_every_reply_is_learned_and_no_prompt(seen):
    for record, (prompt, learned) in zip(SUPERVISED, sides(seen["supervised"]), strict=True):
        assert prompt == asked(record, history=False)
        replies = (*(reply for _, reply in record.history), record.output)
        assert learned == "".join(f"{reply}<|end|>" for reply in replies)


def test_of_a_completion_the_completion_and_its_end_are_learned_and_no_prompt(seen):
    (first, *_) = sides(seen["completions"])
    assert first == ("1+1?", "2<|end|>")


def test_of_a_conversation_every_reply_and_tool_call_is_learned(seen):
    spoken = list(sides(seen["chat"]))
    assert spoken[0] == ("<|user|>a<|end|><|assistant|>", "A<|end|>")
    assert spoken[1] == (
        "<|system|>s<|end|><|user|>a<|end|><|assistant|><|user|>b<|end|><|assistant|>"
        "<|user|>c<|end|><|assistant|>",
        "A<|end|> B\n<|end|>C<|end|>",
    )
    prompt, learned = spoken[2]
    call = 'Action: weather\nAction Input: {"town": "Köln", "days": [1, 2], "x": {"y": null}}'
    assert learned == (
        f"{call}\nAction: now\nAction Input: {{}}<|end|>Let me see.\n{call}<|end|>Rain.<|end|>"
    )
    assert prompt.startswith("<|system|>Help.You have access to the following tools:\n")
    assert "> Tool Name: weather\nTool Description: The weather\n" in prompt
    assert "one of [weather, now]" in prompt
    assert '<|user|>{"sky": "blue"}<|end|><|assistant|>' in prompt
    assert prompt.endswith("<|user|>rain<|end|><|assistant|>")


def test_of_a_preference_both_last_answers_are_learned(seen):
    better, worse = (sides(seen["preference"], side) for side in ("chosen_", "rejected_"))
    for record, chosen, rejected in zip(PREFERENCES, better, worse, strict=True):
        prompt = asked(record, history=True)
        assert chosen == (prompt, f"{record.chosen}<|end|>")
        assert rejected == (prompt, f"{record.rejected}<|end|>")


def test_of_a_judged_record_the_last_answer_is_learned_with_its_judgment(seen):
    for record, spoken in zip(JUDGED, sides(seen["kto"]), strict=True):
        assert spoken == (asked(record, history=True), f"{record.output}<|end|>")
    assert seen["kto"].examples["kto_tags"] == [record.desirable for record in JUDGED]


def test_of_a_text_everything_is_learned(seen):
    tokenizer = load_tokenizer(str(student_path()))
    texts = [tokenizer.decode(tokens) for tokens in seen["text"].examples["input_ids"]]
    assert texts == [f"{record.text}<|end|>" for record in TEXTS]
    for batch in seen["text"].batches:
        for tokens, labels in zip(batch["input_ids"], batch["labels"], strict=True):
            assert labels == [IGNORED if t == tokenizer.pad_token_id else t for t in tokens]


# --- the same training ----------------------------------------------------------------------------

STAGES = ("sft", "pt", "dpo", "kto")
RATES = {"sft": 1e-3, "pt": 1e-3, "dpo": 1e-4, "kto": 1e-3}
"""Learning rates at which losses fall, and not to nothing."""


@dataclass(frozen=True)
class Measured:
    """The loss of every batch with the same weights, by both measures."""

    by_ours: Sequence[float]
    by_theirs: Sequence[float]


@dataclass(frozen=True)
class Trained:
    """One training by both: the losses with its adapters, and its logs.

    Attributes:
        given: its file, from which both files were made.
        measured: with no adapter ("none"), with the one of either trainer ("ours", "theirs"), and
            of preferences with ours measured against one of an epoch ("against").
        our_log, their_log: the loss of each update.
    """

    given: Path
    measured: Mapping[str, Measured]
    our_log: Sequence[float]
    their_log: Sequence[float]


@pytest.fixture(scope="module")
def trained(llama_factory, tmp_path_factory):
    """For each stage 96 records, 3 epochs, 18 updates of two batches each."""
    folders = {stage: tmp_path_factory.mktemp(stage) for stage in STAGES}
    trainings = {}
    for stage, folder in folders.items():
        rate = RATES[stage]
        options = {"num_train_epochs": 3, "gradient_accumulation_steps": 2, "lora_rank": 8}
        given = write_training(folder / "given", sums(stage, 96), learning_rate=rate, **options)
        InProcessTrainer().train(changed(given, folder / "ours"))
        InProcessTrainer().train(changed(given, folder / "earlier", num_train_epochs=1))
        llama_factory.train(changed(given, folder / "theirs"))
        for name, adapter in starts(folder, stage).items():
            trainings[stage, name] = changed(
                given, folder / f"with_{name}", gradient_accumulation_steps=1, **adapter
            )
    theirs = llama_factory.measure(list(trainings.values()))
    measured = {
        key: Measured(measure_ours(path, path.parent / "still"), one["losses"])
        for (key, path), one in zip(trainings.items(), theirs, strict=True)
    }
    return {
        stage: Trained(
            folder / "given" / "training.yaml",
            {name: one for (of, name), one in measured.items() if of == stage},
            our_log=logged(folder / "ours" / "trainer_log.jsonl"),
            their_log=logged(folder / "theirs" / "adapter" / "trainer_log.jsonl"),
        )
        for stage, folder in folders.items()
    }


def starts(folder: Path, stage: str) -> dict[str, dict[str, Any]]:
    """The options of the trainings with whose first weights losses are measured."""
    ours, theirs, earlier = (
        str(folder / side / "adapter") for side in ("ours", "theirs", "earlier")
    )
    reference = {"ref_model": str(student_path()), "ref_model_adapters": earlier}
    found: dict[str, dict[str, Any]] = {
        "none": {},
        "ours": {"adapter_name_or_path": ours},
        "theirs": {"adapter_name_or_path": theirs},
    }
    if stage in ("dpo", "kto"):
        found["against"] = {"adapter_name_or_path": ours, "extra": reference}
    return found


def logged(path: Path) -> list[float]:
    return [line["loss"] for line in read_jsonl(path) if "loss" in line]


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "pt"])
def test_the_first_update_of_both_trainings_has_the_same_loss(trained, stage):
    one = trained[stage]
    assert len(one.our_log) == len(one.their_log) == 18
    assert one.our_log[0] == pytest.approx(one.their_log[0], abs=1e-3)


def test_the_first_update_on_texts_has_the_same_loss_but_for_the_tokens_counted(trained):
    """The sums agree; their divisors do not.

    transformers 5.6, the newest that LLaMA-Factory 0.9.5 allows, counts the first token of each
    text when it trains, though nothing predicts it. Later versions count as we do, and so does
    5.6 where it does not train. In the other stages a prompt comes first, which is never learned.
    """
    one = trained["pt"]
    tokens = examples_of_ours(one.given)["input_ids"]
    (first, *_) = updates(len(tokens), TrainingConfig.read(one.given))
    lengths = [len(tokens[i]) for batch in first.batches for i in batch]
    learned = sum(lengths) - len(lengths)
    assert len(one.our_log) == len(one.their_log) == 18
    assert one.our_log[0] * learned / sum(lengths) == pytest.approx(one.their_log[0], abs=1e-3)


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "pt"])
def test_both_trainings_go_the_same_way(trained, stage):
    """One seed draws the same adapter to begin with, and the same batches, for both."""
    one = trained[stage]
    assert one.our_log == pytest.approx(one.their_log, rel=0.05)


@pytest.mark.parametrize("stage", STAGES)
def test_after_training_the_mean_losses_over_the_training_set_are_within_5_percent(trained, stage):
    before, ours, theirs = (trained[stage].measured[name] for name in ("none", "ours", "theirs"))
    assert mean(ours.by_theirs) == pytest.approx(mean(theirs.by_theirs), rel=0.05)
    assert mean(ours.by_ours) == pytest.approx(mean(theirs.by_ours), rel=0.05)
    # ... which would be cheap if nothing had been learned
    assert mean(theirs.by_theirs) < 0.9 * mean(before.by_theirs)


@pytest.mark.parametrize("stage", STAGES)
def test_both_measure_the_same_losses_of_an_adapter_that_either_of_them_made(trained, stage):
    """A preference's loss begins at a constant whatever the model says; here it is none."""
    for one in trained[stage].measured.values():
        assert one.by_ours == pytest.approx(one.by_theirs, abs=1e-3)
