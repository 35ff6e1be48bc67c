import json
import re
from collections import Counter

import numpy as np
import pytest

from dataenvgym.agents import (
    Assignment,
    BlindPolicy,
    LLMEngine,
    OpenEndedPolicy,
    SkillListPolicy,
)
from dataenvgym.agents.engines.llm.record_requests import next_round
from dataenvgym.domains.knowledge.pocket import PocketKnowledgeTask
from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.interfaces import Failure
from dataenvgym.records import CompletedTaskInstance, Provenance
from dataenvgym.runs.config import build_agent, compose
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Task
from dataenvgym.tasks.several import SeveralTasks
from tests import fakes


class Teacher(fakes.Teacher):
    """Writes new sums for each request, as `spoil(its number, the right answer)` says."""

    def __init__(self, spoil=lambda i, text: text, **options):
        super().__init__(self._write, **options)
        self.spoil = spoil

    @property
    def schemas(self):
        return [sampling.json_schema for sampling in self.samplings]

    def _write(self, request, sampling):
        i = len(self.asked) - 1
        count = int(re.search(r"Write (\d+) new", request)[1])
        return self.spoil(i, sums(range(100 * i, 100 * i + count)))


def sums(numbers) -> str:
    records = [{"instruction": f"What is {n} + {n}?", "output": f"#### {2 * n}"} for n in numbers]
    return json.dumps({"records": records})


def wrong(i: int, skill: str | None = None) -> CompletedTaskInstance:
    question = f"Which number comes after {i}?"
    return fakes.tried(instruction=question, answer=f"{i + 1}", skill=skill, said=f"I say {i - 1}")


def generate(teacher, *plan: Assignment, seed: int = 0, **options):
    engine = LLMEngine(teacher, **options)
    records = engine.generate(plan, None, np.random.default_rng(seed))
    assert len({r.instruction for r in records}) == len(records)
    return records, engine


def wanted(teacher: Teacher) -> list[int]:
    """How many records each request asked for."""
    return [int(re.search(r"Write (\d+)", text)[1]) for text in teacher.asked]


# --- requests -----------------------------------------------------------------------------------


def test_a_skill_is_requested_in_batches_and_is_in_the_records():
    teacher = Teacher()
    carried = Assignment(3, skill="sum", subskill="with carry")
    records, _ = generate(teacher, Assignment(25, skill="gcd"), carried)
    assert wanted(teacher) == [10, 10, 5, 3]
    taught = Counter((r.provenance.skill, r.provenance.subskill) for r in records)
    assert taught == {("gcd", None): 25, ("sum", "with carry"): 3}
    assert "They teach this skill: gcd" in teacher.asked[0]
    assert "They teach this skill: sum, and of it: with carry" in teacher.asked[-1]
    assert "got the following problems wrong" not in teacher.asked[0]


def test_examples_are_shown_with_the_students_reply_and_the_gold_answer():
    teacher = Teacher()
    right = wrong(9).model_copy(update={"was_correct": True})
    generate(teacher, Assignment(2, examples=[wrong(7), right]))
    text, samples = teacher.asked[0].split("Problems of this kind look like this")
    assert "comes after 9?" in samples
    assert "comes after 9?" not in text
    for part in ("Which number comes after 7?", "I say 6", "The right answer: 8", "do not repeat"):
        assert part in text
    assert "They teach this skill" not in text


TEACHERS = ["records", "math_records", "code_records", "plan_records", "call_records"]


@pytest.mark.parametrize("prompt", TEACHERS)
@pytest.mark.parametrize("policy", [OpenEndedPolicy(), SkillListPolicy()])
def test_a_blind_policys_examples_are_shown_as_samples_not_as_errors(policy, prompt):
    completed = [wrong(i, skill="next") for i in range(9)]
    plan = BlindPolicy(policy).plan(fakes.situation(completed), 4, np.random.default_rng(0))
    teacher = Teacher()
    generate(teacher, *plan, prompt=prompt)
    text = teacher.asked[0]
    assert re.search(r"Problems of this kind look like this\. [^{}]+:\nProblem 1: Which", text)
    assert "The right answer: " in text
    assert not re.search(r"\bwrong\b|student's answer|I say", text)


def test_small_assignments_of_one_skill_share_a_request():
    teacher = Teacher()
    plan = [Assignment(1, examples=[wrong(i, skill="next")]) for i in range(7)]
    plan += [Assignment(1, examples=[wrong(9, skill="other")])]
    records, _ = generate(teacher, *plan, examples_per_request=5)
    assert wanted(teacher) == [5, 2, 1]
    assert Counter(r.provenance.skill for r in records) == {"next": 7, "other": 1}


