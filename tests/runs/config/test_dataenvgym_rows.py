"""Rows of DataEnvGym's tables: what a scripted teacher is asked, and the records it gives."""

import json
import re
import shutil
from collections import Counter
from itertools import count

import pytest

from dataenvgym.runs.config import build_agent, build_task, compose
from tests.docs.readers_files import write_data
from tests.fakes import Student, Teacher

EXPERIMENT = {
    "math": "dataenvgym_math_gemma2_2b",
    "code": "dataenvgym_livecodebench_llama3_8b",
    "plans": "dataenvgym_mnms_llama3_8b",
}
WRONG = {"math": "#### 7777", "code": "```python\nprint(7777)\n```", "plans": "get_weather(x=7777)"}
ANSWER = {
    "math": "#### {}",
    "code": "print({})",
    "plans": 'output0 = image_captioning(image="{}.jpg")',
}


class Scripted(Teacher):
    """Writes as many new records as a request asks for; solves problems; has two hypotheses."""

    def __init__(self, row):
        super().__init__(self._write)
        self.numbers, self.form = count(), ANSWER[row]

    def _write(self, request, sampling):
        if "different weaknesses" in request:
            pairs = [{"weakness": f"w{i}", "reason": "r"} for i in range(2)]
            return json.dumps({"hypotheses": pairs})
        if (wanted := re.search(r"Write (\d+) new", request)) is None:
            return self.form.format(1)
        numbers = [next(self.numbers) for _ in range(int(wanted[1]))]
        shown = [{"instruction": f"Problem {n}?", "output": self.form.format(n)} for n in numbers]
        return json.dumps({"records": shown})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_data(folder, None)
    rows = [
        {
            "problem": f"How much is {n} plus 10?",
            "solution": f"\\boxed{{{n + 10}}}",
            "type": "Algebra" if n % 2 else "Geometry",
            "level": f"Level {1 + n % 3}",
        }
        for n in range(400)
    ]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "math" / "train.jsonl").write_text(text)
    plan = [{"id": 0, "name": "image captioning", "args": {"image": "a.jpg"}}]
    plans = [{"id": n, "user_request": f"Describe {n}.jpg.", "plan_str": plan} for n in range(40)]
    (folder / "mnms" / "plans.json").write_text(json.dumps(plans))
    return folder


@pytest.fixture
def asked(folder, monkeypatch):
    """What the teacher of a row was asked, the records, and the problems that were seen."""
    monkeypatch.setenv("DATAENVGYM_DATA", str(folder))
    source = {
        "math": [],
        "code": [f"task.sources={{validation: '{folder}/code_generation_lite/test2.jsonl'}}"],
        "plans": [f"task.sources={{validation: '{folder}/mnms/plans.json'}}"],
    }

    def ask(row, agent):
        if row == "code" and shutil.which("bwrap") is None:
            pytest.skip("needs bubblewrap (Debian: bubblewrap)")
        given = [f"experiment={EXPERIMENT[row]}", f"agent={agent}", *source[row]]
        config = compose([*given, "skills=gold"])
        task, teacher = build_task(config), Scripted(row)
        try:
            student = Student(lambda question, sampling: WRONG[row])
            completed = task.evaluate(student)
            if not config.environment.id.startswith("dataenvgym/SkillList"):
                hidden = {"skill": None, "category": None}
                completed = [
                    c.model_copy(update={"instance": c.instance.model_copy(update=hidden)})
                    for c in completed
                ]
            records = build_agent(config, task=task, teacher=teacher)(completed, student)
        finally:
            task.close()
        assert not any(c.was_correct for c in completed)
        return teacher, records, completed

    return ask


def wanted(teacher):
    """How many records each request asked for."""
    return [int(n) for text in teacher.asked for n in re.findall(r"^Write (\d+) new", text)]


def test_math_open_ended_shows_three_errors_in_each_of_twelve_requests(asked):
    teacher, records, completed = asked("math", "open_ended")
    assert len(completed) == 300  # 50 of each of six cells
    assert wanted(teacher) == [10] * 12
    assert len(records) == 120
    assert {text.count("The student's answer: #### 7777") for text in teacher.asked} == {3}
    (record, *_) = records
    assert record.instruction.startswith("Problem 0?\n\nReason in short steps.")
    assert record.output == "#### 0"


def test_math_without_state_shows_problems_and_no_answers_of_the_student(asked):
    teacher, records, _ = asked("math", "open_ended_no_state")
    assert (wanted(teacher), len(records)) == ([10] * 12, 120)
    assert not any("7777" in text or "got the following" in text for text in teacher.asked)
    assert all("How much is" in text for text in teacher.asked)


@pytest.mark.parametrize(
    ("row", "each", "n"), [("math", 10, 12), ("code", 5, 10), ("plans", 3, 20)]
)
def test_random_sends_the_same_request_each_time_without_problems(asked, row, each, n):
    teacher, records, _ = asked(row, "random")
    assert (wanted(teacher), len(records)) == ([each] * n, each * n)
    (request,) = {text for text in teacher.asked if text.startswith("Write")}
    assert not any(word in request for word in ("How much is", "Describe"))
    assert row != "plans" or "image_captioning(image)" in request  # the tool list


def test_math_skill_list_supposes_and_writes_ten_for_each_skill(asked):
    teacher, records, completed = asked("math", "skill_list")
    assert len(completed) == 60  # 10 of each cell
    taught = Counter(record.provenance.skill for record in records)
    assert set(taught.values()) == {10}
    assert len(taught) == 6
    assert sum("Name up to 10 different weaknesses" in text for text in teacher.asked) == 6
    assert {record.provenance.hypotheses for record in records} == {("w0: r", "w1: r")}


def test_livecodebench_asks_five_problems_for_each_error_and_solves_each(asked):
    teacher, records, completed = asked("code", "open_ended")
    assert wanted(teacher) == [5] * len(completed)
    assert len(records) == 5 * len(completed)
    assert teacher.purposes == {"records", "solutions"}
    requests = [text for text in teacher.asked if text.startswith("Write")]
    assert {text.count("The student's answer:") for text in requests} == {1}
    solved = [text for text in teacher.asked if text.startswith("Problem")]
    assert len(solved) == len(records)


def test_mnms_draws_thirty_errors_and_writes_two_for_each(asked):
    teacher, records, completed = asked("plans", "open_ended")
    assert len(completed) == 40
    assert (wanted(teacher), len(records)) == ([2] * 30, 60)
    shown = {
        n for text in teacher.asked for n in re.findall(r"Problem 1: Describe (\d+)\.jpg", text)
    }
    assert len(shown) == 30


def test_a_tree_opens_two_subskills_of_thirty_and_stops_at_two_hundred(folder, monkeypatch):
    from numpy.random import default_rng

    from dataenvgym.agents import TreeSituation
    from dataenvgym.environments.skill_tree import Explore, Forest, Subskill, Tree

    monkeypatch.setenv("DATAENVGYM_DATA", str(folder))
    config = compose([f"experiment={EXPERIMENT['math']}", "agent=skill_tree", "skills=gold"])
    policy = build_agent(config, task=build_task(config), teacher=Scripted("math")).policy
    rich = Tree(skill="full", subskills=[Subskill(name="a", allocation=30, generated=210)])
    forest = Forest(trees=[Tree(skill=f"s{i}") for i in range(20)] + [rich])
    moves = policy.act(TreeSituation(forest, 1), 2000, default_rng(0))
    assert moves[:20] == tuple(
        Explore(skill=f"s{i}", subskills=2, records_each=30) for i in range(20)
    )
    assert moves[20].changes == {"a": -30}
