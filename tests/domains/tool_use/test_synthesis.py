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
from dataenvgym.errors import ConfigurationError, EvaluationError, RunDirectoryError
from dataenvgym.interfaces import Failure
from dataenvgym.records import ToolCall
from dataenvgym.storage import is_temporary, write_jsonl
from tests.fakes import Student, Teacher

pytestmark = pytest.mark.usefixtures("one_process")

TITLES = ("Dune", "Emma", "Ulysses", "Beloved", "Walden", "Candide", "Middlemarch", "Rebecca",
          "Ivanhoe", "Villette")  # fmt: skip


def values(**given):
    return [{"name": name, "value": value} for name, value in given.items()]


def field(name, type, *choices):
    return {"name": name, "type": type, "choices": choices}


def tool(name, does, arguments=(), only_if=(), **sets):
    about = {"name": name, "description": f"{name} a book.", "does": does, "table": "books"}
    return {**about, "arguments": arguments, "sets": values(**sets), "only_if": only_if}


FIELDS = [
    field("title", "text"),
    field("shelf", "integer"),
    field("status", "text", "free", "lent"),
]
TABLES = {
    "name": "library",
    "policy": "You help the visitors of a library.",
    "tables": [{"name": "books", "fields": FIELDS}],
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
        *(("lend", n, "Lend me {}.", {}) for n in range(1, 7)),
        *(("shelve", n, f"Put {{}} on shelf {n + 70}.", {"shelf": n + 70}) for n in range(1, 7)),
        *(("discard", n, "Throw away {}.", {}) for n in (7, 8)),
        *(("give_back", n, f"I return book_{n}.", {}) for n in (9, 10)),
    ]
    tasks = [
        task(f"{name}-{n}", said.format(TITLES[n - 1]), call(name, id=f"book_{n}", **more))
        for name, n, said, more in rows
    ]
    tasks.append(task("new", "Add Utopia on shelf 3.", call("add_book", title="Utopia", shelf=3)))
    return [*tasks, *harder(SPEC, [tasks[0], tasks[7], tasks[12], tasks[14]], 3)]


LEND, DUNE = call("lend", id="book_1"), "Lend me Dune."
OF_BOOK_1 = {"table": "books", "id": "book_1", "field": "status", "value": "lent"}
LENT = {"check": "has_value", "arguments": OF_BOOK_1}
SAID, ONLY = {"basis": ["state", "said"]}, {"basis": ["assertions"]}


def put(book_shelf):
    return call("shelve", id="book_1", shelf=book_shelf)


