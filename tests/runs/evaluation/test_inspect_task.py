"""Benchmarks of inspect_ai: the same replies get the same scores as in inspect_ai itself."""

import importlib.util
import re
from types import SimpleNamespace

import pytest

from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.overrides import parse_overrides
from dataenvgym.runs.config.received import refuse_untrusted
from dataenvgym.runs.evaluation import run_evaluation
from dataenvgym.runs.evaluation.inspect_task import InspectTask, _instance
from dataenvgym.students.predictors import ScriptedPredictor

BENCHMARKS = '''
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import choice, f1, includes, match, scorer, Score, mean
from inspect_ai.solver import generate, multiple_choice, self_critique, system_message, use_tools
from inspect_ai.tool import tool


@task
def sums(n=20):
    samples = [
        Sample(input=f"What is {i} + {i}?", target=str(2 * i), metadata={"skill": f"s{i % 2}"})
        for i in range(n)
    ]
    return Task(
        dataset=MemoryDataset(samples),
        solver=[system_message("Be short."), generate()],
        scorer=[match(numeric=True), f1()],
        config=GenerateConfig(stop_seqs=["STOP"], max_tokens=7),
    )


@task
def choices():
    samples = [
        Sample(id=f"c{i}", input=f"Which is {i}?", choices=["0", "1", "2"], target="ABC"[i])
        for i in range(3)
    ]
    return Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())


@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: the first
            y: the second
        """
        return str(x + y)

    return execute


@task
def tools():
    samples = [Sample(input=f"Add {i} and 1.", target=str(i + 1)) for i in range(4)]
    return Task(dataset=MemoryDataset(samples), solver=[use_tools(add()), generate()],
                scorer=includes())


@task
def critique():
    samples = [Sample(input=f"Say {i}.", target=str(i)) for i in range(3)]
    return Task(dataset=MemoryDataset(samples), solver=[generate(), self_critique()],
                scorer=includes())
'''


@pytest.fixture
def benchmarks(tmp_path, monkeypatch):
    """An installed package with four benchmarks."""
    (tmp_path / "their_evals.py").write_text(BENCHMARKS)
    info = tmp_path / "their_evals-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-evals\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[inspect_ai]\ntheir_evals = their_evals\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    if importlib.util.find_spec("inspect_ai") is not None:  # installed, as far as it can see
        monkeypatch.setattr(
            "inspect_ai._util.package.package_path_is_in_site_packages", lambda path: True
        )
    return tmp_path


def said(conversation):
    """A reply to any of the problems: right for even numbers."""
    last = conversation[-1].content
    if conversation[-1].role == "tool":
        return f"It is {last}."
    numbers = [int(n) for n in re.findall(r"\d+", last)] or [0]
    if "Add" in last:
        return (
            f'<tool_call>{{"name": "add", "arguments": {{"x": {numbers[0]}, "y": 1}}}}</tool_call>'
        )
    if "Which is" in last:
        asked = int(re.search(r"Which is (\d)", last)[1])
        return f"ANSWER: {'ABC'[asked if asked != 1 else 0]}"
    return str(2 * numbers[0] if numbers[0] % 2 == 0 else 1)


def inspects_own(name, folder):
    """The scores that inspect_ai gives to the same replies, by sample, and its metrics."""
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import value_to_float

    from dataenvgym.records.tool_formats import read_reply
    from dataenvgym.runs.evaluation.inspect_task import _conversation

    def output(input, tools, tool_choice, config):
        conversation = _conversation(input, tools)
        message = read_reply(conversation, said(conversation)).message
        made = ModelOutput.from_content("mockllm/model", message.content)
        if message.tool_calls:
            call = message.tool_calls[0]
            made = ModelOutput.for_tool_call("mockllm/model", call.name, call.arguments)
        made.usage = ModelUsage()  # it would download a tokenizer to count
        return made

    model = get_model("mockllm/model", custom_outputs=output, memoize=False)
    (log,) = run(InspectTask(name).benchmark, model=model, log_dir=str(folder), display="none")
    assert log.status == "success", log.error
    to_float = value_to_float()
    scores = {
        str(s.id): [to_float(score.value) for score in s.scores.values()] for s in log.samples
    }
    return scores, log.results.scores[0].metrics["accuracy"].value


