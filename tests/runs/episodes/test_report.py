import io

import pytest
from rich.console import Console

from dataenvgym.errors import RunDirectoryError, SpeakerError
from dataenvgym.runs.documents import show
from dataenvgym.runs.episodes.outcome import outcome
from dataenvgym.runs.episodes.report import gain_text, report, write_report
from dataenvgym.runs.episodes.summary import read_summary
from dataenvgym.storage import read_json
from dataenvgym.tasks import Outcome, TaskEnvironment, report_on
from dataenvgym.teachers.budget import TeacherUsage
from tests.runs.episodes.echo import EchoTask, Student, Writer, iteration, summary


def whole(run):
    """`report.md` without the timings."""
    return write_report(run).read_text().partition("## Timings")[0]


def on_terminal(run, *options, width=60):
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system=None,
        legacy_windows=False,
    )
    show(report(run, *options), console)
    return console.file.getvalue().replace(str(run), "RUN")


def test_the_report_of_a_run(finished_run, shown):
    shown("report_md.txt", whole(finished_run))
    assert (finished_run / "curve.png").read_bytes().startswith(b"\x89PNG")
    shown("report.txt", on_terminal(finished_run))


class Telling(EchoTask):
    """A reply without a digit gives no answer."""

    def generate_performance_report(self, completed):
        def has_answer(one):
            return any(map(str.isdigit, one.response))

        return report_on(self.name, completed, has_answer=has_answer)


def test_the_no_answer_rate_stands_beside_every_score(play, tmp_path, shown):
    play(tmp_path / "run", task=Telling(), test_each=True)
    shown("report_with_no_answers_md.txt", whole(tmp_path / "run").partition("## iteration")[0])
    summary = read_json(tmp_path / "run" / "summary.json")
    assert [round(one["no_answer_rate"], 3) for one in summary["iterations"]] == [
        *(0.833, 0.583, 0.25, 0.083)
    ]
    assert [*summary["test_no_answer_rates"]] == ["0", "1", "2", "3"]


def test_the_gain_has_its_standard_error_over_problems_and_its_noise_floor(finished_run):
    # of 12 test problems, 10 gained 1 and one lost 1: sd .622, / sqrt 12; times 1.96
    text = gain_text(finished_run)
    assert text == (
        "test gain +0.750 ± 0.179 (standard error over 12 problems); noise floor 0.352 (without "
        "the spread of seeds)"
    )
    assert text in write_report(finished_run).read_text()


def test_a_gain_within_the_noise_floor_is_called_that(finished_run):
    text = gain_text(finished_run, 0.16, "from a model")  # of seeds: .4
    assert "noise floor 0.859 (from a model): the gain is within the noise floor" in text
    assert text in on_terminal(finished_run, 0.16, "from a model", width=200)


def test_without_a_test_split_there_is_no_noise_floor(finished_run):
    for path in (finished_run / "test").iterdir():
        path.unlink()
    assert gain_text(finished_run) is None
    assert "noise floor" not in write_report(finished_run).read_text()


def test_apart_from_the_timings_the_same_run_makes_the_same_report(play, tmp_path):
    texts = []
    for name in ("a", "b"):
        play(tmp_path / name)
        texts.append(write_report(tmp_path / name).read_text().split("## Timings"))
    assert texts[0][0] == texts[1][0]
    assert len(texts[0]) == 2
    assert str(tmp_path) not in texts[0][0]
    assert (tmp_path / "a" / "curve.png").read_bytes() == (
        tmp_path / "b" / "curve.png"
    ).read_bytes()


def test_forgotten_skills_are_named(play, tmp_path):
    class Forgetting(Student):
        def _reply(self, conversation):
            reply = super()._reply(conversation)
            number = conversation[-1].content.split()[1].strip(",")
            return "?" if self.records and int(number) % 3 == 2 else reply

    play(tmp_path / "run", student=Forgetting())
    assert "forgot most: hum -0.250" in whole(tmp_path / "run")


def test_an_unfinished_run_has_a_report(play, tmp_path):
    class Failing(Writer):
        def __call__(self, completed, predictor):
            raise ValueError("no [idea]")

    with pytest.raises(ValueError, match="no"):
        play(tmp_path / "run", agent=Failing())
    assert r"ValueError: no \[idea\]" in whole(tmp_path / "run")


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"holds no summary\.json"):
        write_report(tmp_path)
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(RunDirectoryError, match="writes it"):
        write_report(tmp_path)


class TellingEnvironment(TaskEnvironment):
    """Also says how long an answer is; but not of the answers of whispering."""

    def respond(self, instance, conversation):
        said = conversation[-1].content
        scores = {} if instance.skill == "whisper" else {"length": float(len(said))}
        was_correct = said == instance.answer
        return Outcome(reward=float(was_correct), was_correct=was_correct, scores=scores)


def test_named_scores_are_in_summary_and_report(play, tmp_path, shown):
    class Telling(EchoTask):
        def make_environment(self):
            return TellingEnvironment()

    summary = play(tmp_path / "run", iterations=1, task=Telling())
    # a right answer has 3 characters, a wrong one 12: 7 and then 5 of 8 are wrong
    assert [one.named_scores for one in summary.iterations] == [
        {"length": 10.875},
        {"length": 8.625},
    ]
    shown("report_with_named_scores_md.txt", whole(tmp_path / "run").partition("## iteration")[0])
    read = read_summary(tmp_path / "run")
    assert read == summary


class RudeEnvironment(TellingEnvironment):
    """Its user fails where something is to be whispered."""

    def respond(self, instance, conversation):
        if instance.skill == "whisper":
            raise SpeakerError("user: it shouted")
        return super().respond(instance, conversation)


def test_errors_are_counted_by_fault_in_summary_and_report(play, tmp_path):
    class Rude(EchoTask):
        def make_environment(self):
            return RudeEnvironment()

    summary = play(tmp_path / "run", iterations=1, task=Rude())
    assert [(one.n_errors, one.faults) for one in summary.iterations] == [(4, {"user": 4})] * 2
    assert read_summary(tmp_path / "run") == summary
    assert '"faults"' in (tmp_path / "run" / "summary.json").read_text()
    assert "| 4 (4 user) |" in write_report(tmp_path / "run").read_text()
    assert "failed calls" in summary._repr_html_()
    assert "4 (4 user)" in summary._repr_html_()
    frame = pytest.importorskip("pandas") and summary.to_pandas()
    assert frame["faults.user"].tolist() == [4, 4]


def test_the_outcome_has_an_early_end_unasked_questions_and_unusable_answers():
    usage = TeacherUsage(requests=2, unasked=1, malformed=3)
    short = outcome(summary(iteration(0), teacher=usage))
    assert "budget left 1 question unasked" in short
    assert "3 answers of the teacher could not be used" in short
    plain = outcome(summary(iteration(0), teacher=TeacherUsage(requests=2)))
    assert "teacher" not in plain
    assert "ended" not in plain
    assert "it is spent" in outcome(summary(iteration(0), ended="it is spent"))
