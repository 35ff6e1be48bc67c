"""Worlds and tasks that a teacher writes."""

import json
from contextlib import suppress
from functools import partial
from shutil import copytree
from string import ascii_uppercase

import pytest

from dataenvgym.domains.tool_use.audit import audit
from dataenvgym.domains.tool_use.candidates import harder, judge_candidates
from dataenvgym.domains.tool_use.synthesis import synthesize
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.domains.tool_use.worlds import find_world
from dataenvgym.domains.tool_use.worlds.folder import WorldSpec, read_world
from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.interfaces import Failure
from dataenvgym.records import ToolCall
from tests.fakes import Student, Teacher

pytestmark = pytest.mark.usefixtures("one_process")

TITLES = ("Dune", "Emma", "Ulysses", "Beloved", "Walden", "Candide", "Middlemarch", "Rebecca")
TITLES += ("Ivanhoe", "Villette")


def values(**given):
    return [{"name": name, "value": value} for name, value in given.items()]


def field(name, type, *choices):
    return {"name": name, "type": type, "choices": choices}


def tool(name, does, arguments=(), only_if=(), **sets):
    return {
        "name": name,
        "description": f"{name} a book.",
        "does": does,
        "table": "books",
        "arguments": arguments,
        "sets": values(**sets),
        "only_if": only_if,
    }


TABLES = {
    "name": "library",
    "policy": "You help the visitors of a library.",
    "tables": [
        {
            "name": "books",
            "fields": [
                field("title", "text"),
                field("shelf", "integer"),
                field("status", "text", "free", "lent"),
            ],
        }
    ],
}
ENTRIES = {
    "entries": [
        {
            "table": "books",
            "id": f"book_{number}",
            "values": values(title=title, shelf=number, status="lent" if number > 8 else "free"),
        }
        for number, title in enumerate(TITLES, 1)
    ]
}
TOOLS = {
    "tools": [
        tool("find_books", "list", ["title"]),
        tool("read_book", "read"),
        tool("lend", "change", only_if=values(status="free"), status="lent"),
        tool("give_back", "change", only_if=values(status="lent"), status="free"),
        tool("shelve", "change", ["shelf"]),
        tool("add_book", "add", ["title", "shelf"], status="free"),
        tool("discard", "remove"),
    ]
}
SPEC = WorldSpec.model_validate({**TABLES, **ENTRIES, **TOOLS})


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def task(id, instruction, *gold, **more):
    return {"id": id, "instruction": instruction, "skill": "books", "gold": list(gold), **more}


def sound_tasks():
    """20 tasks, each solvable as stated."""
    rows = [
        task(f"lend-{n}", f"Lend me {TITLES[n - 1]}.", call("lend", id=f"book_{n}"))
        for n in range(1, 7)
    ]
    rows += [
        task(
            f"shelve-{n}",
            f"Put {TITLES[n - 1]} on shelf {n + 70}.",
            call("shelve", id=f"book_{n}", shelf=n + 70),
        )
        for n in range(1, 7)
    ]
    rows += [
        task(f"drop-{n}", f"Throw away {TITLES[n - 1]}.", call("discard", id=f"book_{n}"))
        for n in (7, 8)
    ]
    rows += [
        task(f"back-{n}", f"I return book_{n}.", call("give_back", id=f"book_{n}")) for n in (9, 10)
    ]
    rows.append(task("new", "Add Utopia on shelf 3.", call("add_book", title="Utopia", shelf=3)))
    return [*rows, *harder(SPEC, [rows[0], rows[7], rows[12], rows[14]], 3)]


