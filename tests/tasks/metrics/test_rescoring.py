"""Judging written samples again, without asking the student."""

import pytest

from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.storage import read_jsonl
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Task
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.metrics import EvaluationFiles, draw_samples, parse_metrics, rescore
from dataenvgym.tasks.metrics.rescoring import can_be_replayed, rescore_folder
from tests.fakes import Student


@pytest.fixture
def files(task, guesser, tmp_path):
    """Ten tries of two turns at most; the third call of the first try fails."""
    files = EvaluationFiles(tmp_path, chunk=3)
    draw_samples(files, task, guesser(lambda asked: asked == 3), task.instances, 10)
    return files


def again(task, files):
    samples = list(files.read_samples(10))
    instances = {i.id: i for i in task.instances}
    return samples, [r for r, _ in rescore(task, instances, samples)]


def test_the_same_task_judges_as_it_did_turn_by_turn(task, files):
    samples, rescored = again(task, files)
    assert any(len(s.transcript) == 4 for s in samples)
    assert any(s.was_correct for s in samples)
    assert [r.judgment for r in rescored] == [s.judgment for s in samples]
    assert not any(r.has_changed for r in rescored)
    (failed,) = [r for r in rescored if r.error is not None]  # there is nothing to judge
    assert (failed.error, failed.verdict) == ("the line is dead", "error")


def test_an_environment_draws_the_same_for_each_sample_as_when_it_was_drawn(task, tmp_path):
    class Drawing(type(task.make_environment())):
        def begin(self, instance):
            (first,) = super().begin(instance)
            number = self.np_random.integers(1000)
            return (first.model_copy(update={"content": f"{first.content} {number}"}),)

    task.make_environment = lambda: Drawing(task.instances)
    files = EvaluationFiles(tmp_path, chunk=3)
    draw_samples(files, task, Student(lambda text, sampling: "4"), task.instances, 3)
    samples = list(files.read_samples(3))
    assert len({sample.transcript[0].content for sample in samples}) > 10
    rescored = [r for r, _ in rescore(task, {i.id: i for i in task.instances}, samples)]
    assert [r.note for r in rescored] == [None] * len(samples)


def test_another_gold_answer_changes_the_verdicts_it_should(task, files):
    samples = list(files.read_samples(10))
    instances = {i.id: i.model_copy(update={"answer": "7"}) for i in task.instances}
    rescored = [r for r, _ in rescore(task, instances, samples)]
    for sample, r in zip(samples, rescored, strict=True):
        said = [m.content for m in sample.transcript if m.role == "assistant"]
        if r.error is None:
            assert r.was_correct == ("7" in said)
            assert r.before == sample.judgment
    assert {(r.before.verdict, r.verdict) for r in rescored if r.has_changed} >= {
        ("right", "wrong"), ("wrong", "right"),
    }  # fmt: skip


def test_calls_of_tools_are_said_again(task, tmp_path):
    class Calling(type(task.make_environment())):
        def begin(self, instance):
            (first,) = super().begin(instance)
            return (first.model_copy(update={"tools": (Tool(name="guess"),)}),)

        def respond(self, instance, conversation):
            (call,) = conversation[-1].tool_calls
            said = Message(role="assistant", content=str(call.arguments["n"]))
            return super().respond(instance, (*conversation[:-1], said))

    call = 'I guess. <tool_call>{"name":"guess","arguments":{"n":4}}</tool_call>\n'
    caller = Student(lambda text, sampling: call)
    task.make_environment = lambda: Calling(task.instances)
    files = EvaluationFiles(tmp_path, chunk=3)
    draw_samples(files, task, caller, task.instances, 1)
    samples = list(files.read_samples(1))
    assert samples[0].transcript[1].tool_calls == (ToolCall(name="guess", arguments={"n": 4}),)
    rescored = [r for r, _ in rescore(task, {i.id: i for i in task.instances}, samples)]
    assert [(r.judgment, r.note) for r in rescored] == [(s.judgment, None) for s in samples]


def test_a_note_says_where_the_environment_speaks_in_other_words(guess_task, files):
    task = guess_task(hint="It is {}.")
    samples, rescored = again(task, files)
    notes = {
        len(s.transcript): r.note for s, r in zip(samples, rescored, strict=True) if r.error is None
    }
    assert notes[2] is None
    assert notes[4] == ("replayed: message 3 (user) has changed since the sample was drawn")
    assert not any(r.has_changed for r in rescored)


def test_an_environment_that_ends_earlier_or_asks_for_more_says_so(guess_task, files):
    samples, rescored = again(guess_task(tries=1), files)
    longer = [r for s, r in zip(samples, rescored, strict=True) if len(s.transcript) == 4]
    assert all("ended it 1 of the student's messages earlier" in r.note for r in longer)
    assert not any(r.was_correct for r in longer)

    short = [
        s.model_copy(update={"transcript": s.transcript[:2]}) for s in samples if s.reward == 0
    ]
    task = guess_task()
    found = [r for r, _ in rescore(task, {i.id: i for i in task.instances}, short)]
    judged = [r for r in found if r.error != "the line is dead"]
    assert judged
    assert all("asks for one more answer" in r.error for r in judged)


