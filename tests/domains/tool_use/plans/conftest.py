"""Requests with gold plans in m&m's format, and a tool list for them; all of our own making."""

import json
from pathlib import Path

import pytest

from dataenvgym.domains.tool_use.plans.plan import Plan, Step
from dataenvgym.domains.tool_use.plans.task import PlansTask

TOOLS = [
    {"name": "image captioning", "args": ["image"], "returns": ["text"], "description": "Says it."},
    {"name": "text generation", "args": ["text"], "returns": ["text"]},
    {"name": "text translation", "args": ["text", "language"], "returns": ["text"]},
    {"name": "tell joke", "args": []},
]
KINDS = {
    "caption": [("image captioning", {"image": "{n}.jpg"})],
    "story": [
        ("image captioning", {"image": "{n}.jpg"}),
        ("text generation", {"text": "A story of <node-0>.text"}),
    ],
    "translate": [("text translation", {"text": "word {n}", "language": "French"})],
}
"""Plans by the content of the request."""


def row(number: int, kind: str) -> dict:
    """A row as m&m's has them: the plan is a text, as Python writes it."""
    steps = [
        {"id": i, "name": name, "args": {k: v.format(n=number) for k, v in args.items()}}
        for i, (name, args) in enumerate(KINDS[kind])
    ]
    return {
        "id": number,
        "user_request": f"Please make a {kind} for number {number}",
        "plan_str": str(steps),
        "code_str": "not read",
        "alt_plans_str": "[]",
    }


def write_rows(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def abc(letters: str) -> Plan:
    """A plan whose tools are the letters."""
    return tuple(Step(letter, {}) for letter in letters)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """train.jsonl, and m&m's two files: the 12 filtered problems are among the 24 verified ones."""
    folder = tmp_path_factory.mktemp("plans")
    kinds = list(KINDS)
    verified = [row(n, kinds[n % 3]) for n in range(24)]
    write_rows(folder / "train.jsonl", [row(100 + n, kinds[n % 3]) for n in range(60)])
    write_rows(folder / "test_human_verified.json", verified)
    write_rows(folder / "test_human_verified_filtered.json", verified[12:])
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    return {path.stem: str(path) for path in folder.iterdir()}


@pytest.fixture
def make_task(files):
    """A task on these files; options as those of `PlansTask`."""

    def make(**options) -> PlansTask:
        sources = {
            "train": files["train"],
            "validation": files["test_human_verified"],
            "test": files["test_human_verified_filtered"],
        }
        return PlansTask(options.pop("sources", sources), files["tools"], **options)

    return make
