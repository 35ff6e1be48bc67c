import json
import os
from pathlib import Path

import pytest

from dataenvgym.domains.knowledge.task import KnowledgeTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.events import hearing_warnings
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.building import build_task
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import Knowing

PASSAGE = "Denver beat Carolina."
ASKED = [{"question": f"Who won game {n}?", "answer": f"team {n}"} for n in range(20)]
OFFICIAL = [
    {"id": f"q{n}", "question": a["question"], "answers": [{"text": a["answer"]}, {"text": "x"}]}
    for n, a in enumerate(ASKED)
]
FORMS = {
    "passages": [{"title": "T", "context": PASSAGE, "questions": ASKED}],
    "official": {
        "version": "1.1",
        "data": [{"title": "T", "paragraphs": [{"context": PASSAGE, "qas": OFFICIAL}]}],
    },
    "questions": [
        {
            "id": f"q{n}",
            "title": "T",
            "context": PASSAGE,
            "question": a["question"],
            "answers": {"text": [a["answer"]], "answer_start": [0]},
        }
        for n, a in enumerate(ASKED)
    ],
}


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "squad.json"
        path.write_text(json.dumps(content))
        return path

    return write


def all_of(task):
    return [i for split in ("train", "validation", "test") for i in task.on(split).instances]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_squad_gives_the_same_problems(write, form):
    task = KnowledgeTask(write(FORMS[form]))
    found = {i.instruction: i for i in all_of(task)}
    assert {text: i.answer for text, i in found.items()} == {
        f"Topic: T\n{a['question']}": a["answer"] for a in ASKED
    }
    for one in found.values():
        assert (one.skill, one.category) == ("T", "T")
        assert (one.data["title"], one.data["passage"]) == ("T", PASSAGE)
        assert one.data.get("answers") == ([one.answer, "x"] if form == "official" else None)
        assert one.id.startswith("squad-1-" if form == "passages" else "q")
    assert 4 <= len(task.on("train").instances) <= 12


def test_gold_answers_are_right_and_gold_records_have_the_frame(write):
    task = KnowledgeTask(write(FORMS["official"]))
    frame = "Let's answer a question directly and concisely.\nQuestion: {}\nAnswer:\n"
    golds = {frame.format(i.instruction): i.answer for i in task.instances}
    assert all(c.was_correct for c in task.evaluate(Knowing(golds, "The {}!")))
    record = task.domain.gold_record(task.instances[0])
    assert (record.instruction, record.output) in golds.items()
    assert record.provenance.skill == "T"


def test_a_number_of_passages_is_a_seeded_choice(write):
    rows = [
        {"title": "T", "context": f"passage {n}", "questions": [{**a, "question": f"{n}{i}?"}]}
        for n in range(30)
        for i, a in enumerate(ASKED[:3])
    ]
    path = write(rows)

    def passages(**options):
        return {i.data["passage"] for i in all_of(KnowledgeTask(path, **options))}

    assert len(passages()) == 30
    assert len(passages(n_passages=7)) == 7
    assert passages(n_passages=7) == passages(n_passages=7)
    assert passages(n_passages=7) != passages(n_passages=7, seed=1)


def test_grading_by_a_judge_needs_one(write):
    path = write(FORMS["passages"])
    with pytest.raises(ConfigurationError, match="judge=openai/NAME"):
        KnowledgeTask(path, graded_by="judge")
    judge = ScriptedPredictor(lambda _: '{"reason": "so", "is_right": true}')
    task = KnowledgeTask(path, graded_by="judge", others={"judge": judge})
    assert all(done.was_correct for done in task.evaluate(ScriptedPredictor(lambda _: "?")))


def test_unanswerable_questions_are_left_out_and_counted(write):
    content = json.loads(json.dumps(FORMS["official"]))
    content["data"][0]["paragraphs"][0]["qas"][3]["answers"] = []
    warned = []
    with hearing_warnings(warned.append):
        assert len(all_of(KnowledgeTask(write(content)))) == 19
    assert any("1 of 20 rows cannot be judged" in str(one) for one in warned)


def test_a_question_may_have_fields_of_its_own_with_names_that_squad_uses(write):
    rows = [
        {"title": f"T{n}", "context": f"C{n}", **one, "data": []} for n, one in enumerate(ASKED)
    ]
    assert len(all_of(KnowledgeTask(write(rows)))) == len(ASKED)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ([{"title": "T", "context": 3, "questions": ASKED}], "item 1, questions 1, context is 3"),
        ([{"title": "T", "context": "c", "questions": "q"}], "item 1, field 'questions'"),
        ([{"title": "T", "context": "c", "questions": ["q"]}], "item 1, field 'questions'"),
        ([{"context": "c", "questions": ASKED}], "title is None"),
        ([{"title": "T", "context": " ", "questions": ASKED}], "'context' is blank"),
        ([{"title": "", "context": "c", "questions": ASKED}], "'title' is blank"),
        ([{"title": "T", "context": "c", "question": "\n", "answer": "x"}], "question' is blank"),
        ({"data": [3]}, "json, field 'data'"),
        ({"rows": []}, "title: Field required"),
    ],
)
def test_a_row_in_another_form_is_refused_with_its_place(write, content, place):
    with pytest.raises(InvalidInstanceError, match=place):
        _ = KnowledgeTask(write(content)).instances


@pytest.mark.slow
def test_squad_loads_whole():
    if "DATAENVGYM_DATA" not in os.environ:
        pytest.skip("needs the folder DATAENVGYM_DATA")
    task = build_task(compose(["task=squad"]))
    found = all_of(task)
    content = json.loads(
        (Path(os.environ["DATAENVGYM_DATA"]) / "squad/squad_val.json").read_bytes()
    )
    assert len(found) == sum(len(article["questions"]) for article in content) == 10570
    assert {i.skill for i in found} == {article["title"] for article in content}
    assert len(task.whole().instances) == 10570
