"""A student's folder from somebody else: damaged files, and templates that are programs."""

import os
import shutil

import pytest
import torch

from dataenvgym.errors import DataEnvGymError
from dataenvgym.students.pocket import student_path
from dataenvgym.students.trainers.student import load_base_model, load_tokenizer

ENDLESS = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "loops with tools": (
        "{% if tools %}{% for a in range(9999) %}{% for b in range(99999) %}{% endfor %}"
        "{% endfor %}{% endif %}"
    ),
}
LARGE = {
    "a product": "{{ 'a' * 9999999999 }}",
    "a list": "{{ [0] * 9999999999 }}",
    "a long text": "{{ 'a' * 100000000 }}",
    "a width": "{{ '%9999999999d' % 1 }}",
    "another width": "{{ '{:>9999999999}'.format(1) }}",
    "a filter": "{{ 'a' | center(9999999999) }}",
    "an indent": "{{ 'a\\nb' | indent(9999999999) }}",
    "doubled": (
        "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}"
        "{% endfor %}"
    ),
    "a macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "a reply": "{% generation %}{{ 'a' * 9999999999 }}{% endgeneration %}",
    "with a system message": (
        "{% if messages[0].role == 'system' %}{{ 'a' * 9999999999 }}{% endif %}"
    ),
}
HONEST = {
    "plain": "{% for m in messages %}{{ m.content }}{% endfor %}",
    "without a system role": (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "{% for m in messages %}{{ m.content }}{% break %}{% endfor %}"
    ),
    "of the time": "{{ strftime_now('%Y') }}{{ tools | tojson(indent=4) }}{{ messages }}",
    "without its variable": "{% if x is defined %}{{ x.y.z }}{% endif %}{{ messages }}",
}


@pytest.fixture
def student(tmp_path):
    return shutil.copytree(student_path("pocket-v2"), tmp_path / "student")


def tokenizer_with(student, template):
    (student / "chat_template.jinja").write_text(template)
    return load_tokenizer(str(student), download=False)


@pytest.mark.parametrize(
    "template",
    [
        LARGE["a product"],
        ENDLESS["loops"],
        *(pytest.param(text, marks=pytest.mark.slow) for text in (ENDLESS | LARGE).values()),
    ],
)
def test_a_template_that_does_not_end_is_refused(student, template):
    with pytest.raises(DataEnvGymError, match="template"):
        tokenizer_with(student, template)


@pytest.mark.parametrize("template", HONEST.values(), ids=HONEST)
def test_a_template_that_ends_is_accepted(student, template):
    tokenizer = tokenizer_with(student, template)
    chat = [{"role": "user", "content": "Hi"}]
    assert "Hi" in tokenizer.apply_chat_template(chat, tokenize=False)


def pipe(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def load(student):
    load_tokenizer(str(student), download=False)
    load_base_model(str(student), device=torch.device("cpu"), dtype=torch.float32)


DAMAGES = {
    "a pipe": lambda d: pipe(d / "config.json"),
    "another pipe": lambda d: pipe(d / "notes.txt"),
    "weights from a pipe": lambda d: pipe(d / "model.safetensors"),
    "a device": lambda d: (d / "generation.json").symlink_to("/dev/zero"),
    "brackets": lambda d: (d / "config.json").write_text("[" * 100_000),
    "objects": lambda d: (d / "tokenizer.json").write_text('{"a":' * 100_000),
    "a list": lambda d: (d / "config.json").write_text("[1, 2]"),
    "null": lambda d: (d / "tokenizer_config.json").write_text("null"),
    "a huge file": lambda d: os.truncate(d / "tokenizer.json", 50 * 2**30),
    "huge weights": lambda d: os.truncate(d / "model.safetensors", 50 * 2**30),
    "more layers than weights": lambda d: (d / "config.json").write_text(
        (d / "config.json")
        .read_text()
        .replace('"num_hidden_layers": ', '"num_hidden_layers": 99999')
    ),
    "junk": lambda d: (d / "model.safetensors").write_bytes(b"\xff" * 100),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_student_is_refused(student, damage):
    damage(student)
    with pytest.raises(DataEnvGymError, match=r"student|damaged"):
        load(student)
