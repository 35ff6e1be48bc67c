"""Tools, calls and stop texts on the real vLLM, from one server that reads Hermes calls."""

import random
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TrainingRun
from dataenvgym.records import ChatDatum, Conversation, Message, SupervisedDatum, Tool, ToolCall
from dataenvgym.records.tool_formats import malformed_call, read_reply, text_formats, tool_format
from dataenvgym.students.llama_factory import TrainingConfig, read_dataset, write_dataset
from dataenvgym.students.pocket import student_path
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.examples import IGNORED, supervised_examples
from dataenvgym.students.trainers.student import load_tokenizer
from dataenvgym.teachers.payloads import RequestForm, chat_payload, to_messages
from tests.records.tool_formats.test_other_readers import (
    any_hermes,
    any_mistral,
    hermes_in_vllm,
    mistral_in_vllm,
)

pytestmark = [pytest.mark.external, pytest.mark.timeout(900)]

GREEDY = SamplingParameters(max_tokens=80)
# Qwen3's way to begin a reply after an empty thought
SWITCH = (
    "{% if add_generation_prompt and enable_thinking is defined and enable_thinking is false %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}"
)
ADD = Tool(name="add", description="Adds.", parameters={"properties": {"a": {"type": "integer"}}})
CALL = ToolCall(name="add", arguments={"a": 2})
# servers do not write calls in this form: the reply shows that it was parsed and rewritten
SAID = {
    "Add two.": '<tool_call>{"name":"add","arguments":{"a":2}}</tool_call>',
    "Add it.": '<tool_call>{"name":"add","arguments":{"a":</tool_call>',
    "Say it.": "Two is it. Observation: two",
}
MESSAGES = (
    Message(role="user", content="1 + 1? "),
    Message(role="assistant", content="I add. ", tool_calls=(CALL,)),
    Message(role="tool", content="2\n"),
    Message(role="assistant", content="", tool_calls=(CALL, CALL)),
    Message(role="tool", content="2"),
    Message(role="tool", content="3"),
    Message(role="user", content="Well?", name="Ann"),
    Message(role="assistant", content="2, 3."),
)


def said(reply: Reply | Failure) -> str:
    assert isinstance(reply, Reply), reply
    return reply.text