def broken_tasks():
    """20 mutants of sound tasks: what is broken -> (the expected reason, the task)."""
    lend, dune = call("lend", id="book_1"), "Lend me Dune."
    said = {"basis": ["state", "said"]}
    checked = {
        "check": "has_value",
        "arguments": {"table": "books", "id": "book_1", "field": "status"},
    }
    lent = {**checked, "arguments": {**checked["arguments"], "value": "lent"}}
    only = {"basis": ["assertions"]}
    shelves = [call("shelve", id="book_1", shelf=n) for n in (61, 62)]
    return {
        "empty request": ("form", task("m", "", lend)),
        "unknown field": ("form", task("m", dune, lend, reward=1)),
        "gold of another shape": ("form", task("m", dune, {"tool": "lend"})),
        "basis without data": ("form", task("m", dune, lend, **said)),
        "an id twice": ("repeated", task("lend-2", dune, lend)),
        "a request twice": ("repeated", task("m", "lend me  Emma.", call("lend", id="book_2"))),
        "a row that is not named": ("unstated", task("m", "Lend me a book.", lend)),
        "another row is named": ("unstated", task("m", "Lend me Emma now.", lend)),
        "a value that is not said": (
            "unstated",
            task("m", "Put Dune on another shelf.", call("shelve", id="book_1", shelf=44)),
        ),
        "unknown tool": ("loads", task("m", dune, call("borrow", id="book_1"))),
        "missing argument": ("loads", task("m", dune, call("lend"))),
        "argument of another type": (
            "loads",
            task("m", "Put Dune on shelf two.", call("shelve", id="book_1", shelf="two")),
        ),
        "unknown row": ("loads", task("m", "Lend me book_99.", call("lend", id="book_99"))),
        "a tool that refuses": ("loads", task("m", "Lend me Ivanhoe.", call("lend", id="book_9"))),
        "no gold calls": ("nothing", task("m", "Lend me Dune please.")),
        "nothing changes": (
            "nothing",
            task("m", "Put Dune on shelf 1.", call("shelve", id="book_1", shelf=1)),
        ),
        "assertion that gold breaks": (
            "gold",
            task("m", dune, lend, **only, assertions=[{**lent, "expected": False}]),
        ),
        "assertions that see too little": (
            "extra write",
            task("m", dune, lend, **only, assertions=[lent]),
        ),
        "order that is not said": ("order", task("m", "Put Dune on shelf 61 and 62.", *shelves)),
        "fact that the request says": (
            "said",
            task("m", dune, lend, **said, said=["Dune"]),
        ),
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "world.json").write_text(SPEC.model_dump_json())
    return read_world(folder)


def test_20_of_20_broken_tasks_are_rejected_for_their_reason_and_no_sound_one_of_20(world):
    sound, broken = sound_tasks(), broken_tasks()
    rows = []
    for desk, (what, (reason, row)) in zip(ascii_uppercase, broken.items(), strict=False):
        own = "" if reason in ("form", "repeated") else f" This is desk {desk}."
        id = row["id"] if what == "an id twice" else what
        rows.append({**row, "id": id, "instruction": row["instruction"] + own})
    kept, rejected = judge_candidates(world, [*sound, *rows])
    reasons = {each.problem: [] for each in rejected}
    for each in rejected:
        reasons[each.problem].append(each.check)
    expected = {what: [reason] for what, (reason, _) in broken.items()}
    expected["lend-2"] = expected.pop("an id twice")
    assert (len(sound), len(expected), kept, reasons) == (20, 20, sound, expected)


def test_a_tool_that_adds_a_row_says_its_id(world):
    changed = world.at(world.state.fork())
    added = ToolCall(name="add_book", arguments={"title": "Utopia", "shelf": 3})
    id, _, rest = changed.call(added).content.partition(" ")
    assert (changed.state.books[id].title, rest) == ("Utopia", "is added")


def test_a_row_with_an_empty_name_is_not_named(tmp_path):
    entries = json.loads(json.dumps(ENTRIES))["entries"]
    entries[0]["values"][0]["value"] = ""
    spec = WorldSpec.model_validate({**TABLES, "entries": entries, **TOOLS})
    (tmp_path / "world.json").write_text(spec.model_dump_json())
    row = task("m", "Lend me a book.", call("lend", id="book_1"))
    _, (rejected,) = judge_candidates(read_world(tmp_path), [row])
    assert rejected.check == "unstated"
    assert rejected.detail.endswith("and names nothing of it")


