"""The prompts that a student learns from are the prompts of its evaluation, token by token."""

from collections.abc import Iterator

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Reply, SamplingParameters, TrainingRun
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    Tool,
    ToolCall,
)
from dataenvgym.records.tool_formats import HERMES, LLAMA_FACTORY
from dataenvgym.students.llama_factory.training_config import trainer_with
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.chat_format import ChatFormat, render, without_clock
from dataenvgym.students.trainers.examples import (
    IGNORED,
    judged_examples,
    preference_examples,
    scored_examples,
    supervised_examples,
)
from tests.students.predictors.chat_templates import TEMPLATES

SPECIAL = ("<|pad|>", "<|end|>", "<|begin|>", "<|system|>", "<|user|>", "<|assistant|>")
THOUGHT = "<think>\nhm, 2?\n</think>\n\n"
BARE_THOUGHT = "hm, 2?\n</think>\n\n"  # after a prompt that begins it
EXTRA = ("<tool_response>\n3\n</tool_response>", THOUGHT + "So 3.")


def byte_level():
    """Bytes and a few merges over the boundaries of words and lines."""
    merges = [("Ċ", "Ċ"), ("Ġ", "Ġ"), (":", "Ġ"), ("t", "h"), ("th", "e"), ("Ġ", "the")]
    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *map("".join, merges)]
    backend = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def sentence_piece():
    """Characters, with a space put before every text, as in Llama 2."""
    characters = [chr(c) for c in range(33, 127)]
    pieces = [*SPECIAL, "<unk>", "▁", "\n", *characters, "▁t", "▁the", "th", "he"]
    merges = [("▁", "t"), ("t", "h"), ("h", "e"), ("▁t", "he")]
    backend = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, merges, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    backend.decoder = decoders.Metaspace(prepend_scheme="always")
    return backend


SLOW = pytest.mark.slow
KINDS = [
    "bytes, adds bos",
    "pieces",
    *(pytest.param(k, marks=SLOW) for k in ("bytes", "pieces, adds bos")),
]


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    backend = byte_level() if "bytes" in request.param else sentence_piece()
    backend.add_special_tokens(list(SPECIAL))
    if "adds" in request.param:
        backend.post_processor = TemplateProcessing(
            single="<|begin|> $A", special_tokens=[("<|begin|>", SPECIAL.index("<|begin|>"))]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|begin|>",
        eos_token="<|end|>",
        pad_token="<|pad|>",
        clean_up_tokenization_spaces=False,
    )


def of(role, text):
    return Message(role=role, content=text)


def conversations() -> Iterator[tuple[Message, ...]]:
    replies = [
        ("2", "3"),
        (f"{THOUGHT}2", f"{THOUGHT}3"),
        (f"{BARE_THOUGHT}2", "3 the"),
        (" 2 \n", "\n3"),
    ]
    for system in ((), (of("system", "Be brief the."),), (of("system", " Be\nbrief.\n"),)):
        for first, second in replies:
            chat = (of("user", "1+1? the"), of("assistant", first))
            yield (*system, *chat)
            yield (*system, *chat, of("user", "\nand 1+2? "), of("assistant", second))
            more = [of(role, t) for role, t in zip(("user", "assistant"), EXTRA, strict=True)]
            yield (*system, *chat, *more, of("user", "bye"), of("assistant", second))


def evaluated(tokenizer, messages) -> list[list[int]]:
    """The prompts at which an evaluation of this conversation asks for each reply."""
    before = [messages[:i] for i, m in enumerate(messages) if m.role == "assistant"]
    return encode_prompts(tokenizer, before, LLAMA_FACTORY, context=None)


def learned(example) -> list[tuple[list[int], list[int]]]:
    """What comes before each learned stretch of tokens, and the stretch."""
    found = []
    for row in example.rows:
        start = None
        for i, label in enumerate([*row.labels, IGNORED]):
            if label != IGNORED and start is None:
                start = i
            elif label == IGNORED and start is not None:
                found.append((row.tokens[:start], row.tokens[start:i]))
                start = None
    return found


