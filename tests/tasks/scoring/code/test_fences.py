import pytest

from dataenvgym.tasks.scoring.code.replies import Fence, fences_in


def fences(text):
    return fences_in(text)[0]


def test_a_fence_has_its_language_its_code_and_whether_it_was_closed():
    text = "a\n```Python 3\nx\n```\nb\n~~~\ny\n\n~~~~\nc\n```js\nz"
    found, around = fences_in(text)
    assert found == [
        Fence(language="python", code="x\n", is_complete=True),
        Fence(language="", code="y\n\n", is_complete=True),
        Fence(language="js", code="z\n", is_complete=False),
    ]
    assert around == "a\nb\nc"


def test_fewer_marks_or_other_ones_do_not_close_a_fence():
    assert fences("````\n```\n~~~~\nx\n`````") == [Fence("", "```\n~~~~\nx\n", is_complete=True)]


def test_the_margin_of_the_opening_marks_is_taken_off():
    assert fences("  ```\n  x\n    y\nz\n  ```") == [Fence("", "x\n  y\nz\n", is_complete=True)]


def test_a_fence_with_nothing_in_it_counts_only_if_it_was_closed():
    assert fences("```\n\n") == []
    assert fences("```\n```") == [Fence("", "", is_complete=True)]


@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_deeper_marks_in_a_string_are_code_and_others_are_not(quotes):
    code = f"x = {quotes}\n  ```\n  {quotes}\n"
    assert fences(f"```\n{code}```") == [Fence("", code, is_complete=True)]
    assert fences(f"```\nx = {quotes}\n```") == [Fence("", f"x = {quotes}\n", is_complete=True)]
    assert fences("```\nx\n  ```") == [Fence("", "x\n", is_complete=True)]
    docstring = f"def f():\n  {quotes}It.\n  ```\n  1\n  ```\n  {quotes}\n"
    assert fences_in(docstring) == ([], docstring)


def test_marks_that_name_python_begin_a_new_fence_unless_they_are_deeper():
    first, second = fences("```\nwords\n```python\nx\n```")
    assert (first.code, first.is_complete) == ("words\n", False)
    assert (second.code, second.is_complete) == ("x\n", True)
    assert len(fences("```\nwords\n  ```python\nx\n```")) == 1
    assert len(fences("```\nwords\n```js\nx\n```")) == 1
    (inner,) = fences("````md\n```python\nx\n```\n````")
    assert inner == Fence("python", "x\n", is_complete=True)


def test_marks_behind_a_line_of_code_close_the_fence():
    assert fences("```\nx```\ny") == [Fence("", "x\n", is_complete=True)]
    assert fences("```\n# ```x```\n```") == [Fence("", "# ```x```\n", is_complete=True)]
