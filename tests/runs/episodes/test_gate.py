"""Runs with a gate: what users and agents see of a refused student, and resumed runs."""

import io

import pytest
from rich.console import Console

from dataenvgym.runs.documents import markdown
from dataenvgym.runs.episodes.display import EpisodeDisplay
from dataenvgym.runs.episodes.report import report
from dataenvgym.runs.episodes.run_files import RunFiles
from dataenvgym.runs.episodes.show import iteration_of
from tests.runs.episodes.echo import Student, Writer


class Harmed(Student):
    """Knows nothing after the training of iteration 2: nine records with the replayed ones."""

    def _reply(self, conversation):
        return "no idea" if self.records == 9 else super()._reply(conversation)


class Growing(Writer):
    """Writes 3, 4 and 5 records, and keeps what it sees of the gate."""

    seen: tuple = ()

    def __call__(self, completed, predictor):
        self.size = self.calls + 3
        self.seen = (*self.seen, predictor.refused)
        return super().__call__(completed, predictor)


@pytest.fixture
def gated(play):
    """Plays an episode whose second iteration is refused."""

    def run(directory, **options):
        return play(directory, student=Harmed(), gate=0.05, **{"agent": Growing(), **options})

    return run


def test_summary_report_and_display_name_the_refusal(gated, tmp_path):
    console = Console(file=io.StringIO(), width=200)
    summary = gated(tmp_path / "run", callbacks=[EpisodeDisplay(console)])
    assert [round(12 * one.val_score) for one in summary.iterations] == [2, 5, 5, 11]
    assert [one.refused is None for one in summary.iterations] == [True, True, False, True]
    assert summary.iterations[-1].n_records_total == 3 + 4 + 5
    lost = "lost 0.417 on all held problems (p = 0.031)"
    assert f"4 records, 1 dropped, refused: {lost}" in console.file.getvalue()
    text = markdown([*report(tmp_path / "run"), *iteration_of(tmp_path / "run", iteration=2)])
    assert f"| {lost} |" in text
    assert "1 iteration refused by the gate" in text
    assert f"the gate refused its student, which {lost}: the student before it gave" in text


def test_refused_records_are_not_exported(gated, tmp_path):
    gated(tmp_path / "run")
    exported = [record.provenance.iteration for record in RunFiles(tmp_path / "run").records()]
    assert exported == [1] * 3 + [3] * 5


def test_the_agent_sees_that_its_records_were_refused(gated, tmp_path):
    agent = Growing()
    gated(tmp_path / "run", agent=agent)
    assert agent.seen[:2] == (None, None)
    assert agent.seen[2].p == 0.5**5