def test_what_a_task_does_not_state_is_named_in_one_message(world):
    row = task("m", "Put a book away.", call("shelve", id="book_1", shelf=44))
    _, (rejected,) = judge_candidates(world, [row])
    assert rejected.detail == (
        "unsolvable as stated: shelve needs 'book_1', and names nothing of it; "
        "shelve needs shelf 44, which is not said"
    )


def drafts(rows):
    def draft(row):
        calls = [{"name": c["name"], "arguments": values(**c["arguments"])} for c in row["gold"]]
        return {"instruction": row["instruction"], "skill": row["skill"], "calls": calls}

    return {"tasks": [draft(row) for row in rows]}


def answers():
    rows = sound_tasks()
    unstated = task("bad", "Lend me a book.", call("lend", id="book_3"))
    return [
        json.dumps(each)
        for each in (
            TABLES,
            ENTRIES,
            TOOLS,
            {"intents": ["lend", "shelve"]},
            drafts([*rows[:2], unstated]),
            drafts(rows[6:9]),
        )
    ]


def scripted(replies):
    """A teacher that gives the answers in turn, then stops as a killed run does."""
    left = list(replies)

    def say(text, sampling):
        if not left:
            raise KeyboardInterrupt
        return left.pop(0)

    return Teacher(say)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "library"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dataenvgym.domains.tool_use.audit.compare_processes", lambda tools: None)
        return folder, synthesize(folder, "a library", scripted(answers()), tasks=6)


def test_a_scripted_teacher_writes_a_world_that_can_be_taught(library, monkeypatch):
    folder, report = library
    assert report.rejected["unstated"] == 1
    assert report.accepted == report.candidates - sum(report.rejected.values())
    loaded = ToolUseTask(str(folder)).whole()
    kinds = {instance.category for instance in loaded.instances}
    assert kinds == {"simple", "joined", "lookalike", "fallback"}
    monkeypatch.undo()  # the audit also repeats calls in other processes
    done = audit(find_world(str(folder)), loaded.instances)
    assert len(loaded.instances) == report.accepted > 5
    assert done.violations == []
    assert done.tried["calls in another process"] > 0


def test_a_harder_variant_changes_the_state_that_its_request_is_about():
    lend, shelve = sound_tasks()[0], sound_tasks()[7]
    _, lookalike, fallback = harder(SPEC, [lend, shelve], 3)
    like = {"title": "Dune II", "shelf": 1, "status": "free"}
    assert (lookalike["state"], lookalike["gold"]) == ({"books": {"book_1_ii": like}}, lend["gold"])
    assert (fallback["state"], fallback["gold"]) == ({"books": {"book_1": None}}, shelve["gold"])


def stopping(folder, speaker):
    """The speaker, which stops as a killed run does once this run has saved a file."""
    say, saved = speaker.say, lambda: len([*(folder / "steps").glob("*")])
    before = saved()

    def stop(text, sampling):
        if saved() > before:
            raise KeyboardInterrupt
        return say(text, sampling)

    speaker.say = stop
    return speaker


def test_a_synthesis_killed_in_each_step_ends_with_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("dataenvgym.domains.tool_use.synthesis._TRIES", 2)

    def run(folder, wrap):
        asked = [wrap(Teacher(teacher_says)), wrap(Student(lender_says))]
        return synthesize(folder, "a library", asked[0], tasks=6, policy=asked[1])

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    report, kills = run(whole, lambda speaker: speaker), 0
    while not (killed / "report.json").exists():
        with suppress(KeyboardInterrupt):
            assert run(killed, partial(stopping, killed)) == report
        kills += 1
    files = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file()]
    assert kills - 1 == 6 + 2  # before each answer, and each round of tries
    assert report.rejected["pass@8"] > 0
    assert [
        path for path in files if (whole / path).read_bytes() != (killed / path).read_bytes()
    ] == []
    assert run(killed, partial(stopping, killed)) == report