def test_a_folder_gets_new_scores_beside_the_old_ones(task, files):
    metrics = parse_metrics(["pass@1", "majority@9"], 10)
    before = {p: p.read_bytes() for p in files.directory.rglob("*.jsonl")}
    (files.directory / "rescored-004-old").mkdir()  # other names do not count
    first = rescore_folder(files, task, metrics, 10)
    second = rescore_folder(files, task, metrics, 10, settings="task: guess\n")
    assert (first.directory.name, second.directory.name) == ("rescored-001", "rescored-002")
    assert (second.directory / "config.yaml").read_text() == "task: guess\n"
    assert first.before == first.after
    rows = list(read_jsonl(first.directory / "scores.jsonl"))
    assert len(rows) == 50
    assert {*rows[0]} == {
        "instance_id", "sample", "reward", "was_correct", "error", "note", "scores",
        "answer_class", "before",
    }  # fmt: skip
    assert {p: p.read_bytes() for p in before} == before


def test_problems_that_are_gone_are_judged_as_they_were(guess_task, files):
    outcome = rescore_folder(files, guess_task(3), parse_metrics(["pass@1"], 10), 10)
    assert outcome.n_gone == 2
    assert outcome.before == outcome.after


def test_a_task_without_environments_cannot_replay():
    class Whole:
        def evaluate(self, predictor): ...
        def generate_performance_report(self, completed): ...

    with pytest.raises(ConfigurationError, match="make_environment"):
        rescore(task_of(Whole()), {}, [])


def test_a_sample_whose_scorer_failed_is_judged_again(guess_task, guesser, tmp_path):
    class Broken(guess_task):
        def make_environment(self):
            environment = super().make_environment()
            environment.respond = lambda instance, conversation: 1 / 0
            return environment

    files = EvaluationFiles(tmp_path, chunk=3)
    draw_samples(files, Broken(tries=1), guesser(), Broken().instances, 2)
    assert all(s.error.startswith("environment:") for s in files.read_samples(2))
    by_judge = {"error": "judge: HTTP 503"}
    assert can_be_replayed(next(files.read_samples(2)).model_copy(update=by_judge))
    outcome = rescore_folder(files, guess_task(tries=1), parse_metrics(["error_rate"], 2), 2)
    assert {r.before.verdict for r in outcome.rescored} == {"error"}
    assert "error" not in {r.verdict for r in outcome.rescored}
    mended = EvaluationFiles(tmp_path / "mended", chunk=3)
    draw_samples(mended, guess_task(tries=1), guesser(), guess_task().instances, 2)
    assert [r.judgment for r in outcome.rescored] == [s.judgment for s in mended.read_samples(2)]


def test_where_only_the_failures_need_another_answer_no_metric_is_made_of_the_rest(
    guess_task, guesser, tmp_path
):
    files = EvaluationFiles(tmp_path, chunk=3)
    draw_samples(files, guess_task(tries=1), guesser(), guess_task().instances, 10)
    metrics = parse_metrics(["pass@1", "error_rate"], 10)
    outcome = rescore_folder(files, guess_task(tries=2), metrics, 10)
    failed = [r for r in outcome.rescored if not r.before.was_correct]
    assert failed
    assert [r.needs_student for r in outcome.rescored] == [r in failed for r in outcome.rescored]
    pass_at_1, error_rate = outcome.after.metrics
    assert (pass_at_1.value, outcome.after.report) == (None, None)
    assert error_rate.value == pytest.approx(len(failed) / 50)
    assert outcome.before.metrics[0].value == pytest.approx(1 - len(failed) / 50)


def test_a_task_that_cannot_judge_here_says_so_before_anything_is_written(guess_task, files):
    class Unready(MathDomain):
        def make_environment(self, instances=()):
            raise ConfigurationError("there is no sandbox")

    class Unjudged(Task):
        def load(self, split):
            return guess_task(split=split).instances

    with pytest.raises(ConfigurationError, match="no sandbox"):
        rescore_folder(files, Unjudged(domain=Unready()), parse_metrics(["pass@1"], 10), 10)
    assert not list(files.directory.glob("*rescored*"))


def test_turns_that_a_prompt_shows_are_not_said_again_as_the_students(task, tmp_path):
    class Shown(type(task.make_environment())):
        def begin(self, instance):
            shown = (Message(role="user", content="1 + 1?"), Message(role="assistant", content="2"))
            return (*shown, *super().begin(instance))

    task.make_environment = lambda: Shown(task.instances)
    files = EvaluationFiles(tmp_path, chunk=3)
    answers = {i.instruction: i.answer for i in task.instances}
    knower = ScriptedPredictor(lambda conversation: answers[conversation[2].content])
    draw_samples(files, task, knower, task.instances, 1)
    samples = list(files.read_samples(1))
    assert all(sample.was_correct for sample in samples)
    rescored = [r for r, _ in rescore(task, {i.id: i for i in task.instances}, samples)]
    assert [(r.judgment, r.note) for r in rescored] == [(s.judgment, None) for s in samples]