def test_of_many_examples_each_request_shows_a_sample():
    teacher = Teacher()
    generate(teacher, Assignment(40, skill="s", examples=[wrong(i) for i in range(50)]))
    shown = [set(re.findall(r"comes after (\d+)", text)) for text in teacher.asked]
    assert [len(numbers) for numbers in shown] == [5] * 4
    assert len(set().union(*shown)) > 10


def test_without_examples_training_problems_are_shown_and_evaluation_problems_are_not():
    teacher, task = Teacher(), PocketMathTask()
    generate(teacher, Assignment(2, skill="reversed"), Assignment(2), task=task)
    training = {i.instruction: i.skill for i in task.on("train").instances}
    for text in teacher.asked:
        shown = re.findall(r"Problem \d: (.*)", text)
        assert len(shown) == 5
        assert all(question in training for question in shown)
    first = re.findall(r"Problem \d: (.*)", teacher.asked[0])
    assert {training[question] for question in first} == {"reversed"}


def test_the_same_seed_gives_the_same_request_and_another_seed_a_different_one():
    examples = [wrong(i) for i in range(50)]
    asked = []
    for seed in (1, 1, 2):
        teacher = Teacher(lambda i, text: text if i % 2 else "garbage")
        generate(teacher, Assignment(30, skill="s", examples=examples), seed=seed)
        asked.append((teacher.asked, teacher.samplings))
    assert asked[0] == asked[1] != asked[2]


def test_the_schema_requires_records_and_optionally_their_number_and_length():
    teacher = Teacher()
    generate(teacher, Assignment(12, skill="a"), exact_schema=True)
    assert [s["properties"]["records"]["maxItems"] for s in teacher.schemas] == [10, 2]
    teacher = Teacher()
    generate(teacher, Assignment(12, skill="a"))
    assert "maxItems" not in teacher.schemas[0]["properties"]["records"]
    assert "maxLength" not in json.dumps(teacher.schemas)
    teacher = Teacher()
    generate(teacher, Assignment(1, skill="a"), max_length=40)
    record = teacher.schemas[0]["properties"]["records"]["items"]
    assert record["properties"]["output"]["maxLength"] == 40


# --- answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('Here:\n```json\n{"records": [{"instruction": "a", "output": "b"},]}\n```', [("a", "b")]),
        ('[{"instruction": "a", "output": "b"}]', [("a", "b")]),
        ('{"instruction": " a ", "output": 3, "id": 1}', [("a", "3")]),
        ('[{"instruction": "a", "output": "b"}, {"instruction": "c", "ou', [("a", "b")]),
        ('{"records": [{"instruction": "a", "output": "b\\u0000"}]}', []),
        ('{"records": [{"instruction": "a", "output": ""}, null, "x", 3, []]}', []),
        ('{"records": [{"instruction": "\\ud800", "output": "b"}]}', [("\ufffd", "b")]),
        ('{"records": {"a": 1}}', []),
        ("I cannot do that.", []),
        ("", []),
    ],
)
def test_of_an_answer_the_records_are_taken_and_the_rest_is_dropped(answer, expected):
    teacher = Teacher(lambda i, text: answer)
    records, _ = generate(teacher, Assignment(3, skill="s"), attempts=1)
    assert [(r.instruction, r.output) for r in records] == expected
    assert (teacher.malformed > 0) == (not expected)


def test_malformed_records_duplicates_and_copied_examples_are_counted_and_requested_again():
    def spoil(i, text):
        if i > 0:
            return text
        asked = ("which  number comes after 7?", "What is 100 + 100?", "what is 100  + 100?")
        good = [{"instruction": text, "output": "#### 200"} for text in asked]
        return json.dumps({"records": [*good, {"instruction": "What is 5?"}]})

    teacher = Teacher(spoil)
    records, engine = generate(teacher, Assignment(4, examples=[wrong(7)]))
    assert len(records) == 4
    assert engine.dropped == {"example": 1, "duplicate": 2, "malformed": 1}
    assert "- What is 100 + 100?" in teacher.asked[1]
    assert wanted(teacher) == [4, 3, 1]


@pytest.mark.parametrize("bad", ["garbage", '{"records": [', Failure(reason="500")])
@pytest.mark.parametrize("seed", range(3))
def test_a_teacher_that_fails_three_times_in_ten_still_fills_the_plan(bad, seed):
    rng = np.random.default_rng(seed)
    teacher = Teacher(lambda i, text: bad if rng.random() < 0.3 else text)
    records, _ = generate(teacher, Assignment(200, skill="s"), Assignment(100, skill="t"))
    assert Counter(r.provenance.skill for r in records) == {"s": 200, "t": 100}


