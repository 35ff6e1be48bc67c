"""The in-process trainer and LLaMA-Factory, from the same dataset folder and YAML file.

LLaMA-Factory's side is its own (see `llama_factory_probe`): its preprocessing, its collators, its
trainers, and for the trainings `llamafactory-cli train`. Two measures of loss are used, both of
whole batches, in the order in which an epoch of the training takes them:

- theirs: `compute_loss` of LLaMA-Factory's trainer;
- ours: the log of an in-process training whose learning rate is next to nothing.

Everything is float32, on CPU.
"""

import shutil
from collections.abc import Mapping, Sequence
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
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset
from dataenvgym.students.pocket import student_path
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.completions import as_completions
from dataenvgym.students.trainers.loop import updates
from dataenvgym.students.trainers.student import load_tokenizer
from dataenvgym.students.trainers.support import examples_of
from tests.students import trainings
from tests.students.external.test_tool_formats_in_llama_factory import TOOLS
from tests.students.trainings import losses, spoken

pytestmark = [pytest.mark.external, pytest.mark.timeout(1200)]

STILL = 1e-30
"""A learning rate at which nothing is learned."""


# --- records --------------------------------------------------------------------------------------

PROMPTS: tuple[dict[str, Any], ...] = (
    {"instruction": "1+1?"},
    {"instruction": "add", "input": "1 and 1"},
    {"instruction": "again", "system": "Be brief. ", "history": (("1+1?", "2"), ("2+2?", "4"))},
    {"instruction": " größer\n\n 你好 🙂 ", "input": "{{content}} ", "history": (("a", "\n b "),)},
    {"instruction": "<|end|> <think>x</think> <image_soft>", "system": "<|user|>"},
)
ANSWERS = ("2", "zwei ", "\n<|end|> 4", "你好 🙂", "<tool_call>4</tool_call>")


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
    ChatDatum(messages=spoken("a", "A")),
    ChatDatum(messages=spoken("a", "A", "b", " B\n", "c", "C"), system="s"),
    tool_use(),
    tool_use().model_copy(update={"system": ""}),
    ChatDatum(messages=spoken("no tool needed", "right"), tools=TOOLS[1:]),
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

CUT = {"cutoff_len": 24}
# Records, the options to train on them with, and the student's chat template.
CASES: Mapping[str, tuple[Sequence[TrainingDatum], Mapping[str, Any], str | None]] = {
    "supervised and chat": ([*SUPERVISED, *CHATS], {"cutoff_len": 1024}, None),
    "supervised, cut": (SUPERVISED, CUT, None),
    "chat alone, cut": (CHATS, {"cutoff_len": 350}, None),
    "supervised, answers are dates": (
        [SupervisedDatum(instruction="?", output=f"2024-03-{n}") for n in range(10, 30)], {}, None,
    ),
    "preference": ([*PREFERENCES, *TURN_PREFERENCES], {"cutoff_len": 1024}, None),
    "preference, cut": (PREFERENCES, CUT, None),
    "preference, with supervision": (PREFERENCES, {"pref_ftx": 0.5, "pref_beta": 0.3}, None),
    "kto": (JUDGED, {}, None),
    "kto, cut": (JUDGED, CUT, None),
    "kto, weighted, more than a thousand": (
        [KTODatum(instruction=f"{n}", output=f"={n}", desirable=n % 2 > 0) for n in range(1010)],
        {"kto_chosen_weight": 0.5, "kto_rejected_weight": 2.0}, None,
    ),
    "text": (TEXTS, {}, None),
    "text, cut": (TEXTS, CUT, None),
    "text, packed": (TEXTS, {"cutoff_len": 25, "packing": True}, None),
    "text, packed, more than a thousand": (
        [TextDatum(text=f"line {n}") for n in range(1010)], {"cutoff_len": 40, "packing": True},
        None,
    ),
    **{
        f"completions, {records[0].kind}": (
            as_completions(records, str(student_path())), {"template": "empty", "cutoff_len": n},
            None,
        )
        for records, n in (
            ([*ALONE, CHATS[0]], 24), ([r for r in PREFERENCES if not r.history], 512),
            ([r for r in JUDGED if not r.history], 512), (TEXTS, 512),
        )
    },
    "default system": ([*SUPERVISED, *WITHOUT_TOOLS_ALONE], {}, WITH_DEFAULT_SYSTEM),
    "default system, kto": (JUDGED, {}, WITH_DEFAULT_SYSTEM),
    "thoughts": (THOUGHT_RECORDS, {}, THINKING),
    "thoughts, preference": (THOUGHT_PREFERENCES, {}, THINKING),
    # it puts no empty thought before a reply with a lone tag, and strips earlier replies
    "thoughts, switched off": (
        [record for record in THOUGHT_RECORDS if "</think>m" not in str(record)], OFF, SWITCHED,
    ),
    "thoughts, switched on": (THOUGHT_RECORDS, ON, SWITCHED),
    "thoughts, switched off, preference": (
        [
            record.model_copy(update={"history": ()})
            for record in THOUGHT_PREFERENCES
            if "</think>m" not in record.chosen
        ],
        OFF, SWITCHED,
    ),
    "thoughts, switched off, kto": ([r for r in JUDGED if not r.history], OFF, SWITCHED),
}  # fmt: skip


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
    given = {"model_name_or_path": student_path(), "per_device_train_batch_size": 8, **options}
    return trainings.write_training(folder, records, **given, logging_steps=1, seed=5)


