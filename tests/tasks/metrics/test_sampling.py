"""Drawing samples: seeds, files, and resuming with existing samples."""

import re
import types

import pytest

from dataenvgym.errors import (
    ConfigurationError,
    EvaluationError,
    InvalidInstanceError,
    RunDirectoryError,
)
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import PerformanceReport
from dataenvgym.tasks.adapted_task import task_of
from dataenvgym.tasks.metrics import EvaluationFiles, draw_samples
from dataenvgym.tasks.metrics.metric import parse_metrics
from dataenvgym.tasks.metrics.results import completed_of, sum_up
from dataenvgym.tasks.metrics.sampling import check_samples, instances_of


def contents(files: EvaluationFiles) -> dict[str, bytes]:
    """Every file with its content, without the seconds."""
    paths = (p for p in sorted(files.directory.rglob("*")) if p.is_file())
    return {str(p): re.sub(rb'"seconds": [\d.e-]+', b"", p.read_bytes()) for p in paths}


def test_every_sample_is_written_by_seed_and_chunk(task, guesser, tmp_path):
    files = EvaluationFiles(tmp_path, chunk=2)
    draw_samples(files, task, guesser(), task.instances, 3)
    names = sorted(p.name for p in (tmp_path / "samples").glob("*.jsonl"))
    assert names == [f"{s:03d}-{c:04d}.jsonl" for s in range(3) for c in range(3)]
    samples = list(files.read_samples(3))
    assert [(s.sample, s.instance_id) for s in samples] == [
        (i, instance.id) for i in range(3) for instance in task.instances
    ]
    assert len({s.seed for s in samples}) == 3
    assert len({tuple(s.transcript for s in samples if s.sample == i) for i in range(3)}) == 3
    assert completed_of(files, 1) == task.evaluate(guesser())


def test_existing_samples_are_not_drawn_again_and_more_samples_extend_them(task, guesser, tmp_path):
    files, student = EvaluationFiles(tmp_path / "a", chunk=2), guesser()
    draw_samples(files, task, student, task.instances, 2)
    asked, before = student.asked, contents(files)
    draw_samples(files, task, student, task.instances, 2)
    assert (student.asked, contents(files), files.count_complete()) == (asked, before, 2)
    files.part(1, 1).unlink()
    assert files.count_complete() == 1
    with pytest.raises(RunDirectoryError, match=r"001-0001.jsonl is missing"):
        list(files.read_samples(2))
    draw_samples(files, task, student, task.instances, 3)
    del before[next(path for path in before if path.endswith("samples/files.json"))]
    assert before.items() < contents(files).items()
    at_once = EvaluationFiles(tmp_path / "b", chunk=2)
    draw_samples(at_once, task, guesser(), task.instances, 3)
    assert [*contents(files).values()] == [*contents(at_once).values()]


def test_failed_calls_are_kept_apart_and_drawn_again_when_asked_for(task, guesser, tmp_path):
    files = EvaluationFiles(tmp_path, chunk=5)
    draw_samples(files, task, guesser(lambda asked: asked == 2), task.instances, 2)
    failed = [s for s in files.read_samples(2) if s.error is not None]
    assert [(s.sample, s.error, s.answer_class) for s in failed] == [(0, "the line is dead", None)]
    (error_rate,) = sum_up(files, task, parse_metrics(["error_rate"], 2), 2).metrics
    assert error_rate.value == pytest.approx(1 / 10)

    student = guesser()
    draw_samples(files, task, student, task.instances, 2)
    assert student.asked == 0
    draw_samples(files, task, student, task.instances, 2, retry_errors=True)
    assert 1 <= student.asked <= 2  # the one that failed, of two turns at most
    whole = EvaluationFiles(tmp_path / "whole", chunk=5)
    draw_samples(whole, task, guesser(), task.instances, 2)
    assert list(files.read_samples(2)) == list(whole.read_samples(2))


def test_several_greedy_answers_are_refused(guess_task):
    task = guess_task(sampling=SamplingParameters())
    with pytest.raises(ConfigurationError, match="greedy"):
        check_samples(task, 2)
    check_samples(task, 1)


def namespace(**fields):
    return task_of(types.SimpleNamespace(**fields))


class Whole:
    """A task that is evaluated as a whole, as the protocol wants it and no more."""

    def __init__(self, task):
        self.task = task

    def evaluate(self, predictor):
        return self.task.evaluate(predictor)

    def generate_performance_report(self, completed):
        return PerformanceReport(task="whole", score=0.5, accuracy=0.5, n=5, n_errors=0)