def test_a_sample_with_an_image_is_not_asked_without_it():
    parts = [SimpleNamespace(type="text", text="What is it?"), SimpleNamespace(type="image")]
    asked = [SimpleNamespace(content="Look.", text="Look."), SimpleNamespace(content=parts)]
    sample = SimpleNamespace(id=3, input=asked, target="a cat", metadata=None, choices=None)
    with pytest.raises(InvalidInstanceError, match="image"):
        _instance(sample, "their_evals/pictures")
    text_only = SimpleNamespace(**{**vars(sample), "input": asked[:1]})
    assert _instance(text_only, "t").instruction == "Look."


@pytest.mark.external
@pytest.mark.parametrize("name", ["sums", "choices", "tools", "critique"])
def test_the_scores_are_those_of_inspect_on_the_same_replies(name, benchmarks):
    pytest.importorskip("inspect_ai")
    task = InspectTask(f"their_evals/{name}")
    completed = task.evaluate(ScriptedPredictor(said))
    scores, accuracy = inspects_own(f"their_evals/{name}", benchmarks / "logs")
    assert [c.error for c in completed] == [None] * len(scores)
    assert {c.instance.id: c.reward for c in completed} == {id: s[0] for id, s in scores.items()}
    report = task.generate_performance_report(completed)
    assert report.score == pytest.approx(accuracy)
    assert 0.0 < accuracy < 1.0 or name == "tools"
    if name == "sums":
        assert [list(c.scores.values()) for c in completed] == list(scores.values())
        assert [skill.skill for skill in report.skills] == ["s0", "s1"]
    if name == "tools":
        roles = [message.role for message in completed[0].transcript]
        assert roles == ["user", "assistant", "tool", "assistant"]


@pytest.mark.external
def test_an_evaluation_is_drawn_in_parts_with_the_options_of_both(benchmarks, monkeypatch):
    pytest.importorskip("inspect_ai")
    asked = []

    class Student:
        def predict(self, conversations, sampling):
            asked.append(sampling)
            return [
                Failure(reason="away")
                if c[-1].content == "What is 3 + 3?"
                else Reply(text=said(c), prompt_tokens=9, completion_tokens=1)
                for c in conversations
            ]

    module = type(re)("inspect_students")
    module.Student = Student
    monkeypatch.setitem(__import__("sys").modules, "inspect_students", module)
    overrides = ["task=inspect", "task.name=their_evals/sums", "+task.arguments.n=7", "chunk=3",
                 "predictor=custom", "predictor._target_=inspect_students.Student", "samples=2",
                 "name=e"]  # fmt: skip
    evaluation = run_evaluation(overrides)
    assert sorted(p.name for p in (evaluation.directory / "samples").glob("*.jsonl")) == [
        f"{s:03d}-{c:04d}.jsonl" for s in range(2) for c in range(3)
    ]
    assert {(s.max_tokens, s.stop, s.temperature) for s in asked} == {(7, ("STOP",), 1.0)}
    assert len({s.seed for s in asked}) == 2
    assert (evaluation.report.n, evaluation.report.n_errors) == (14, 2)
    assert evaluation.usage.completion_tokens == 12
    assert "away" in evaluation.completed()[3].error
    assert run_evaluation(overrides).was_finished


@pytest.mark.external
def test_what_is_not_a_benchmark_is_refused(benchmarks):
    pytest.importorskip("inspect_ai")
    with pytest.raises(ConfigurationError, match="benchmark"):
        _ = InspectTask("their_evals/sum").instances
    with pytest.raises(ConfigurationError, match="sums"):
        _ = InspectTask("their_evals/sums", arguments={"m": 1}).instances
    with pytest.raises(ConfigurationError, match="has no environment"):
        InspectTask("their_evals/sums").make_environment()


def test_the_name_is_that_of_an_installed_package():
    with pytest.raises(ConfigurationError, match=r"expected PACKAGE/TASK"):
        InspectTask("my_tasks.py@mine")
    if importlib.util.find_spec("inspect_ai") is None:
        with pytest.raises(ConfigurationError, match=r"dataenvgym\[inspect\]"):
            _ = InspectTask("inspect_evals/gsm8k").instances


def test_a_received_folder_may_not_choose_a_benchmark(tmp_path):
    config = compose(["task=inspect", "task.name=their_evals/sums"], name="eval")
    with pytest.raises(ConfigurationError, match="sums"):
        refuse_untrusted(config, ["task"], tmp_path, [])
    refuse_untrusted(config, ["task"], tmp_path, parse_overrides(["task.name=their_evals/sums"]))