def asked(text: str, *tools: Tool) -> Conversation:
    return (Message(role="user", content=text, tools=tools),)


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """The pocket student, all of whose weights have learned to say these things."""
    import torch
    from transformers import AutoModelForCausalLM

    folder = tmp_path_factory.mktemp("students") / "sayer"
    shutil.copytree(student_path(), folder)
    with (folder / "chat_template.jinja").open("a") as template:
        template.write(SWITCH)
    tokenizer = load_tokenizer(str(folder))
    model = AutoModelForCausalLM.from_pretrained(folder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    examples = []
    for question, answer in SAID.items():
        chat = ({"role": "user", "content": question}, {"role": "assistant", "content": answer})
        text = tokenizer.apply_chat_template(chat, tokenize=False)
        examples.append(torch.tensor([tokenizer(text, add_special_tokens=False)["input_ids"]]))
    for _ in range(120):
        optimizer.zero_grad()
        for example in examples:
            model(input_ids=example, labels=example).loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    replies = InProcessPredictor(folder).predict([asked(text) for text in SAID], GREEDY)
    assert list(map(said, replies)) == list(SAID.values())
    return folder


@pytest.fixture(scope="module")
def make(make_served, student):
    return partial(make_served, student)


@pytest.fixture(scope="module")
def native(make):
    return make(tool_format="native", tool_parser="hermes")


def test_a_server_that_reads_calls_sends_them_apart_and_they_are_read_again(native):
    conversation = asked("Add two.", ADD)
    (reply,) = native.predict([conversation], GREEDY)
    assert said(reply) == '<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>'
    assert read_reply(conversation, said(reply)).message.tool_calls == (CALL,)


def test_a_call_that_the_server_cannot_read_comes_as_text(native):
    (reply,) = native.predict([asked("Add it.", ADD)], GREEDY)
    assert said(reply) == SAID["Add it."]
    assert str(malformed_call(said(reply))).startswith("the JSON of the call ends too early")


def test_calls_and_results_are_sent_back_to_the_server(native):
    first = MESSAGES[0].model_copy(update={"tools": (ADD,)})
    (reply,) = native.predict([(first, *MESSAGES[1:-1])], GREEDY)
    assert isinstance(reply, Reply), reply


def test_a_running_server_that_reads_calls_is_attached_to(make, native):
    attached = make(base_url=native.server.base_url, tool_format="native")
    (reply,) = attached.predict([asked("Add two.", ADD)], GREEDY)
    assert said(reply).startswith("<tool_call>\n")


def test_replies_stop_where_the_student_in_this_process_stops(make, native, student):
    here = InProcessPredictor(student)
    there = make(base_url=native.server.base_url)
    conversations = [asked(text) for text in SAID]
    for stop in ((" Observation:",), ("it", "<tool_"), ("}",), ("not said",)):
        sampling = GREEDY.model_copy(update={"stop": stop})
        expected = here.predict(conversations, sampling)
        assert list(map(said, expected)) == list(map(sampling.until_stop, SAID.values()))
        found = there.predict(conversations, sampling)
        assert [(said(r), r.finish_reason) for r in found if isinstance(r, Reply)] == [
            (said(r), r.finish_reason) for r in expected if isinstance(r, Reply)
        ]


@pytest.mark.parametrize("name", text_formats())
def test_the_server_sees_the_tokens_that_were_trained_on(native, tmp_path, name):
    form = tool_format(name)
    record = ChatDatum(messages=MESSAGES, system="Help.", tools=(ADD,))
    dataset = write_dataset(tmp_path, [record], tool_format=form)
    tokenizer = load_tokenizer(str(student_path()))
    records: Any = list(read_dataset(tmp_path, dataset.name))
    (example,) = supervised_examples(records, tokenizer, 100_000)
    whole = record.conversation
    prompts = [whole[:i] for i, message in enumerate(whole) if message.role == "assistant"]
    here = encode_prompts(tokenizer, prompts, form, context=None)
    for prompt, tokens in zip(prompts, here, strict=True):
        sent = chat_payload(prompt, GREEDY, model="student", form=RequestForm(tool_format=form))
        messages = orjson.loads(sent)["messages"]
        found = native.server._call("POST", "/tokenize", {"model": "student", "messages": messages})
        assert found["tokens"] == tokens == example.tokens[: len(found["tokens"])]


def test_the_server_renders_the_values_for_its_template_as_they_were_trained(
    make, native, student, tmp_path
):
    off = {"enable_thinking": False}
    record = SupervisedDatum(instruction="Say it.", output="It.")
    here = InProcessPredictor(student, InProcessTrainer(max_steps=1), chat_template_kwargs=off)
    here.train([record], TrainingRun(directory=tmp_path))
    config = TrainingConfig.read(tmp_path / "training.yaml")
    tokenizer = load_tokenizer(str(student), chat_template_kwargs=config.chat_template_kwargs)
    (example,) = supervised_examples([record], tokenizer, 100_000)
    trained = example.tokens[: example.labels.count(IGNORED)]
    assert tokenizer.decode(trained).endswith("<think>\n\n</think>\n\n")
    url = native.server.base_url
    there = make(base_url=url, chat_template_kwargs=off)
    body = {"messages": to_messages(record.prompt), "chat_template_kwargs": off}
    assert native.server._call("POST", "/tokenize", body)["tokens"] == trained
    replies = [p.predict([record.prompt], GREEDY)[0] for p in (there, make(base_url=url))]
    n_tokens = [reply.prompt_tokens for reply in replies if isinstance(reply, Reply)]
    assert n_tokens[0] == len(trained) > n_tokens[1]


def test_vllms_parsers_read_what_is_said_of_them(vllm_python, tmp_path):
    rng = random.Random(4)
    cases = [("hermes", text := any_hermes(rng), hermes_in_vllm(text)) for _ in range(2000)]
    for name, is_new in (("older mistral", False), ("newer mistral", True)):
        texts = [any_mistral(rng, is_new=is_new) for _ in range(1000)]
        cases += [(name, text, mistral_in_vllm(text, is_new=is_new)) for text in texts]
    asked, read = tmp_path / "asked.json", tmp_path / "read.json"
    asked.write_bytes(orjson.dumps([case[:2] for case in cases]))
    probe = Path(__file__).with_name("vllm_parsers_probe.py")
    subprocess.run([vllm_python, probe, asked, read], check=True, capture_output=True)
    for (name, text, calls), found in zip(cases, orjson.loads(read.read_bytes()), strict=True):
        assert found == (calls and [list(call) for call in calls]), (name, text)
