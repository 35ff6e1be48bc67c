"""Judging written samples again, without asking the student."""

import pytest

from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.storage import read_jsonl
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


def test_what_an_environment_draws_and_shows_and_the_calls_of_the_student_come_again(
    task, tmp_path
):
    class Own(type(task.make_environment())):
        def begin(self, instance):
            asked = f"1 + {self.np_random.integers(1000)}?"
            first = Message(role="user", content=asked, tools=(Tool(name="guess"),))
            return (first, Message(role="assistant", content="2"), *super().begin(instance))

        def respond(self, instance, conversation):
            (call,) = conversation[-1].tool_calls
            said = Message(role="assistant", content=str(call.arguments["n"]))
            return super().respond(instance, (*conversation[2:-1], said))

    call = 'I guess. <tool_call>{"name":"guess","arguments":{"n":4}}</tool_call>\n'
    task.make_environment = lambda: Own(task.instances)
    files = EvaluationFiles(tmp_path, chunk=3)
    draw_samples(files, task, Student(lambda text, sampling: call), task.instances, 3)
    samples = list(files.read_samples(3))
    assert len({sample.transcript[0].content for sample in samples}) > 10
    assert samples[0].transcript[3].tool_calls == (ToolCall(name="guess", arguments={"n": 4}),)
    assert any(sample.was_correct for sample in samples)
    rescored = [r for r, _ in rescore(task, {i.id: i for i in task.instances}, samples)]
    assert [(r.judgment, r.note) for r in rescored] == [(s.judgment, None) for s in samples]


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


def test_a_note_says_where_the_environment_speaks_in_other_words(guess_task, files):
    samples, rescored = again(guess_task(hint="It is {}."), files)
    pairs = [(s, r) for s, r in zip(samples, rescored, strict=True) if r.error is None]
    notes = {len(s.transcript): r.note for s, r in pairs}
    assert (notes[2], "message 3 (user) has changed" in notes[4]) == (None, True)
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
    second = rescore_folder(files, type(task)(3), metrics, 10, settings="task: guess\n")
    assert (second.n_gone, second.before) == (2, second.after)  # judged as they were
    assert (first.directory.name, second.directory.name) == ("rescored-001", "rescored-002")
    assert (second.directory / "config.yaml").read_text() == "task: guess\n"
    assert first.before == first.after
    assert len(list(read_jsonl(first.directory / "scores.jsonl"))) == 50
    assert {p: p.read_bytes() for p in before} == before


def test_a_task_without_environments_cannot_replay():
    with pytest.raises(ConfigurationError, match="make_environment"):
        rescore(task_of(object()), {}, [])


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
