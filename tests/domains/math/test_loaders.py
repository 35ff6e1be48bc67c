import pytest

from dataenvgym.domains.math.task import MathOptions, MathTask, to_instance
from dataenvgym.errors import InvalidInstanceError, UnparsableAnswerError
from dataenvgym.tasks.rows import SourceRow


def read(values, **options):
    return to_instance(SourceRow("train-7", "train.jsonl:7", values), MathOptions("x", **options))


def test_the_gold_answer_of_gsm8k_follows_the_last_hashes():
    answer = "#### is 4 signs\n48+24 = <<48+24=72>>72\n#### 1,072"
    instance = read({"question": " How many clips? ", "answer": answer}, name="gsm8k")
    assert (instance.id, instance.task) == ("train-7", "gsm8k")
    assert (instance.instruction, instance.answer) == ("How many clips?", "1,072")
    assert str(instance.data["solution"]).startswith("#### is 4 signs")
    assert instance.skill is None


def test_type_and_level_make_the_skill_of_a_row_of_math():
    half = "\\frac{1}{2}"
    boxes = f"First $\\boxed{{3}}$, no: $\\boxed{{{half}}}$."
    for values, *expected in (
        ({"solution": boxes, "type": "A", "level": "Level 3"}, half, "A (Level 3)", "A"),
        ({"answer": "42", "subject": "B", "level": 2}, "42", "B (Level 2)", "B"),
        ({"solution": "\\boxed{1}"}, "1", None, None),
    ):
        instance = read({"problem": "Find $x$."} | values)
        assert [instance.answer, instance.skill, instance.category] == expected


MARKED = ("72", 72, " 72 ", "3 * 24 = 72. So:\n#### 72", "#### 72", "It is $\\boxed{72}$, or so.")


@pytest.mark.parametrize("answer", ["answer", "expected_answer", "solution"])
@pytest.mark.parametrize("question", ["problem", "question"])
def test_a_plain_row_loads_however_its_fields_are_called(question, answer):
    for text in MARKED:
        values = {question: "3 * 24?", answer: text}
        instance = read(values)
        assert (instance.instruction, instance.answer) == ("3 * 24?", "72"), text
        assert instance.data == ({} if str(text).strip() == "72" else {"solution": text}), text
        assert read(values, question_field=question, answer_field=answer) == instance


def test_the_first_field_with_an_answer_counts_and_the_solution_is_kept():
    for values, expected in (
        ({"answer": "", "solution": "\\boxed{72}"}, "72"),
        ({"answer": None, "expected_answer": 7}, "7"),
        ({"answer": "7", "expected_answer": "8", "solution": "We count."}, "7"),
        ({"answer": "Long talk. It is so.", "expected_answer": "8"}, "8"),
        ({"answer": "the United States of America"}, "the United States of America"),
        ({"expected_answer": "The answer is 5."}, "5"),
        ({"answer": "3 + 4 is 7. So the final answer is **$7$**."}, "7"),
        ({"solution": "**Answer:** (1, 2)"}, "(1, 2)"),
    ):
        assert read({"problem": "?"} | values).answer == expected
    kept = read({"problem": "?", "answer": "7", "solution": "We count."})
    assert kept.data == {"solution": "We count."}


@pytest.mark.parametrize(
    "values",
    [
        {"question": "?", "answer": "so it is\n####  "},
        {"question": "?", "answer": "3 + 4 is 7. So she has 7 euros."},
        {"question": "?", "expected_answer": "3 + 4\nis 7, so 7", "solution": "First we add both."},
        {"problem": "?", "solution": "The answer is 7. No, the answer is 8."},
        {"problem": "?", "solution": "The answer is wrong. She has 7 euros."},
        {"problem": "?", "solution": "The answer to this is not 7."},
        {"problem": "?", "solution": "The answer is that she has 7 of them."},
        {"problem": "?", "prompt": "?", "solution": "We see that it is more."},
        {"problem": "?", "solution": "\\boxed{72"},
        {"problem": "?", "solution": "", "answer": " "},
    ],
)
def test_a_solution_without_a_final_answer_is_refused_naming_the_line(values):
    with pytest.raises(UnparsableAnswerError, match=r"jsonl:7.*no final"):
        read(values)


def test_a_row_keeps_its_own_id():
    for id, kept in (("a-1", "a-1"), (0, "0"), (None, "train-7"), ("", "train-7")):
        assert read({"id": id, "problem": "?", "answer": "7"}).id == kept


def test_a_repeated_id_is_refused_with_both_places(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(f'{{"id": "a", "problem": "{n}?", "answer": "{n}"}}\n' for n in "12"))
    with pytest.raises(InvalidInstanceError, match=r"jsonl:2.*jsonl:1"):
        list(MathTask(path).whole().instances)


def test_fields_of_no_known_format_or_of_another_type_are_refused():
    plain = {"question": "?", "answer": "#### 1"}
    for values, options, reason in (
        ({"prompt": "?"}, {}, r"train\.jsonl:7: the fields are prompt"),
        (plain | {"answer": [72]}, {}, r"field 'answer': found list .72., expected text"),
        (plain, {"format": "math"}, "are question, answer, expected problem;"),
        (plain, {"question_field": "q", "answer_field": "a"}, r"expected q; .* task\.answer_field"),
    ):
        with pytest.raises(InvalidInstanceError, match=reason):
            read(values, **options)
