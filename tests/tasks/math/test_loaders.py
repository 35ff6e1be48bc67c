import pytest

from dataenvgym.errors import ConfigurationError, InvalidInstanceError, UnparsableAnswerError
from dataenvgym.tasks.math.loaders import to_instance
from dataenvgym.tasks.rows import SourceRow


def row(**values):
    return SourceRow("train-7", "train.jsonl:7", values)


def test_the_gold_answer_of_gsm8k_follows_the_last_hashes():
    instance = to_instance(
        row(
            question=" How many clips? ",
            answer="#### is 4 signs\n48+24 = <<48+24=72>>72\n#### 1,072",
        ),
        task="gsm8k",
    )
    assert (instance.id, instance.task) == ("train-7", "gsm8k")
    assert (instance.instruction, instance.answer) == ("How many clips?", "1,072")
    assert str(instance.data["solution"]).startswith("#### is 4 signs")
    assert instance.skill is None


def test_the_gold_answer_of_math_is_the_last_box_and_its_type_and_level_make_the_skill():
    instance = to_instance(
        row(
            problem="Find $x$.",
            solution="First $\\boxed{3}$, no: $\\boxed{\\frac{1}{\\sqrt{2}}}$.",
            type="Algebra",
            level="Level 3",
        ),
        task="math",
    )
    assert instance.answer == "\\frac{1}{\\sqrt{2}}"
    assert (instance.skill, instance.category) == ("Algebra (Level 3)", "Algebra")


def test_an_answer_field_and_a_subject_are_read_as_well():
    instance = to_instance(
        row(problem="?", solution="no box", answer="42", subject="Geometry", level=2), task="math"
    )
    assert instance.answer == "42"
    assert (instance.skill, instance.category) == ("Geometry (Level 2)", "Geometry")


def test_a_row_without_type_has_no_skill():
    instance = to_instance(row(problem="?", solution="\\boxed{1}"), task="math")
    assert (instance.skill, instance.category) == (None, None)


@pytest.mark.parametrize(
    "values",
    [
        {"question": "?", "answer": "72"},
        {"question": "?", "answer": "so it is\n####  "},
        {"problem": "?", "solution": "The answer is 72."},
        {"problem": "?", "solution": "\\boxed{72"},
        {"problem": "?", "solution": "\\boxed{72}", "answer": ""},
    ],
)
def test_a_solution_without_a_final_answer_is_refused_naming_the_line(values):
    with pytest.raises(UnparsableAnswerError, match=r"train\.jsonl:7: the .* has no final answer"):
        to_instance(row(**values), task="math")


def test_fields_of_no_known_format_or_of_another_type_are_refused():
    with pytest.raises(InvalidInstanceError, match=r"train\.jsonl:7: the fields are prompt"):
        to_instance(row(prompt="?"), task="math")
    with pytest.raises(InvalidInstanceError, match="field 'answer': found int 72, expected text"):
        to_instance(row(question="?", answer=72), task="math")
    with pytest.raises(InvalidInstanceError, match="field 'solution': found nothing"):
        to_instance(row(question="?", answer="#### 1"), task="math", format="math")
    with pytest.raises(ConfigurationError, match="Did you mean 'gsm8k'"):
        to_instance(row(question="?", answer="#### 1"), task="math", format="gsm")
