"""Code in the middle of an answer."""

import pytest
from pydantic import ValidationError

from dataenvgym.domains.math.code_runs import CodeRuns
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.domains.math.task import MathTask
from dataenvgym.records import TaskInstance
from dataenvgym.sandbox import Limits
from dataenvgym.sandbox.opening import SharedSandbox
from tests.fakes import Student

SUM = TaskInstance(id="sum", task="t", instruction="What is the sum of 1 to 100?", answer="5050")


@pytest.fixture(scope="module")
def sandbox():
    shared = SharedSandbox(workers=1, options={"packages": True})
    yield shared
    shared.close()


@pytest.fixture
def said(sandbox):
    """What each message of an answer gets back; the last of them is graded."""

    def play(*messages, **options):
        environment = MathEnvironment(code=CodeRuns(**options), sandbox=sandbox)
        environment.reset(options={"instance": SUM})
        outputs = []
        for message in messages:
            conversation, reward, done, _, info = environment.step(message)
            if done:
                return outputs, reward, info["scores"]["code_runs"]
            outputs.append(conversation[-1].content)
        return outputs

    return play


def test_the_student_goes_on_with_the_output_and_its_names_stay_defined(said):
    outputs, reward, runs = said(
        "First the numbers. <code>\nnumbers = list(range(1, 101))\nprint(len(numbers))",
        "<code>sum(numbers)</code>\n",
        "#### 5050",
    )
    assert outputs == ["```output\n100\n```", "```output\n5050\n```"]
    assert (reward, runs) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("x = (", "SyntaxError: '(' was never closed"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("", "(no output)"),
        ("x = 5", "(no output)"),
        ("None", "(no output)"),
        ("```python\n6 * 7\n```", "42"),
        ("import sympy; sympy.Rational(1, 3) + sympy.Rational(1, 6)", "1/2"),
    ],
)
def test_any_code_has_an_output_in_place_of_a_failure(said, code, output):
    (text,) = said(f"<code>{code}")
    assert text.removesuffix("\n```").split("\n")[-1] == output


def test_an_error_does_not_end_the_session_and_shows_only_the_students_own_code(said):
    outputs = said("<code>x = 2\n1 / 0", "<code>x + 1")
    assert "blocks" not in outputs[0]
    assert 'File "code", line 2' in outputs[0]
    assert outputs[1] == "```output\n3\n```"


def test_code_that_was_ended_is_not_run_again(said):
    ended, seven = said("<code>while True: pass", "<code>7", limits=Limits(seconds=1))
    assert "The code was ended: it took more than 1 s." in ended
    assert seven == "```output\n7\n```"


def test_chance_repeats_itself_when_earlier_code_is_run_again(said):
    once, again = said("<code>import random\nx = random.random()\nx", "<code>x")
    assert once == again


def test_a_long_output_is_cut_with_the_number_of_characters_that_are_missing(said):
    (text,) = said("<code>print('a' * 500)", output=100)
    assert text == f"```output\n{'a' * 100}\n(400 more characters)\n```"


def test_after_the_last_call_code_is_text(said):
    outputs, reward, runs = said("<code>1", "<code>2", "#### 5050\n<code>3", calls=2)
    assert "No more code is run" not in outputs[0]
    assert outputs[1].endswith("No more code is run: give the final answer now.")
    assert (reward, runs) == (1.0, 2.0)


def test_a_reply_that_goes_on_after_its_code_is_an_answer(said):
    text = "<code>print(1)</code>\n```output\n5050\n```\nSo it is #### 5050"
    assert said(text) == ([], 1.0, 0.0)


def test_the_texts_around_code_may_be_others(said):
    options = {"begin": "<<", "end": ">>"}
    assert said("<<1 + 1", **options) == ["```output\n2\n```"]
    assert said("<code>1 + 1", **options) == ([], 0.0, 0.0)


def test_a_task_runs_the_code_of_any_student_that_knows_stop_texts(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"problem": "What is 6 * 12?", "answer": "72"}\n')

    def say(text, sampling):
        assert sampling.stop == ("</code>",)
        if "output" in text:
            return f"#### {text.split()[1]}"
        return sampling.until_stop("<code>print(72)</code> It prints 5.")

    task = MathTask({"test": tmp_path / "p.jsonl"}, split="test", code={"calls": 2})
    (completed,) = task.evaluate(Student(say))
    task.close()
    assert completed.was_correct
    assert "between <code> and </code>" in completed.transcript[0].content
    assert completed.transcript[-2].content == "```output\n72\n```"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ({"calls": 0}, "calls"),
        ({"begin": "|", "end": "|"}, "begin and end are both '|'"),
        ({"tags": 3}, "tags"),
        ("yes", "CodeRuns"),
    ],
)
def test_an_option_that_cannot_be_is_named(code, message):
    with pytest.raises(ValidationError, match=message):
        MathTask("problems.jsonl", code=code)