def changed(path: Path, folder: Path, **options: Any) -> Path:
    """The same training with other options, in a folder of its own."""
    config = TrainingConfig.read(path).with_options(output_dir=folder / "adapter", **options)
    folder.mkdir(parents=True)
    config.write(folder / "training.yaml")
    return folder / "training.yaml"


def measure_ours(path: Path, folder: Path) -> list[float]:
    """The loss of each batch of the training's first epoch, with the weights it begins with."""
    once = changed(path, folder, learning_rate=STILL, num_train_epochs=1)
    return losses(InProcessTrainer().train(once))


def examples_of_ours(path: Path) -> dict[str, list[Any]]:
    """The in-process trainer's examples, under LLaMA-Factory's column names."""
    config = TrainingConfig.read(path)
    tokenizer = load_tokenizer(
        config.model_name_or_path or "",
        template=config.template,
        chat_template_kwargs=config.chat_template_kwargs,
    )
    records = list(read_dataset(Path(config.dataset_dir or ""), config.dataset or ""))
    found, columns = examples_of(config, records, tokenizer), {}
    sides = {
        "dpo": {"chosen_": "chosen", "rejected_": "rejected"},
        "kto": {"": "example", "kl_": "mismatched"},
    }
    for prefix, side in sides.get(config.stage, {"": ""}).items():
        examples = [getattr(one, side, one) for one in found]
        columns[f"{prefix}input_ids"] = [example.tokens for example in examples]
        columns[f"{prefix}labels"] = [example.labels for example in examples]
    if config.stage == "kto":
        columns["kto_tags"] = [one.desirable for one in found]
    if config.stage == "pt":
        del columns["labels"]  # LLaMA-Factory's collator makes them
    return columns


# --- the same tokens, the same losses -------------------------------------------------------------


