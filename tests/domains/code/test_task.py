import json
import pickle

import pytest

from dataenvgym.domains.code.task import CodeTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import build_task, compose
from dataenvgym.sandbox import Limits
from dataenvgym.tasks.metrics import EvaluationFiles, draw_samples
from tests.domains.code.problems import Broken
from tests.fakes import Knowing, Student

pytestmark = pytest.mark.usefixtures("bubblewrap")  # which skips where there is none


HALVES = {"train": 0.5, "test": 0.5}


def write(path, n):
    rows = [
        {
            "instruction": f"Schreibe f, das {k} addiert, zum {k}. Mal.",
            "entry_point": "f",
            "tests": [[[1], {}, 1 + k]],
            "solution": f"def f(x):\n    return x + {k}\n",
        }
        for k in range(n)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def solver(task, says="{}"):
    """Answers with the gold solution, or with a given text."""
    return Knowing({i.instruction: i.answer for i in task.instances}, says)


def test_one_sandbox_serves_all_splits_of_a_task(tmp_path):
    opened = []

    def box(*, workers):
        opened.append(workers)
        return Broken(workers=workers)

    task = CodeTask(write(tmp_path / "p.jsonl", 12), sandbox=box, workers=3, fractions=HALVES)
    for part in (task.on("train"), task.on("test")):
        assert all("gone" in c.error for c in part.evaluate(solver(part)))
    assert opened == [3]


@pytest.mark.slow
def test_a_pickled_task_judges_in_a_sandbox_of_its_own(tmp_path):
    task = CodeTask({"test": write(tmp_path / "p.jsonl", 2)}, split="test", max_turns=2)
    before = task.evaluate(solver(task))
    again = pickle.loads(pickle.dumps(task))
    assert again.evaluate(solver(again)) == before
    assert again.domain.sandbox.box() is not task.domain.sandbox.box()
    task.close()
    again.close()


def test_a_backend_that_cannot_work_is_reported_before_any_request(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    path = write(tmp_path / "p.jsonl", 2)
    task = CodeTask({"test": path}, split="test")
    never = Student(lambda question, sampling: pytest.fail("asked"))
    for again in range(2):
        with pytest.raises(ConfigurationError, match="apt-get"):
            task.evaluate(never)
        with pytest.raises(ConfigurationError, match="apt-get"):
            draw_samples(
                EvaluationFiles(tmp_path / f"{again}", chunk=2), task, never, task.instances, 1
            )


def test_code_may_import_installed_packages_only_if_that_is_asked_for(bubblewrap):
    for packages in (False, True):
        task = build_task(compose(["task=pocket_code", f"task.packages={packages}"]))
        result = task.domain.sandbox.box().run("import numpy", limits=Limits(seconds=60))
        task.close()
        assert (result.status == "ok") is packages


def test_impossible_options_are_refused_when_the_task_is_made(tmp_path):
    with pytest.raises(ConfigurationError, match="docker"):
        CodeTask(tmp_path / "p.jsonl", sandbox="docker")
    with pytest.raises(ValueError, match="memory"):
        CodeTask(tmp_path / "p.jsonl", limits={"memory": 2**62})


@pytest.mark.parametrize(
    "name", ["code_jsonl", "apps", "livecodebench", "mbpp", "mbpp_plus", "humaneval_plus"]
)
def test_the_configurations_make_tasks(name, tmp_path):
    path = write(tmp_path / "p.jsonl", 1)
    own = (f"task={name}", f"task.sources={path}", "task.format=own", "task.limits.seconds=7")
    task = build_task(compose([*own, "task.max_turns=3"]))
    assert task.domain.limits.seconds == 7
    assert "Schreibe f" in task.on("train").make_environment().reset()[0][-1].content


def test_humaneval_goes_through_the_task_with_fenced_bare_and_body_only_answers(humaneval):
    task = build_task(compose(["task=humaneval", "task.limit=15"]))
    answers = {i.instruction: i.answer for i in task.instances}

    def student(form):
        def say(question, sampling):
            text = question.partition("```python\n")[2][: -len("\n```")]
            return form(text, answers[text])

        return Student(say)

    forms = {
        "fenced": lambda prompt, answer: f"Hier:\n\n```python\n{answer}```\nFertig.",
        "bare": lambda prompt, answer: answer,
        "body": lambda prompt, answer: answer[len(prompt) :],
        "empty": lambda prompt, answer: f"```python\n{prompt}    pass\n```",
    }
    accuracies = {
        name: task.generate_performance_report(task.evaluate(student(form))).accuracy
        for name, form in forms.items()
    }
    task.close()
    assert accuracies == {"fenced": 1.0, "bare": 1.0, "body": 1.0, "empty": 0.0}


@pytest.mark.parametrize("given", [45, 3**45, -(2**70)])
def test_tests_with_long_integers_are_exact(tmp_path, given):
    tests = [[[given], {}, given + 2**70], [[[given]], {}, [given]]]
    row = {"instruction": "f", "entry_point": "f", "hidden": tests}
    (tmp_path / "p.jsonl").write_text(json.dumps(row))
    task = CodeTask({"test": tmp_path / "p.jsonl"}, split="test")
    for more, is_right in ((0, True), (1, False)):
        code = f"def f(x):\n    return x if type(x) is list else x + 2**70 + {more}"
        (completed,) = task.evaluate(Student(f"```python\n{code}\n```"))
        assert (completed.was_correct, completed.error) == (is_right, None)
    task.close()