def test_a_task_that_offers_no_problems_is_evaluated_once(task, guesser, tmp_path):
    files = EvaluationFiles(tmp_path, chunk=None)
    draw_samples(files, task_of(Whole(task)), guesser(), None, 1)
    assert completed_of(files, 1) == task.evaluate(guesser())
    results = sum_up(files, task_of(Whole(task)), parse_metrics(None, 1), 1)
    assert results.metrics[0].n == 5


def test_a_whole_task_with_a_chunk_size_is_written_in_as_many_files(task, guesser, tmp_path):
    files, student = EvaluationFiles(tmp_path, chunk=2), guesser(lambda asked: asked == 3)
    draw_samples(files, task_of(Whole(task)), student, None, 1)
    assert files.has(1)
    assert len(list((tmp_path / "samples").glob("*.jsonl"))) == 3
    assert len(completed_of(files, 1)) == 5
    asked = student.asked
    draw_samples(files, task_of(Whole(task)), student, None, 1)
    assert student.asked == asked
    assert [s.error is None for s in files.read_part(0, 0, task.instances[:2])] == [True, True]
    again = guesser()  # the failed sample is not in the first file
    draw_samples(files, task_of(Whole(task)), again, None, 1, retry_errors=True)
    assert again.asked > 0
    assert completed_of(files, 1) == task.evaluate(guesser())


def test_a_task_with_only_the_methods_for_sampling_is_sampled(task, guesser, tmp_path):
    has = ("sampling", "chunk_size", "threads", "make_environment", "evaluate", "instances")
    own = namespace(**{name: getattr(task, name) for name in has})
    files = EvaluationFiles(tmp_path, chunk=2)
    draw_samples(files, own, guesser(), instances_of(own, 3), 3)
    assert files.count_complete() == 3
    assert len(instances_of(own, 3, limit=2)) == 2
    del own.inner.instances
    assert instances_of(own, 1) is None
    for refused in ({"samples": 3}, {"samples": 1, "limit": 2}):
        with pytest.raises(ConfigurationError, match="instances"):
            instances_of(own, **refused)


@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0], lines[1][:-9]],
        lambda lines: lines[:1],
        lambda lines: lines[::-1],
        lambda lines: [*lines, lines[0]],
    ],
)
def test_a_damaged_file_is_named_with_the_way_out(task, guesser, tmp_path, damage, is_marked):
    files = EvaluationFiles(tmp_path, chunk=2)
    draw_samples(files, task, guesser(), task.instances, 2)
    before = contents(files)
    part = files.part(1, 1)
    part.write_text("\n".join(damage(part.read_text().splitlines())) + "\n")
    if not is_marked:  # as after a kill
        (part.parent / "files.json").unlink()
    for read in (
        lambda: list(files.read_samples(2)),
        lambda: draw_samples(files, task, guesser(), task.instances, 2),
    ):
        with pytest.raises(RunDirectoryError, match=r"001-0001.jsonl.*remove"):
            read()
    part.unlink()
    draw_samples(files, task, guesser(), task.instances, 2)
    assert contents(files) == before


def test_an_evaluation_that_has_samples_refuses_other_problems(task, guesser, tmp_path):
    files, student = EvaluationFiles(tmp_path, chunk=2), guesser()
    files.write_instances(task.instances[:2])
    draw_samples(files, task, student, task.instances, 1)
    assert [s.instance_id for s in files.read_samples(1)] == [i.id for i in task.instances]
    asked, before = student.asked, contents(files)
    with pytest.raises(RunDirectoryError, match="2 problems"):
        draw_samples(files, task, student, task.instances[:2], 2)
    assert (student.asked, contents(files)) == (asked, before)


def test_an_empty_list_of_problems_is_damage_and_not_an_end(task, guesser, tmp_path):
    files = EvaluationFiles(tmp_path, chunk=2)
    draw_samples(files, task, guesser(), task.instances, 1)
    (tmp_path / "instances.jsonl").write_text("")
    for look in (files.count_complete, lambda: files.has(1), lambda: list(files.read_samples(1))):
        with pytest.raises(RunDirectoryError, match=r"instances.jsonl is"):
            look()


def test_a_task_without_problems_is_refused(guess_task, guesser, tmp_path):
    whole = namespace(name="whole", evaluate=lambda predictor: [])
    with pytest.raises(EvaluationError, match="evaluated no"):
        draw_samples(EvaluationFiles(tmp_path, chunk=2), whole, guesser(), None, 1)


def test_two_problems_of_one_id_are_refused(guess_task, guesser, tmp_path):
    whole = namespace(name="whole", evaluate=lambda student: 2 * guess_task(1).evaluate(student))
    files = EvaluationFiles(tmp_path, chunk=2)
    with pytest.raises(InvalidInstanceError, match="two instances"):
        draw_samples(files, whole, guesser(), None, 1)
    assert not files.is_begun