BROKEN = {
    "empty request": ("form", "", [LEND], {}),
    "unknown field": ("form", DUNE, [LEND], {"reward": 1}),
    "gold of another shape": ("form", DUNE, [{"tool": "lend"}], {}),
    "basis without data": ("form", DUNE, [LEND], SAID),
    "lend-2": ("repeated", DUNE, [LEND], {}),
    "a request twice": ("repeated", "lend me  Emma.", [call("lend", id="book_2")], {}),
    "a row that is not named": ("unstated", "Lend me a book.", [LEND], {}),
    "another row is named": ("unstated", "Lend me Emma now.", [LEND], {}),
    "a value that is not said": ("unstated", "Put Dune on another shelf.", [put(44)], {}),
    "unknown tool": ("loads", DUNE, [call("borrow", id="book_1")], {}),
    "missing argument": ("loads", DUNE, [call("lend")], {}),
    "argument of another type": ("loads", "Put Dune on shelf two.", [put("two")], {}),
    "unknown row": ("loads", "Lend me book_99.", [call("lend", id="book_99")], {}),
    "a tool that refuses": ("loads", "Lend me Ivanhoe.", [call("lend", id="book_9")], {}),
    "no gold calls": ("nothing", "Lend me Dune please.", [], {}),
    "nothing changes": ("nothing", "Put Dune on shelf 1.", [put(1)], {}),
    "gold breaks it": ("gold", DUNE, [LEND], {**ONLY, "assertions": [{**LENT, "expected": False}]}),
    "it sees too little": ("extra write", DUNE, [LEND], {**ONLY, "assertions": [LENT]}),
    "order that is not said": ("order", "Put Dune on shelf 61 and 62.", [put(61), put(62)], {}),
    "fact that the request says": ("said", DUNE, [LEND], {**SAID, "said": ["Dune"]}),
}
"""20 mutants of sound tasks by id: the expected reason, request, gold calls, other fields."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "world.json").write_text(SPEC.model_dump_json())
    return read_world(folder)


def test_20_of_20_broken_tasks_are_rejected_for_their_reason_and_no_sound_one_of_20(world):
    sound, rows = sound_tasks(), []
    for desk, (id, (reason, request, gold, more)) in zip(
        ascii_uppercase, BROKEN.items(), strict=False
    ):
        own = "" if reason in ("form", "repeated") else f" This is desk {desk}."
        rows.append(task(id, request + own, *gold, **more))
    kept, rejected = judge_candidates(world, [*sound, *rows])
    found = [(each.problem, each.check) for each in rejected]
    assert (len(sound), len(rows), kept) == (20, 20, sound)
    assert sorted(found) == sorted((id, reason) for id, (reason, *_) in BROKEN.items())


def test_a_tool_says_what_it_did_and_one_that_adds_a_row_its_id(world):
    changed = world.at(world.state.fork())
    said = changed.call(ToolCall(**call("add_book", title="Utopia", shelf=3))).content
    id, _, rest = said.partition(" ")
    assert (changed.state.books[id].title, rest) == ("Utopia", "is added")
    assert changed.call(ToolCall(**put(7))).content == "book_1 is changed"
    assert changed.state.books["book_1"].shelf == 7
    assert changed.call(ToolCall(**call("discard", id=id))).content == f"{id} is removed"


def test_what_a_task_does_not_state_is_named_in_one_message(world, tmp_path):
    _, (rejected,) = judge_candidates(world, [task("m", "Put a book away.", put(44))])
    assert rejected.detail == (
        "unsolvable as stated: shelve needs 'book_1', and names nothing of it; "
        "shelve needs shelf 44, which is not said"
    )
    spec = SPEC.model_dump_json().replace('"Dune"', '""')  # a row with an empty name is not named
    (tmp_path / "world.json").write_text(spec)
    _, (rejected,) = judge_candidates(read_world(tmp_path), [task("m", "Lend me a book.", LEND)])
    assert rejected.detail.endswith("and names nothing of it")


def drafts(rows):
    def draft(row):
        calls = [{"name": c["name"], "arguments": values(**c["arguments"])} for c in row["gold"]]
        return {"instruction": row["instruction"], "skill": row["skill"], "calls": calls}

    return {"tasks": [draft(row) for row in rows]}


def answers():
    rows = sound_tasks()
    unstated = task("bad", "Lend me a book.", call("lend", id="book_3"))
    intents = {"intents": ["lend", "shelve"]}
    written = drafts([*rows[:2], unstated]), drafts(rows[6:9])
    return list(map(json.dumps, (TABLES, ENTRIES, TOOLS, intents, *written)))


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
    say = speaker.say

    def saved():
        return len([*folder.glob("environment.json"), *folder.glob("steps/*")])

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
    one, other = (
        {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        for folder in (whole, killed)
    )
    assert kills - 1 == 6 + 2  # before each answer, and each round of tries
    assert report.rejected["pass@8"] > 0
    assert one == other
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
    "said", ["I cannot.", json.dumps(TABLES)[:70], json.dumps({**TABLES, "tables": []})]
)
def test_an_answer_that_is_empty_rubbish_cut_or_wrong_ends_with_the_step_and_is_not_saved(
    tmp_path, said
):
    teacher = scripted([said] * 3)
    with pytest.raises(EvaluationError, match="usable"):
        synthesize(tmp_path / "w", "a library", teacher)
    assert [path.name for path in (tmp_path / "w").rglob("*")] == ["environment.json"]
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
    spec["tools"].append({**tool("idle", "change"), "description": ""})
    spec["entries"].append({"table": "books", "id": "book_99", "values": values(year=1)})
    (tmp_path / "world.json").write_text(json.dumps(spec))
    with pytest.raises(ConfigurationError) as error:
        read_world(tmp_path)
    for words in (
        *("world.json is damaged", "shelf is 'high', expected integer", "no table 'cds'"),
        *("tool 'shelve': 'shelf' is there twice", "tool 'idle' changes nothing"),
        *("books has no field 'year'", "entry 'book_99' lacks shelf, status, title"),
    ):
        assert words in str(error.value)


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
            with pytest.raises(RunDirectoryError, match="name a new folder"):
                synthesize(folder, theme, scripted([]), tasks=6, policy=given)
    assert policy.asked == []


def test_a_second_synthesis_of_a_folder_is_refused_and_removes_nothing_while_the_first_writes(
    tmp_path,
):
    written, left, kept = tmp_path / "w/steps/.tables.json.1-1.tmp", answers(), []

    def say(text, sampling):
        if not kept:
            write_jsonl(written, [])
            with pytest.raises(RunDirectoryError, match="another process"):
                synthesize(tmp_path / "w", "a library", scripted([]), tasks=6)
            kept.append(is_temporary(written) and written.exists())
        return left.pop(0)

    assert synthesize(tmp_path / "w", "a library", Teacher(say), tasks=6).accepted
    assert kept == [True]


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(ConfigurationError, match="not an empty folder"):
        synthesize(tmp_path, "a library", scripted([]))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(
    ("said", "match", "rounds"),
    [("I do not know.", "accepted", 8), (Failure(reason="the server is down"), "down", 1)],
)
def test_a_task_that_the_policy_never_solves_is_rejected_and_a_policy_that_fails_is_not_wrong(
    library, tmp_path, said, match, rounds
):
    policy = Student(lambda text, sampling: said)
    with pytest.raises(EvaluationError, match=match):
        synthesize(tmp_path, "a library", scripted(answers()), tasks=6, policy=policy)
    assert len(policy.asked) == rounds * library[1].accepted
    assert len([*tmp_path.glob("steps/tries_*")]) == rounds - (match == "down")


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
        (("teacher=mine.MyTeacher", "--theme", " "), "expected one of each"),
        (("teacher=mine.MyTeacher", "--theme", "a zoo", "student=hf"), "['student=hf'], expected"),
        (("teacher=mine.MyTeacher", "--theme", "a zoo", "policy=gpt"), "policy is 'gpt', expected"),
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
    first = json.loads(before.splitlines()[0])["instruction"]
    edited.write_text(before.replace(first, "Do it.", 1))
    refused = dataenvgym("worlds", "audit", "library")
    assert (refused.code, "unstated" in refused.out, "1 violation" in refused.err) == (1, 1, 1)
    edited.write_text(before)
    options = ("task=world", "task.world=library", "student=simulated", "episode.iterations=1")
    dataenvgym.succeeds("run", "agent=gold", *options)
    assert not (folder / "SPRUNG").exists()