def teacher_says(text, sampling):
    """The scripted answer to the step."""
    *_, lend, shelve = said = answers()
    wanted = next(iter(sampling.json_schema["properties"]))
    if wanted == "tasks":
        return lend if "Intent: lend" in text else shelve
    return next(each for each in said if wanted in json.loads(each))


def lender_says(text, sampling):
    calls = '<tool_call>\n{"name": "lend", "arguments": {"id": "book_1"}}\n</tool_call>'
    return calls if "Dune" in text and "Also" not in text else "Done."


@pytest.mark.parametrize(
    "said", ["", "I cannot.", json.dumps(TABLES)[:70], json.dumps({**TABLES, "tables": []})]
)
def test_an_answer_that_is_empty_rubbish_cut_or_wrong_ends_with_the_step_and_is_not_saved(
    tmp_path, said
):
    teacher = scripted([said] * 3)
    with pytest.raises(EvaluationError, match="usable"):
        synthesize(tmp_path / "w", "a library", teacher)
    assert [path.name for path in (tmp_path / "w/steps").iterdir()] == ["asked.json"]
    assert "The answer before was refused" in teacher.asked[-1]


@pytest.mark.parametrize("broken", [3, 4])
def test_a_step_without_intents_or_tasks_is_asked_again(tmp_path, broken):
    replies = answers()
    replies.insert(broken, json.dumps({"intents" if broken == 3 else "tasks": []}))
    assert synthesize(tmp_path / "w", "a library", scripted(replies), tasks=6).accepted


def test_a_damaged_world_file_is_named_with_all_its_faults(tmp_path):
    spec = SPEC.model_dump(mode="json")
    spec["entries"][0]["values"][1]["value"] = "high"
    spec["tools"][0]["table"] = "cds"
    spec["tools"][4]["sets"] = values(shelf=3)
    (tmp_path / "world.json").write_text(json.dumps(spec))
    with pytest.raises(ConfigurationError) as error:
        read_world(tmp_path)
    for words in ("world.json is damaged", "shelf is 'high', expected integer", "no table 'cds'"):
        assert words in str(error.value)
    assert "tool 'shelve': 'shelf' is there twice" in str(error.value)


@pytest.mark.parametrize("name", ["self", "id", "folder", "has_value", "call", "class"])
def test_a_name_that_a_world_needs_itself_is_refused(name):
    spec = json.loads(SPEC.model_dump_json().replace('"title"', f'"{name}"'))
    with pytest.raises(ValueError, match=f"'{name}' is reserved"):
        WorldSpec.model_validate(spec)


def test_another_theme_or_policy_in_the_same_folder_is_refused_before_anything_is_asked(
    library, tmp_path
):
    with pytest.raises(KeyboardInterrupt):
        synthesize(tmp_path / "w", "a library", scripted([]), tasks=6)
    policy = Student(lender_says)
    for folder in (tmp_path / "w", library[0]):  # begun, and finished
        for theme, given in (("a zoo", None), ("a library", policy)):
            with pytest.raises(ConfigurationError, match="name a new folder"):
                synthesize(folder, theme, scripted([]), tasks=6, policy=given)
    assert policy.asked == []


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(ConfigurationError, match="not an empty folder"):
        synthesize(tmp_path, "a library", scripted([]))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_task_that_the_reference_policy_never_solves_is_rejected(library, tmp_path):
    silent = Student(lambda text, sampling: "I do not know.")
    with pytest.raises(EvaluationError, match="accepted"):
        synthesize(tmp_path, "a library", scripted(answers()), tasks=6, policy=silent)
    assert len(silent.asked) == 8 * library[1].accepted