def records_of(messages):
    """The record of each kind with this conversation, as its examples and number of turns."""
    system = messages[0].content if messages[0].role == "system" else ""
    chat = messages[bool(system) :]
    n = len(chat) // 2
    pairs = [(chat[i].content, chat[i + 1].content) for i in range(0, len(chat) - 2, 2)]
    own = {"instruction": chat[-2].content, "history": tuple(pairs), "system": system}
    said = chat[-1].content
    yield supervised_examples, SupervisedDatum(**own, output=said), n
    yield supervised_examples, ChatDatum(messages=chat, system=system), n
    yield scored_examples, ScoredDatum(messages=chat, system=system, weights=(0.5,) * n), n
    yield preference_examples, PreferenceDatum(**own, chosen=said, rejected="no the"), 1
    yield judged_examples, KTODatum(**own, output=said, desirable=True), 1
    if n > 1:
        segment = {"messages": chat[:1], "chosen": chat[1:]}
        rejected = (of("assistant", f"{THOUGHT}no"), *chat[2:])
        yield preference_examples, PreferenceDatum(system=system, **segment, rejected=rejected), n


def sides(found):
    for name in ("chosen", "example"):
        if hasattr(found, name):
            return [getattr(found, name)]
    return [found]


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_reply_is_learned_after_the_prompt_at_which_it_is_asked_for(tokenizer, template):
    tokenizer.chat_template = without_clock(TEMPLATES[template])
    for messages in conversations():
        expected = evaluated(tokenizer, messages)
        assert not any(hasattr(prompt, "reason") for prompt in expected)
        if messages[0].role == "system" and "dropped" not in template:
            assert messages[0].content.strip() in tokenizer.decode(expected[-1])
        replies = [m.content for m in messages if m.role == "assistant"]
        for make, record, n_turns in records_of(messages):
            (found,) = make([record], tokenizer, 10_000)
            for example in sides(found):
                turns = learned(example)
                assert [prompt for prompt, _ in turns] == expected[-n_turns:], (record, messages)
                for (_, said), reply in zip(turns, replies[-n_turns:], strict=True):
                    text = tokenizer.decode(said)
                    assert reply.rpartition("</think>")[2].strip() in text
                    assert tokenizer.eos_token in text or "no special" in template
                assert example.n_cut == 0
            if isinstance(record, ScoredDatum):
                assert (len(found.weights), len(found.lengths)) == (n_turns, n_turns)


def test_a_thought_that_the_prompt_begins_is_ended_by_the_reply(tokenizer):
    tokenizer.chat_template = TEMPLATES["thoughts are cut off, and the prompt begins one"]
    form = ChatFormat.parse(tokenizer)
    asked = of("user", "1+1?")
    for reply in ("2", f"{THOUGHT}2", f"{BARE_THOUGHT}2"):
        turn = form.last_turn((asked, of("assistant", reply)))
        whole = "".join((*turn.prompt, *turn.response))
        thought = THOUGHT if "hm" in reply else THOUGHT.replace("hm, 2?", "")
        assert whole.endswith(f"<|assistant|>{thought}2<|end|>")


def test_the_day_in_a_prompt_does_not_depend_on_the_clock(make_student, tmp_path):
    template = TEMPLATES["a system block with the day, always there"]
    tokenizer = InProcessPredictor(
        make_student(tmp_path, chat_template=template)
    )._student.base.tokenizer
    assert "Today is 26 Jul 2024\n" in render(tokenizer, (of("user", "?"),))


