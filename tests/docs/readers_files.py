"""Files that pages take for granted: a reader's own problems, classes and options."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dataenvgym.domains.social import shipped_profiles, write_profiles
from dataenvgym.domains.tool_use.synthesis import synthesize
from tests.docs.pages import ROOT, blocks, files
from tests.domains.tool_use.test_synthesis import answers, scripted

_AGENT = """
class MyAgent:
    def __init__(self, most=5):
        self.most = most

    def __call__(self, completed, predictor):
        sums = range(self.most)
        return [{"instruction": f"{n} and 1?", "output": f"#### {n + 1}"} for n in sums]

    def step(self):
        pass
"""
_TASK = """
from dataenvgym.records import Message
from dataenvgym.tasks import Ask
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.domains.math.pocket import PocketMathTask


class Greeted(MathEnvironment):
    def begin(self, instance):
        said = (yield Ask("user", (Message(role="user", content="Hello."),))).text
        return (Message(role="user", content=f"{said} {instance.instruction}"),)


class MyTask(PocketMathTask):
    def make_environment(self):
        return Greeted(self.instances, others=self.others)
"""
_CALLS = {
    "id": "tea-1",
    "instruction": "Bring the tea to the mill.",
    "skill": "bring",
    "gold": [{"name": "join", "arguments": {"item": "tea", "place": "mill"}}],
    "basis": ["calls", "said"],
    "said": ["mill"],
}
"""A problem that needs no look at the state, which is the server's."""


def write_files(page: str, folder: Path) -> None:
    """Write what a reader of the page has: its own files, and those of pages that it builds on."""
    texts = files("docs/improve_my_model.md") | _OF_PAGES.get(page, dict)() | files(page)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def write_adapter(folder: Path, student: str) -> None:
    """A new adapter of the student, as a training leaves it."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(student)
    get_peft_model(model, LoraConfig(target_modules="all-linear")).save_pretrained(folder)


def write_data(folder: Path, real: Path | None) -> None:
    """A folder for DATAENVGYM_DATA: the real one's files, if there are, and MATH in its form."""
    if real is not None and real.is_dir():
        for path in real.iterdir():
            if path.name != "math":
                (folder / path.name).symlink_to(path)
    (folder / "math").mkdir()
    for name in ("train", "test"):
        rows = [
            {
                "problem": f"What is {n} plus 10, in {name}?",
                "solution": f"It is $\\boxed{{{n + 10}}}$.",
                "type": "Algebra" if n % 2 else "Geometry",
                "level": f"Level {1 + n % 3}",
            }
            for n in range(20)
        ]
        (folder / "math" / f"{name}.jsonl").write_text(_lines(rows))
    _write_programs(folder / "code_generation_lite")
    _write_plans(folder / "mnms")


def _write_programs(folder: Path) -> None:
    """Rows in LiveCodeBench's form, in files with the names that they have on the hub."""
    folder.mkdir()
    for name, plus in (("test", 1), ("test2", 2)):
        rows = [
            {
                "question_id": f"{name}-{n}",
                "question_content": f"Read a number and write it plus {plus + n}.",
                "starter_code": "",
                "public_test_cases": json.dumps(
                    [{"input": "1", "output": f"{1 + plus + n}", "testtype": "stdin"}]
                ),
                "private_test_cases": "[]",
                "metadata": "{}",
                "difficulty": "easy" if n % 2 else "hard",
                "platform": "here",
            }
            for n in range(4)
        ]
        (folder / f"{name}.jsonl").write_text(_lines(rows))


def _write_plans(folder: Path) -> None:
    """Rows in m&m's form; the verified ones contain the filtered ones."""
    folder.mkdir()
    tools = [
        {"name": "image captioning", "args": ["image"], "returns": ["text"], "description": "x"},
        {"name": "text summarization", "args": ["text"], "returns": ["text"], "description": "y"},
    ]
    rows = [
        {
            "id": n,
            "user_request": f"Describe picture {n}.jpg in a few words.",
            "plan_str": json.dumps(
                [{"id": 0, "name": "image captioning", "args": {"image": f"{n}.jpg"}}]
                + [{"id": 1, "name": "text summarization", "args": {"text": "<node-0>.text"}}]
                * (n % 2)
            ),
        }
        for n in range(8)
    ]
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "test_human_verified.json").write_text(json.dumps(rows))
    (folder / "test_human_verified_filtered.json").write_text(json.dumps(rows[:4]))


