"""Worlds and tasks that a teacher writes."""

import json
from string import ascii_uppercase

import pytest

from dataenvgym.domains.tool_use.audit import audit
from dataenvgym.domains.tool_use.synthesis import harder, judge_candidates, synthesize
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.domains.tool_use.worlds import find_world
from dataenvgym.domains.tool_use.worlds.folder import WorldSpec, read_world
from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.predictors import ScriptedPredictor

from ...fakes import Student, Teacher

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
    return [*rows, *harder([rows[0], rows[7], rows[12], rows[14]], 3)]


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


def test_no_sound_task_of_20_is_rejected(world):
    sound = sound_tasks()
    kept, rejected = judge_candidates(world, sound)
    assert (len(sound), kept, rejected) == (20, sound, [])


def test_20_of_20_broken_tasks_are_rejected_for_their_reason(world):
    broken = broken_tasks()
    assert len(broken) == 20
    beside = sound_tasks()[1:3]
    rows = []
    for desk, (what, (reason, row)) in zip(ascii_uppercase, broken.items(), strict=False):
        own = "" if reason in ("form", "repeated") else f" This is desk {desk}."
        id = row["id"] if what == "an id twice" else what
        rows.append({**row, "id": id, "instruction": row["instruction"] + own})
    kept, rejected = judge_candidates(world, [*beside, *rows])
    reasons = {each.id: [] for each in rejected}
    for each in rejected:
        reasons[each.id].append(each.reason)
    expected = {what: [reason] for what, (reason, _) in broken.items()}
    expected["lend-2"] = expected.pop("an id twice")
    assert (kept, reasons) == (beside, expected)


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
    return folder, synthesize(folder, "a library", scripted(answers()), tasks=6)


def test_a_scripted_teacher_writes_a_world_that_can_be_taught(library):
    folder, report = library
    assert report["rejected"]["unstated"] == 1
    assert report["accepted"] == report["candidates"] - sum(report["rejected"].values())
    loaded = ToolUseTask(str(folder)).whole()
    assert len(loaded.instances) == report["accepted"] > 5
    done = audit(find_world(str(folder)), loaded.instances)
    assert done.violations == []
    assert done.tried["calls in another process"] > 0


@pytest.mark.parametrize("after", [1, 5])
def test_a_killed_synthesis_continues_with_the_same_result(library, tmp_path, after):
    replies = answers()
    with pytest.raises(KeyboardInterrupt):
        synthesize(tmp_path, "a library", scripted(replies[:after]), tasks=6)
    resumed = synthesize(tmp_path, "a library", scripted(replies[after:]), tasks=6)
    assert resumed == library[1]
    for name in ("world.json", "problems.jsonl", "report.json"):
        assert (tmp_path / name).read_bytes() == (library[0] / name).read_bytes()


def test_a_useless_answer_is_asked_again_with_the_fault(tmp_path):
    wrong = {**TABLES, "tables": []}
    with pytest.raises(EvaluationError, match=r"step 'tables': no usable answer .* 3 tries"):
        synthesize(tmp_path / "w", "a library", scripted([json.dumps(wrong)] * 3))


def test_a_damaged_world_file_is_named_with_all_its_faults(tmp_path):
    spec = SPEC.model_dump(mode="json")
    spec["entries"][0]["values"][1]["value"] = "high"
    spec["tools"][0]["table"] = "cds"
    (tmp_path / "world.json").write_text(json.dumps(spec))
    with pytest.raises(ConfigurationError) as error:
        read_world(tmp_path)
    for words in ("world.json is damaged", "shelf is 'high', expected integer", "no table 'cds'"):
        assert words in str(error.value)


def test_another_theme_in_the_same_folder_is_refused(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        synthesize(tmp_path / "w", "a library", scripted([]))
    with pytest.raises(ConfigurationError, match="name a new folder"):
        synthesize(tmp_path / "w", "a zoo", scripted([]))


def test_a_task_that_the_reference_policy_never_solves_is_rejected(library, tmp_path):
    silent = Student(lambda text, sampling: "I do not know.")
    with pytest.raises(EvaluationError, match=r"no task was accepted: .*none of 8 tries"):
        synthesize(tmp_path, "a library", scripted(answers()), tasks=6, policy=silent)
    assert len(silent.asked) == 8 * library[1]["accepted"]


def test_a_task_that_the_reference_policy_solves_once_is_kept(tmp_path):
    replies = answers()
    drafts = {"tasks": json.loads(replies[4])["tasks"][:2]}
    replies = [*replies[:3], json.dumps({"intents": ["lend"]}), json.dumps(drafts)]
    lend = '<tool_call>\n{"name": "lend", "arguments": {"id": "book_1"}}\n</tool_call>'
    lender = ScriptedPredictor(lambda said: "Done." if said[-1].role == "tool" else lend)
    report = synthesize(tmp_path, "a library", scripted(replies), tasks=2, policy=lender)
    assert report["rejected"] == {"pass@8": 2}  # Emma, and both at once
    assert report["accepted"] == 1