def test_a_teacher_with_nothing_to_say_to_many_requests_is_not_asked_them_all_again(caplog):
    teacher = Teacher(lambda i, text: "garbage")
    records, _ = generate(teacher, Assignment(1000, skill="s"), attempts=5)
    assert records == []
    assert (len(teacher.asked), len(teacher.rounds)) == (100 + 4 * 5, 5)
    (said,) = caplog.messages
    assert said.startswith("the teacher wrote 0 of 1000 records")
    assert "120 requests, 120 answers without any record; dropped: none" in said


@pytest.mark.parametrize(
    ("spoil", "count", "attempts", "n_records", "n_rounds"),
    [
        # found nothing once, and is asked for all again when it does
        (lambda i, text: "garbage" if i < 102 else text, 1000, 5, 1000, 3),
        (lambda i, text: sums(range(3)), 5, 2, 3, 3),  # repeats itself, and is given up
        (lambda i, text: sums(range(20)), 3, 5, 3, 1),  # writes more than it is asked for
    ],
)
def test_rounds_go_on_while_they_bring_records(spoil, count, attempts, n_records, n_rounds):
    teacher = Teacher(spoil)
    records, _ = generate(teacher, Assignment(count, skill="s"), attempts=attempts)
    assert (len(records), len(teacher.rounds)) == (n_records, n_rounds)


def test_a_teacher_that_answers_no_call_at_all_is_an_error_that_says_why():
    teacher = Teacher(lambda i, text: Failure(reason="status 401: no such key"))
    with pytest.raises(PredictionError, match=r"15 requests.* such key"):
        generate(teacher, Assignment(30, skill="s"))


def test_a_spent_budget_leaves_the_records_so_far_and_is_said_if_there_are_none():
    records, _ = generate(Teacher(budget=3), Assignment(100, skill="s"))
    assert len(records) == 30
    for broke in (Teacher(budget=0), Teacher(lambda i, text: "garbage", budget=5)):
        with pytest.raises(BudgetSpentError):
            generate(broke, Assignment(100, skill="s"))
    with pytest.raises(BudgetSpentError):
        LLMEngine(Teacher(budget=0)).propose_subskills("s", (), 1, (), np.random.default_rng(0))


# --- configuration ------------------------------------------------------------------------------


def test_your_own_prompt_is_chosen_by_its_name(tmp_path):
    (tmp_path / "prompt").mkdir()
    (tmp_path / "prompt" / "mine.yaml").write_text(
        '# Mine\nsystem: ""\nuser: "{count} for \\\\${cost} and \\\\frac{aa}{bb}"\n'
    )
    overrides = ["agent=open_ended", "agent/engine=llm", "prompt=mine"]
    config = compose(overrides, config_dir=tmp_path)
    with pytest.raises(ConfigurationError, match=r"\{cost\}"):
        build_agent(config, task=PocketMathTask(), teacher=Teacher())
    config = compose([*overrides, 'prompt.user="{count} for \\frac{aa}{bb}"'], config_dir=tmp_path)
    engine = build_agent(config, task=PocketMathTask(), teacher=Teacher()).engine
    assert engine._prompt.render(count=2)[0].content == r"2 for \frac{aa}{bb}"


def test_without_a_teacher_the_configuration_says_what_to_choose():
    with pytest.raises(ConfigurationError, match="teacher=openai"):
        build_agent(compose(["agent/engine=llm"]), task=PocketMathTask())


def test_the_records_of_a_request_are_for_the_task_of_its_examples_or_of_a_drawn_task():
    sizes = {"n_train": 30, "n_validation": 4, "n_test": 4}
    parts = {"sums": PocketMathTask(**sizes), "facts": PocketKnowledgeTask(**sizes)}
    task, teacher = SeveralTasks(parts), Teacher()
    one, *_, other = task.evaluate(ScriptedPredictor(lambda conversation: "?"))
    plan = (*(Assignment(1, examples=[each]) for each in (one, other)), Assignment(8))
    records, _ = generate(teacher, *plan, task=task, batch_size=1)
    named = [record.provenance.task for record in records]
    assert named[:2] == ["sums", "facts"]
    assert {*named[2:]} == {"sums", "facts"}
    assert other.instance.instruction in teacher.asked[1]


# --- requests after rounds without records ---


def test_after_a_barren_round_a_few_are_asked_for_others_each_time():
    assert next_round(range(100), 0, 5) == range(100)
    asked = [list(next_round(range(100), fruitless, 5)) for fruitless in range(1, 5)]
    assert asked[0] == [1, 21, 41, 61, 81]
    assert [len(few) for few in asked] == [5] * 4
    assert len({number for few in asked for number in few}) == 20