def _agent_of_the_front_page() -> dict[str, str]:
    (block,) = (block for block in blocks("README.md") if block.language == "python")
    return {"my_agent.py": "".join(block.text.splitlines(keepends=True)[:-5])}


def _functions_that_speak() -> dict[str, str]:
    return {"my_speakers.py": files("docs/write_your_own.md")["my_speakers.py"]}


def _bad_batches() -> dict[str, str]:
    return files("docs/strategies.md")


def _own_classes() -> dict[str, str]:
    return {"my_module.py": _AGENT}


def _own_classes_and_task() -> dict[str, str]:
    return {"my_module.py": _AGENT + _TASK}


def _world() -> dict[str, str]:
    """The world and the problems that the page on worlds shows, under a reader's names."""
    shown = files("docs/tool_use_worlds.md")
    return {
        "my_module.py": shown["depot.py"].replace("Depot", "MyWorld"),
        "problems.jsonl": shown["problems.jsonl"],
        "calls.jsonl": _lines([_CALLS]),
    }


def _worlds() -> dict[str, str]:
    """The worlds, and a finished synthesis, so that the teacher is not asked."""
    with TemporaryDirectory() as folder:
        library = Path(folder) / "library"
        synthesize(library, "a library", scripted(answers()))
        made = [path for path in library.rglob("*") if path.is_file()]
        texts = {str(path.relative_to(folder)): path.read_text() for path in made}
    return _world() | texts | _depot()


def _world_and_plans() -> dict[str, str]:
    return _world() | _plans()


def _plans() -> dict[str, str]:
    tools = [
        {"name": "image captioning", "args": ["image"], "returns": ["text"]},
        {"name": "text translation", "args": ["text", "language"], "returns": ["text"]},
    ]
    caption = [{"id": 0, "name": "image captioning", "args": {"image": "a.jpg"}}]
    words = {"text": "<node-0>.text", "language": "French"}
    both = [*caption, {"id": 1, "name": "text translation", "args": words}]
    rows = [
        {"id": n, "user_request": f"Say in {kind} what is on picture {n}", "plan": plan}
        for n in range(20)
        for kind, plan in (("English", caption), ("French", both))[n % 2 :][:1]
    ]
    return {
        "tools.json": json.dumps(tools),
        "plans.jsonl": _lines(rows),
        "test_human_verified.json": json.dumps(rows),
        "test_human_verified_filtered.json": json.dumps(rows[:6]),
    }


def _lines(rows: list[dict[str, object]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _depot() -> dict[str, str]:
    """The example whose world the page shows, and what it writes."""
    text = (ROOT / "examples" / "tool_use" / "depot.py").read_text()
    names: dict[str, Any] = {}
    exec(text, names)
    rows = ({"id": f"p{n}", **row} for n, row in enumerate(names["problems"]()))
    return {"depot.py": text, "depot.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}


def _profiles() -> dict[str, str]:
    """The folder that the page writes from a dump of Sotopia; here with the shipped profiles."""
    with TemporaryDirectory() as folder:
        write_profiles(folder, shipped_profiles())
        found = Path(folder).rglob("*")
        return {f"sotopia_scenes/{f.name}": f.read_text() for f in found if f.is_file()}


_OF_PAGES: dict[str, Callable[[], dict[str, str]]] = {
    "README.md": _agent_of_the_front_page,
    "docs/social.md": _functions_that_speak,
    "docs/running.md": _profiles,
    "docs/figures.md": _bad_batches,
    "docs/studies.md": _own_classes,
    "docs/tool_use.md": _world_and_plans,
    "docs/tool_use_benchmarks.md": _plans,
    "docs/tool_use_worlds.md": _worlds,
    "docs/write_your_own.md": _own_classes_and_task,
}
