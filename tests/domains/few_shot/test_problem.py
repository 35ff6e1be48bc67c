import pytest
from pydantic import ValidationError

from dataenvgym.domains.few_shot.problem import (
    FewShotProblem,
    Pair,
    key_of,
    read_grid,
    read_problem,
    skill_of,
)
from tests.domains.few_shot.puzzles import grid, problem


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "there is no grid"), ("0 1\n2", "row 2 has 1 cells"), ("[]", "the grid is empty"),
        ("0 10\n2 3", "a cell of row 1 is '10'"), ("[[0, 1], [2", "an array is not closed"),
        ("\n".join(["0"] * 31), "31 x 1"), ("0" * 31, "1 x 31"),
        ("9" * 5000 + " 1", "a cell of row 1"),
    ],
)  # fmt: skip
def test_a_malformed_grid_has_a_reason(reply, reason):
    found = read_grid(reply)
    assert isinstance(found, str)
    assert reason in found


def test_a_problem_is_read_back_from_its_text():
    one = problem()
    assert one.text.startswith("Input:\n")
    assert one.text.endswith("\nOutput:")
    assert one.text.count("Input:") == 4
    assert read_problem(one.text) == one
    assert read_problem(f"Find the rule.\n\n{one.text}") == one


@pytest.mark.parametrize("text", ["", "Input:\n1", "Input:\n1\nOutput:", "Input:\n1\nOutput:\n2"])
def test_other_texts_are_not_problems(text):
    assert read_problem(text) is None
    assert key_of(text) is None


def test_a_problem_with_a_malformed_grid_is_not_read():
    assert read_problem(problem().text.replace("Output:\n", "Output:\nx ", 1)) is None


def test_problems_with_the_same_demonstrations_have_one_key():
    one = problem()
    first, *others = one.demonstrations
    again = FewShotProblem(demonstrations=(*others, first), input=first.input)
    fewer = FewShotProblem(demonstrations=tuple(others), input=one.input)
    assert key_of(again.text) == key_of(one.text) != key_of(fewer.text)


@pytest.mark.parametrize("rows", [[], [[]], [[1], [1, 2]], [[10]], [[-1]], [[True]], [[1.0]]])
def test_data_that_are_not_a_grid_are_refused(rows):
    with pytest.raises(ValidationError):
        Pair(input=rows, output=[[1]])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("1 2", "3 4"), ("2 1", "4 3")], ("recolor", "same size")),
        ([("1 0", "1 1"), ("0 2", "2 2")], ("draw", "same size")),
        ([("1 1", "1 0"), ("1 2", "1 0")], ("erase", "same size")),
        ([("1 2", "2 1"), ("3 2", "2 3")], ("move", "same size")),
        ([("1 2", "3 4"), ("1 2", "4 4")], ("change", "same size")),
        ([("1 2", "2"), ("1 3", "3")], ("name a color", "smaller")),
        ([("0 0/1 2", "1 2")], ("crop", "smaller")),
        ([("0 0/1 2", "2 1")], ("extract", "smaller")),
        ([("1 2", "1 2/1 2")], ("multiply", "larger")),
        ([("1 2", "1 2 3")], ("extend", "larger")),
        ([("1 2", "1 2 3"), ("1 2", "1")], ("resize", "other sizes")),
    ],
)
def test_skills_are_read_off_the_demonstrations(pairs, expected):
    assert skill_of([Pair(input=grid(i), output=grid(o)) for i, o in pairs]) == expected


WRITTEN = (
    "4 7\n5 2", "4 7 \r\n5 2", "47\n52", "4, 7\n5,2", "[[4,7],[5,2]]", "[[4 7]\n [5 2]]",
    "[\n  [4, 7],\n  [5, 2]\n]", '["4 7", "5 2"]', '[["4", "7"], ["5", "2"]]',
    "Row 1: [4, 7]\nRow 2: [5, 2]", r"\begin{bmatrix}4 & 7 \\ 5 & 2\end{bmatrix}",
    "\\begin{array}{cc}\n4 & 7 \\\\\n5 & 2\n\\end{array}",
)  # fmt: skip
AROUND = (
    r"\boxed{%s}", "<answer>%s</answer>", "<output>\n%s\n</output>", "**%s**", "$$%s$$",
    "Output: %s", "**Output:**\n%s", "```\n%s\n```", "%s<|im_end|>",
    "Row 1 mirrors.\n\n%s\n\nThat is it.",
)  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("written", WRITTEN)
def test_a_grid_is_read_in_every_wrapper_and_no_other_grid_is(written, around):
    reply = "First: [[1, 2], [3, 4]]\n\n" + around % written
    assert read_grid(reply) == ((4, 7), (5, 2))
    assert read_grid(reply.replace("7", "8")) == ((4, 8), (5, 2))


@pytest.mark.parametrize(
    "reply",
    [
        '{"output": [[4,7],[5,2]]}', '{"output": "4 7\\n5 2"}', "array([[4, 7],\n       [5, 2]])",
        '```json\n{\n  "output": [\n    [4, 7],\n    [5, 2]\n  ]\n}\n```',
        "| 4 | 7 |\n|---|---|\n| 5 | 2 |", "So the output is [[4, 7], [5, 2]].",
    ],
)  # fmt: skip
def test_a_grid_is_read_in_json_and_in_a_sentence(reply):
    assert read_grid(reply) == ((4, 7), (5, 2))