def test_a_policy_that_fails_is_not_a_wrong_answer(tmp_path):
    down = Student(lambda text, sampling: Failure(reason="the server is down"))
    with pytest.raises(EvaluationError, match="down"):
        synthesize(tmp_path, "a library", scripted(answers()), tasks=6, policy=down)
    assert [*tmp_path.glob("steps/tries_*")] == []


MINE = """
import json
from pathlib import Path
from dataenvgym.interfaces import Reply


class MyTeacher:
    def ask(self, conversations, sampling, *, purpose):
        said = json.loads(Path("answers.json").read_text())
        wanted = next(iter(sampling.json_schema["properties"]))
        fits = [a for a in said if wanted in json.loads(a)]
        return [Reply(text=fits["Intent: shelve" in c[-1].content]) for c in conversations]


class MyPolicy:
    def predict(self, conversations, sampling):
        call = '<tool_call>\\n{"name": "lend", "arguments": {"id": "book_1"}}\\n</tool_call>'
        return [Reply(text=call if len(c) < 3 else "Done.") for c in conversations]
"""


@pytest.fixture
def mine(folder):
    (folder / "mine.py").write_text(MINE)
    (folder / "answers.json").write_text(json.dumps(answers()))
    return folder


def test_the_command_takes_its_options_in_any_order_and_records_the_policy(mine, dataenvgym):
    start, theme = ("worlds", "synthesize"), ("--theme", "a library", "-n", "6")
    options = ("teacher=mine.MyTeacher", "policy=mine.MyPolicy")
    first = dataenvgym.succeeds(*start, "library", *options, *theme)
    assert "library: 2 of 12 candidates are accepted" in first.out
    assert dataenvgym.succeeds(*start, "library", *theme, *options).out == first.out
    assert dataenvgym.succeeds(*start, *theme, "library", *options).out == first.out
    dataenvgym.refuses("was begun with", *start, "library", *theme, options[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--theme", "a zoo"), "a synthesis needs a teacher"),
        (("teacher=mine.MyTeacher",), "the theme None"),
        (("teacher=mine.MyTeacher", "--theme", " "), "expected one of each"),
        (("teacher=mine.MyTeacher", "--theme", "a zoo", "-n", "0"), "-n: '0'"),
        (("teacher=mine.MyTeacher", "--theme", "a zoo", "student=hf"), "['student=hf'], expected"),
        (("teacher=mine.MyTeacher", "--theme", "a zoo", "policy=gpt"), "policy is 'gpt', expected"),
        (("teacher=mine.MyPolicy", "--theme", "a zoo"), "teacher"),
    ],
)
def test_wrong_arguments_are_refused_and_leave_no_folder(mine, dataenvgym, arguments, said):
    dataenvgym.refuses(said, "worlds", "synthesize", "new", *arguments)
    assert not (mine / "new").exists()


def test_any_agent_teaches_on_a_synthesized_folder_and_no_code_in_it_runs(
    library, folder, dataenvgym
):
    copytree(library[0], folder / "library")
    for name in ("__init__", "world", "steps", "sitecustomize"):
        (folder / f"library/{name}.py").write_text(
            "from pathlib import Path\nPath('SPRUNG').touch()"
        )
    dataenvgym.succeeds("worlds", "audit", "library")
    edited = folder / "library" / "problems.jsonl"
    before = edited.read_text()
    edited.write_text(
        before.replace(json.loads(before.splitlines()[0])["instruction"], "Do it.", 1)
    )
    refused = dataenvgym("worlds", "audit", "library")
    assert (refused.code, "unstated" in refused.out) == (1, True)
    assert "1 violation" in refused.err
    edited.write_text(before)
    options = ("task=world", "task.world=library", "student=simulated", "episode.iterations=1")
    dataenvgym.succeeds("run", "agent=gold", *options)
    assert not (folder / "SPRUNG").exists()