# --- subskills ---


def names(*texts: str) -> dict[str, list[str]]:
    return {"subskills": list(texts)}


@pytest.mark.parametrize(
    ("answers", "known", "expected"),
    [
        ([names("carrying", "large numbers", "too many")], (), ("carrying", "large numbers")),
        (  # known and repeated names do not count, and missing ones are requested again
            [names("Carrying", "big  sums", "BIG sums", " "), "garbage", names("zeros")],
            ["carrying"],
            ("big sums", "zeros"),
        ),
        ([names("a\0b", "c\x1b[31m", "fine"), names("too")], (), ("fine", "too")),
        (["?", "?", "?"], (), ()),
    ],
)
def test_subskills_are_asked_for_until_there_are_enough(answers, known, expected):
    engine = LLMEngine(teacher := fakes.Teacher(*answers))
    assert callable(engine.propose_subskills)
    rng = np.random.default_rng(0)
    assert engine.propose_subskills("sums", known, 2, [wrong(7)], rng) == expected
    assert len(teacher.asked) == len(answers)
    assert "comes after 7?" in teacher.asked[0]
    if known:
        assert "carrying, big sums" in teacher.asked[1]
    assert teacher.purposes == {"subskills"}


def test_problems_come_first_and_each_is_solved_in_a_second_request():
    problems = [{"instruction": "What is 1 + 1?"}, {"instruction": "What is 2 + 2?"}, {"x": 1}]
    teacher = fakes.Teacher(
        json.dumps({"records": problems}), "#### 2", Failure(reason="lost"), '{"records": []}'
    )
    records, engine = generate(
        teacher,
        Assignment(2),
        prompt="code_problems",
        solution_prompt={"user": "Solve: {instruction}\n\n{answer_form}"},
        attempts=1,
        task=Task(domain=MathDomain(), source=PocketMathTask(n_train=5).source),
    )
    assert [(r.instruction, r.output) for r in records] == [("What is 1 + 1?", "#### 2")]
    assert teacher.asked[1].startswith("Solve: What is 1 + 1?\n\nReason in short steps.")
    assert teacher.samplings[1].json_schema is None
    item = teacher.samplings[0].json_schema["properties"]["records"]["items"]
    assert item["required"] == ["instruction"]
    assert engine.dropped["malformed"] == 1  # the one whose solution was lost


SUPPOSED = {"hypotheses": [{"weakness": "carrying", "reason": "it\nforgets"}] * 3}
HYPOTHESES = {"prompt": "math_records_for_hypotheses", "hypotheses_prompt": "hypotheses"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prompt": "code_problems"}, "both, or"),
        ({"solution_prompt": "code_solution"}, "both, or"),
        *(({name: prompt}, "both, or") for name, prompt in HYPOTHESES.items()),
        ({"prompt": {"user": "Write records like {examples}"}}, r"has no \{count\}"),
    ],
)
def test_prompts_that_need_each_other_go_together_and_name_their_values(options, said):
    with pytest.raises(ConfigurationError, match=said):
        LLMEngine(Teacher(), **options)


def test_hypotheses_come_first_and_are_in_the_prompt_and_in_the_provenance():
    teacher = fakes.Teacher(SUPPOSED, "no idea", sums([1, 2]), sums([3]), sums([4]))
    plan = (
        Assignment(2, skill="sums", examples=(wrong(1),)),
        Assignment(1, skill="sums", examples=(wrong(2),)),
        Assignment(1, skill="sums"),
    )
    records, _ = generate(teacher, *plan, batch_size=2, **HYPOTHESES)
    assert teacher.purposes == {"hypotheses", "records"}
    assert "Name up to 2 different weaknesses" in teacher.asked[0]
    assert "I say 0" in teacher.asked[0]
    assert "in this order:\n- carrying: it forgets\n- carrying" in teacher.asked[2]
    assert not any("It seems to lack" in text for text in teacher.asked[3:5])
    found = [r.provenance.hypotheses for r in records]
    assert found == [("carrying: it forgets",) * 2] * 2 + [()] * 2
    assert Provenance.model_validate_json(records[0].provenance.model_dump_json()) == (
        records[0].provenance
    )
    assert "hypotheses" not in records[3].model_dump()["provenance"]  # as before there were any


def test_without_errors_there_is_nothing_to_suppose():
    teacher = fakes.Teacher(sums([1]))
    generate(teacher, Assignment(1, skill="sums"), **HYPOTHESES)
    assert teacher.purposes == {"records"}
