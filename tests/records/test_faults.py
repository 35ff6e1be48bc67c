"""Whose fault it is that an instance was not solved, in records, reports and files."""

import pytest
from pydantic import ValidationError

from dataenvgym.environments.iterations import IterationResult
from dataenvgym.records import CompletedTaskInstance, TaskInstance
from dataenvgym.records.instances import count_faults, fault_of
from dataenvgym.runs.episodes.summary import IterationSummary
from dataenvgym.runs.texts import by_fault
from dataenvgym.tasks.domain import report_on
from dataenvgym.tasks.metrics.samples import Sample

INSTANCE = TaskInstance(id="i", task="t", instruction="?")


def completed(error=None, fault=None, *, right=False):
    done = {"instance": INSTANCE, "transcript": (), "reward": float(right), "was_correct": right}
    return CompletedTaskInstance(**done, error=error, fault=fault)


MIXED = [
    completed(right=True),
    completed(),
    completed(),
    completed("user: the reply is empty", "user"),
    completed("user: ConnectionError: refused", "infrastructure"),
    completed("user: HTTP 503", "user"),
]


def test_each_instance_that_is_not_solved_has_one_fault():
    assert [fault_of(c) for c in MIXED[:3]] == [None, "student", "student"]
    assert fault_of(completed("user: HTTP 503")) == "infrastructure"
    with pytest.raises(ValidationError, match="fault"):
        completed(fault="user")


def test_reports_count_errors_by_fault_and_failures_with_the_students():
    report = report_on("t", MIXED)
    assert (report.n, report.n_errors) == (6, 3)
    assert report.faults == {"infrastructure": 1, "user": 2} == count_faults(MIXED)
    assert report.failures == {"student": 2, "infrastructure": 1, "user": 2}
    assert report.skills[0].faults == report.faults
    assert by_fault(report.n_errors, report.faults) == "3 (1 infrastructure, 2 user)"
    view = IterationSummary.of(IterationResult(iteration=0, report=report))
    assert view.faults == report.faults
    for record in (view, report, *MIXED):
        assert type(record).model_validate_json(record.model_dump_json()) == record


def test_files_without_faults_have_no_trace_of_them():
    report = report_on("t", MIXED[:3])
    view = IterationSummary.of(IterationResult(iteration=0, report=report))
    for record in (MIXED[1], report, view):
        assert "fault" not in record.model_dump_json()
    sample = {"instance_id": "i", "sample": 0, "seed": 0, "transcript": ()}
    assert "fault" not in Sample(**sample, reward=0.0, was_correct=False).model_dump_json()
    assert by_fault(0, {}) == "0"