@pytest.fixture(scope="module")
def seen(llama_factory, tmp_path_factory):
    """Each training, and the input of LLaMA-Factory's trainer."""
    trainings = {}
    for name, (records, given, template) in CASES.items():
        folder, options = tmp_path_factory.mktemp("case"), dict(given)
        if template is not None:
            options["model_name_or_path"] = folder / "student"
            shutil.copytree(student_path(), folder / "student")
            (folder / "student" / "chat_template.jinja").write_text(template)
        trainings[name] = write_training(folder, records, **options)
    measured = llama_factory.ask("measure", *trainings.values())
    return dict(zip(CASES, zip(trainings.values(), measured, strict=True), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_both_see_the_same_tokens_and_labels_and_lose_no_record(seen, name):
    training, found = seen[name]
    assert found["examples"] == examples_of_ours(training)
    if "packed" not in name:
        n_records = len(CASES[name][0])
        assert {len(column) for column in found["examples"].values()} == {n_records}
        assert sum(len(batch["input_ids"]) for batch in found["batches"]) >= n_records


@pytest.mark.parametrize("name", CASES)
def test_both_take_the_same_batches_in_the_same_order(seen, name):
    training, found = seen[name]
    config = TrainingConfig.read(training).with_options(num_train_epochs=1)
    examples = found["examples"]["chosen_input_ids" if config.stage == "dpo" else "input_ids"]
    ours = updates(len(examples), config)
    assert len(ours) == len(found["batches"])
    for update, batch in zip(ours, found["batches"], strict=True):
        expected = [examples[i] for i in update.batches[0]]
        rows = batch["input_ids"][: len(expected)]
        assert [row[: len(e)] for row, e in zip(rows, expected, strict=True)] == expected


@pytest.mark.parametrize("name", CASES)
def test_the_losses_of_the_first_epochs_batches_agree_at_step_0(seen, name, tmp_path):
    training, found = seen[name]
    assert measure_ours(training, tmp_path / "ours") == pytest.approx(found["losses"], abs=1e-3)


# --- the same training ----------------------------------------------------------------------------

RATES = {"sft": 1e-3, "pt": 1e-3, "dpo": 1e-4, "kto": 1e-3}
"""For each stage a learning rate at which losses fall, and not to nothing."""


@pytest.fixture(scope="module")
def trained(llama_factory, tmp_path_factory):
    """For each stage 96 records, 3 epochs, 18 updates of two batches each: the file, both logs,
    and by both measures the losses of every batch with the same weights: with no adapter ("none"),
    with the one of either trainer, and of preferences with ours against one of an epoch.
    """
    paths, found = {}, {}
    for stage, rate in RATES.items():
        folder = tmp_path_factory.mktemp(stage)
        options = {"num_train_epochs": 3, "gradient_accumulation_steps": 2, "lora_rank": 8}
        given = write_training(folder / "given", sums(stage, 96), learning_rate=rate, **options)
        ours = InProcessTrainer().train(changed(given, folder / "ours"))
        earlier = InProcessTrainer().train(changed(given, folder / "earlier", num_train_epochs=1))
        llama_factory.train(changed(given, folder / "theirs"))
        theirs = folder / "theirs" / "adapter"
        starts: dict[str, dict[str, Any]] = {"none": {}}
        starts |= {"ours": {"adapter_name_or_path": ours}}
        starts |= {"theirs": {"adapter_name_or_path": theirs}}
        if stage in ("dpo", "kto"):
            reference = {"ref_model": str(student_path()), "ref_model_adapters": str(earlier)}
            starts["against"] = {"adapter_name_or_path": ours, "extra": reference}
        for name, start in starts.items():
            to = folder / f"with_{name}"
            paths[stage, name] = changed(given, to, gradient_accumulation_steps=1, **start)
        # LLaMA-Factory's own log is in its output folder
        found[stage] = (given, losses(ours), losses(theirs / "log"), {})
    measured = llama_factory.ask("measure", *paths.values())
    for ((stage, name), path), one in zip(paths.items(), measured, strict=True):
        found[stage][3][name] = (measure_ours(path, path.parent / "still"), one["losses"])
    return found


@pytest.mark.parametrize("stage", ["sft", "dpo", "kto"])
def test_both_trainings_go_the_same_way(trained, stage):
    """One seed draws the same adapter to begin with, and the same batches, for both."""
    _, ours, theirs, _ = trained[stage]
    assert len(ours) == len(theirs) == 18
    assert ours[0] == pytest.approx(theirs[0], abs=1e-3)
    assert ours == pytest.approx(theirs, rel=0.05)


def test_the_first_update_on_texts_has_the_same_loss_but_for_the_tokens_counted(trained):
    """The sums agree; their divisors do not.

    transformers 5.6, the newest that LLaMA-Factory 0.9.5 allows, counts the first token of each
    text when it trains, though nothing predicts it. Later versions count as we do, and so does
    5.6 where it does not train. In the other stages a prompt comes first, which is never learned.
    """
    given, ours, theirs, _ = trained["pt"]
    tokens = examples_of_ours(given)["input_ids"]
    (first, *_) = updates(len(tokens), TrainingConfig.read(given))
    lengths = [len(tokens[i]) for batch in first.batches for i in batch]
    learned = sum(lengths) - len(lengths)
    assert len(ours) == len(theirs) == 18
    assert ours[0] * learned / sum(lengths) == pytest.approx(theirs[0], abs=1e-3)


@pytest.mark.parametrize("stage", RATES)
def test_after_training_the_mean_losses_over_the_training_set_are_within_5_percent(trained, stage):
    none, ours, theirs = (trained[stage][3][name] for name in ("none", "ours", "theirs"))
    for by in (0, 1):  # by our measure, and by theirs
        assert mean(ours[by]) == pytest.approx(mean(theirs[by]), rel=0.05)
    # ... which would be cheap if nothing had been learned
    assert mean(theirs[1]) < 0.9 * mean(none[1])


@pytest.mark.parametrize("stage", RATES)
def test_both_measure_the_same_losses_of_an_adapter_that_either_of_them_made(trained, stage):
    """A preference's loss begins at a constant whatever the model says; here it is none."""
    for by_ours, by_theirs in trained[stage][3].values():
        assert by_ours == pytest.approx(by_theirs, abs=1e-3)