def test_tools_and_calls_are_learned_after_the_prompts_of_the_evaluation(tokenizer):
    """The records are written as text in the student's tool format before they are trained."""
    call = Message(role="assistant", content="", tool_calls=(ToolCall(name="add"),))
    chat = (of("user", "1+1?"), call, Message(role="tool", content="2"), of("assistant", "It is 2"))
    for system in ("", "Be brief."):
        record = ChatDatum(messages=chat, system=system, tools=(Tool(name="add"),))
        for form in (LLAMA_FACTORY, HERMES):
            flat = form.flatten(record.conversation)
            first = flat[0].content
            written = ChatDatum(messages=flat[1:], system=first)
            for template in TEMPLATES.values():
                tokenizer.chat_template = without_clock(template)
                before = [record.conversation[:i] for i in (-3, -1)]
                expected = encode_prompts(tokenizer, before, form, context=None)
                (example,) = supervised_examples([written], tokenizer, 10_000)
                assert [prompt for prompt, _ in learned(example)] == expected


def test_a_template_without_a_reply_is_refused_before_anything_is_computed(make_student, tmp_path):
    student = make_student(tmp_path, chat_template="{% for m in messages %}x{% endfor %}")
    with pytest.raises(ConfigurationError, match="no place for the user"):
        InProcessPredictor(student).predict([(of("user", "?"),)], SamplingParameters())


@pytest.mark.parametrize(
    "template",
    [
        "thoughts of earlier turns are left out",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "the system message in the last user turn",
                "no system role, turns must alternate",
            )
        ),
    ],
)
def test_a_student_with_such_a_template_learns_conversations(make_student, tmp_path, template):
    """Also where each turn is a sequence of its own; the losses of all kinds are finite."""
    student = make_student(tmp_path / "student", chat_template=TEMPLATES[template], context=512)
    predictor = InProcessPredictor(
        student,
        InProcessTrainer(threads=1, num_train_epochs=1, cutoff_len=512, learning_rate=0.01),
    )
    chats = [messages for messages in conversations() if len(messages) > 3][:2]
    asked = [messages[:-1] for messages in chats]
    replies = [predictor.predict(asked, SamplingParameters(max_tokens=4))]
    for kind in range(6):
        records = [list(records_of(messages))[kind][1] for messages in chats]
        folder = tmp_path / str(kind)
        folder.mkdir()
        if kind == 5:  # pairs of several turns
            predictor.trainer = trainer_with(predictor.trainer, {"pref_discount": 0.5})
        predictor.train(records, TrainingRun(directory=folder))
        replies.append(predictor.predict(asked, SamplingParameters(max_tokens=4)))
        if kind < 2:
            assert all(loss > 0 for loss in predictor.losses(records))
    assert all(isinstance(reply, Reply) for some in replies for reply in some)
    assert replies[1] != replies[0]


def test_the_loss_of_a_record_is_that_of_its_turns_alone(make_student, tmp_path):
    """Turns that the template writes differently later count as the sequences that they are."""
    template = TEMPLATES["thoughts of earlier turns are left out"]
    student = make_student(tmp_path, chat_template=template, context=512)
    predictor = InProcessPredictor(student, InProcessTrainer(threads=1, cutoff_len=512))
    one = (of("user", "1+1?"), of("assistant", f"{THOUGHT}2"))
    two = (*one, of("user", "and 3?"), of("assistant", f"{THOUGHT}5, as said"))
    whole, first = predictor.losses([ChatDatum(messages=two), ChatDatum(messages=one)])
    (example,) = supervised_examples(
        [ChatDatum(messages=two)], predictor._student.base.tokenizer, 512
    )
    earlier, last = example.rows
    counts = [sum(label != IGNORED for label in row.labels) for row in (earlier, last)]
    assert len(example.before) == 1
    with torch.inference_mode():
        logits = predictor._student.model(input_ids=torch.tensor([last.tokens])).logits[0, :-1]
    picked = logits.log_softmax(-1).gather(1, torch.tensor(last.tokens[1:])[:, None])[:, 0]
    of_last = -float(picked[torch.tensor(last.labels[1:]) != IGNORED].sum())
    assert whole == pytest.approx((first * counts[0] + of_last) / sum(counts), rel=1e-4)
