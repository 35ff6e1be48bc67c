import gymnasium
import pytest

from dataenvgym.environments import SkillList
from dataenvgym.errors import ConfigurationError, EvaluationError, RunDirectoryError, TrainingError
from dataenvgym.events import counting, warn_run
from dataenvgym.interfaces import Failure
from dataenvgym.runs.episodes import EpisodeCallback, read_summary, run_episode
from dataenvgym.runs.episodes.report import write_report
from dataenvgym.storage import read_json, write_json
from dataenvgym.workspace import locked
from tests.run_contents import contents
from tests.runs.episodes.echo import EchoTask, Student, Writer


class Recorder(EpisodeCallback):
    def __init__(self):
        self.heard = []

    def on_start(self, plan):
        self.heard.append(("start", plan.n_finished))

    def on_phase(self, event, iteration, phase, seconds):
        if event == "begin":
            self.heard.append((iteration, phase))

    def on_iteration(self, summary):
        self.heard.append(("iteration", summary.iteration))

    def on_end(self, summary):
        self.heard.append(("end", summary.status))


def test_an_episode_teaches_and_sums_up(play, tmp_path):
    summary = play(tmp_path / "run")
    assert (summary.task, summary.agent, summary.seed) == ("echo", "writer", 0)
    assert summary.status == "finished"
    scores = [round(i.val_score * 12) for i in summary.iterations]
    assert scores == [2, 5, 9, 11]  # two of three replayed from the second iteration on
    assert [i.n_records for i in summary.iterations] == [0, 3, 3, 3]
    assert [i.dropped for i in summary.iterations] == [{}, {}, {"duplicate": 1}, {"duplicate": 1}]
    assert summary.best_iteration == 3
    assert (summary.test_score_before, summary.test_score_after) == (2 / 12, 11 / 12)
    assert set(summary.iterations[1].seconds) == {
        "agent", "check", "dataset", "train", "load", "generate", "score", "save", "total"
    }  # fmt: skip
    assert read_summary(tmp_path / "run") == summary


def test_the_best_iteration_is_the_earliest_with_the_best_score(play, tmp_path):
    summary = play(tmp_path / "run", agent=Writer(size=12), iterations=3)
    scores = [i.val_score for i in summary.iterations]
    assert scores[1] == scores[2] == scores[3]
    assert summary.best_iteration == 1
    assert summary.best.val_score - scores[0] == summary.val_score_gain


def test_each_iteration_is_scored_on_the_test_split_if_asked_for_also_later(play, tmp_path):
    whole = play(tmp_path / "run", test_each=True)
    assert [round(score * 12) for score in whole.test_scores] == [2, 5, 9, 11]
    header = write_report(tmp_path / "run").read_text().split("## Iterations")[1].split("\n")[2]
    assert header.rstrip(" |").endswith("| test")
    assert play(tmp_path / "later").test_scores == ()
    assert "test_scores" not in read_json(tmp_path / "later" / "summary.json")
    assert play(tmp_path / "later", test_each=True).test_scores == whole.test_scores
    assert play(tmp_path / "run", iterations=4, test_each=True).test_scores[:4] == whole.test_scores


def test_a_student_that_did_not_change_is_tested_once(play, tmp_path):
    class Silent(Writer):
        def __call__(self, completed, predictor):
            return ()

    assert play(tmp_path / "run", agent=Silent(), test_each=True).test_scores == (2 / 12,) * 4
    assert [path.name for path in (tmp_path / "run" / "test").glob("*.jsonl")] == ["000.jsonl"]


def test_the_agent_never_sees_a_test_instance(play, tmp_path):
    seen = []

    class Watching(Writer):
        def __call__(self, completed, predictor):
            seen.extend(int(c.instance.answer) for c in completed)
            return super().__call__(completed, predictor)

    play(tmp_path / "run", agent=Watching())
    assert set(seen) == set(range(100, 112))


def test_callbacks_hear_phases_and_iterations_in_order(play, tmp_path):
    recorder = Recorder()
    play(tmp_path / "run", iterations=1, callbacks=[recorder])
    phases = ["agent", "check", "train", "load", "generate", "save"]
    assert recorder.heard == [
        ("start", 0),
        (0, "generate"),
        (0, "save"),
        ("iteration", 0),
        *((1, phase) for phase in phases),
        ("iteration", 1),
        (0, "test"),
        (1, "test"),
        ("end", "finished"),
    ]


def test_a_finished_run_is_left_as_it_is(play, tmp_path):
    summary = play(tmp_path / "run")
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns)
              for p in (tmp_path / "run").rglob("*") if p.is_file()}  # fmt: skip
    recorder = Recorder()
    for iterations in (3, 2):
        assert play(tmp_path / "run", iterations=iterations, callbacks=[recorder]) == summary
    after = {p: (p.read_bytes(), p.stat().st_mtime_ns)
             for p in (tmp_path / "run").rglob("*") if p.is_file()}  # fmt: skip
    assert after == before
    assert recorder.heard == []


def test_more_iterations_extend_a_finished_run(play, tmp_path):
    play(tmp_path / "short", iterations=1)
    extended = play(tmp_path / "short", iterations=3)
    whole = play(tmp_path / "whole", iterations=3)
    assert extended.test_score_after == whole.test_score_after
    found, expected = contents(tmp_path / "short"), contents(tmp_path / "whole")
    assert found.pop("test/001.jsonl")  # the best iteration at that time
    del found["test/files.json"], expected["test/files.json"]  # it has its mark
    assert found == expected


@pytest.mark.parametrize(
    ("error", "status"),
    [(TrainingError("no loss"), "failed"), (KeyboardInterrupt("no loss"), "interrupted")],
)
def test_an_error_or_interrupt_leaves_its_summary_and_a_resumable_run(
    play, tmp_path, error, status
):
    class Failing(Student):
        def train(self, training_data, run):
            if run.directory.name == "002":
                raise error
            super().train(training_data, run)

    recorder = Recorder()
    with pytest.raises(type(error), match="no loss"):
        play(tmp_path / "run", student=Failing(), callbacks=[recorder])
    summary = read_summary(tmp_path / "run")
    assert (summary.status, summary.error) == (status, f"{type(error).__name__}: no loss")
    assert [i.iteration for i in summary.iterations] == [0, 1]
    assert recorder.heard[-1] == ("end", status)
    play(tmp_path / "run")
    play(tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


@pytest.mark.parametrize("split", ["Say", "Say 2"], ids=["all", "test"])
def test_an_evaluation_in_which_every_call_failed_is_done_again(play, tmp_path, split):
    student = Student()
    answer = student.answer

    def answer_if_up(conversation):
        is_down = conversation[-1].content.startswith(split)
        return Failure(reason="server is down") if is_down else answer(conversation)

    student.answer = answer_if_up
    with pytest.raises(EvaluationError, match="server is down"):
        play(tmp_path / "run", student=student)
    summary = read_summary(tmp_path / "run")
    assert summary.test_score_before is None
    assert len(summary.iterations) == (0 if split == "Say" else 4)
    assert play(tmp_path / "run").test_score_after == 11 / 12


def test_an_episode_stops_at_the_target_score(play, tmp_path):
    summary = play(tmp_path / "run", iterations=5, target_score=0.7)
    assert len(summary.iterations) == 3
    assert play(tmp_path / "run", iterations=5, target_score=0.7) == summary


def test_an_episode_stops_at_the_record_budget(play, tmp_path):
    summary = play(tmp_path / "run", iterations=5, max_records=4)
    assert [i.n_records_total for i in summary.iterations] == [0, 3, 4]
    assert summary.iterations[-1].dropped == {"duplicate": 1, "over_budget": 2}


def test_a_task_without_splits_has_no_test_score(play, tmp_path):
    class Bare:
        name = "bare"

        def __init__(self):
            self._task = EchoTask()

        def evaluate(self, predictor):
            return self._task.evaluate(predictor)

        def generate_performance_report(self, completed):
            return self._task.generate_performance_report(completed)

    summary = play(tmp_path / "run", iterations=1, task=Bare())
    assert (summary.status, summary.test_score_after) == ("finished", None)
    with_test = play(tmp_path / "run", iterations=1, task=Bare(), test_task=EchoTask().on("test"))
    assert with_test.test_score_after == 5 / 12


def test_every_callback_gets_the_end_even_if_another_one_raises(play, tmp_path):
    class Broken(EpisodeCallback):
        def on_end(self, summary):
            raise OSError("tracker is gone")

    recorder = Recorder()
    with pytest.raises(OSError, match="tracker is gone"):
        play(tmp_path / "run", iterations=1, callbacks=[Broken(), recorder])
    assert [h for h in recorder.heard if h[0] == "end"] == [("end", "finished")]
    assert read_summary(tmp_path / "run").status == "finished"


def test_an_error_of_a_callback_in_the_students_predict_is_not_the_students(play, tmp_path):
    class Counting(Student):
        def predict(self, conversations, sampling):
            with counting("thoughts", len(conversations)) as count:
                count.add(len(conversations))
            return super().predict(conversations, sampling)

    class Full(EpisodeCallback):
        def on_progress(self, message):
            if "thoughts" in message:
                raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        play(tmp_path, student=Counting(), callbacks=[Full()])
    assert read_json(tmp_path / "summary.json")["status"] == "failed"
    resumed, plain = play(tmp_path, student=Counting()), play(tmp_path / "b", student=Counting())
    assert [one.val_score for one in resumed.iterations] == [i.val_score for i in plain.iterations]
    assert not any(one.n_errors for one in resumed.iterations)


def test_a_callback_that_cannot_start_ends_the_others(play, tmp_path):
    class Broken(EpisodeCallback):
        def on_start(self, plan):
            raise ConfigurationError("not installed")

    first, last = Recorder(), Recorder()
    with pytest.raises(ConfigurationError):
        play(tmp_path / "run", callbacks=[first, Broken(), last])
    assert first.heard == [("start", 0), ("end", "failed")]
    assert last.heard == []


def test_only_teaching_environments_agents_and_whole_iterations_are_run(tmp_path, play):
    for other in (gymnasium.make("CartPole-v1"), EchoTask()):
        with pytest.raises(ConfigurationError, match="teaching"):
            run_episode(other, Writer(), iterations=1)
    for number in (0, "2"):
        with pytest.raises(ConfigurationError, match=f"iterations is {number!r}"):
            play(tmp_path / "run", iterations=number)
    with pytest.raises(ConfigurationError, match="an object"):
        play(tmp_path / "run", agent=Writer)


def test_an_agent_without_step_is_refused_before_anything_runs(tmp_path, play):
    with pytest.raises(ConfigurationError, match="step"):
        play(tmp_path / "run", agent=lambda completed, predictor: [])
    assert not (tmp_path / "run").exists()


def test_text_that_utf_8_cannot_encode_hides_no_error_or_warning(tmp_path, play):
    class Odd(Writer):
        def __call__(self, completed, predictor):
            warn_run("odd \ud800 \x1b[31m")
            raise ValueError("answered \ud800")

    with pytest.raises(ValueError, match="answered"):
        play(tmp_path / "run", agent=Odd())
    summary = read_summary(tmp_path / "run")
    assert summary.error == r"ValueError: answered \ud800"
    assert [warning.text for warning in summary.warnings] == [r"odd \ud800 \x1b[31m"]


def test_an_environment_without_a_directory_gets_one_and_resumes_there(tmp_path):
    def run(iterations):
        environment = SkillList(EchoTask(), Student(), replay=2)
        return run_episode(environment, Writer(), iterations=iterations, directory=tmp_path / "run")

    assert len(run(1).iterations) == 2
    assert len(run(2).iterations) == 3
    assert read_summary(tmp_path / "run") == run(2)


def test_an_environment_with_another_directory_is_refused(tmp_path):
    environment = SkillList(EchoTask(), Student(), directory=tmp_path / "one")
    with pytest.raises(ConfigurationError, match="give only"):
        run_episode(environment, Writer(), iterations=1, directory=tmp_path / "two")
    same = str(tmp_path / "one")
    assert run_episode(environment, Writer(), iterations=1, directory=same).best is not None


@pytest.mark.parametrize(
    ("progress", "in_notebook", "shown"),
    [(None, False, None), (True, False, "err"), (False, False, None), (None, True, "out")],
)
def test_progress_is_shown_where_it_is_asked_for_and_in_a_notebook(
    play, tmp_path, capsys, monkeypatch, progress, in_notebook, shown
):
    if in_notebook:
        monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    play(tmp_path / "run", iterations=1, progress=progress)
    for name, text in capsys.readouterr()._asdict().items():
        assert ("iteration 1/1: validation" in text) == (name == shown)
        assert bool(text) == (name == shown)


def test_an_episode_in_python_takes_the_lock_of_its_folder(tmp_path, play):
    class Locking(Writer):
        def __call__(self, completed, predictor):
            with pytest.raises(RunDirectoryError, match="another process"), locked(tmp_path / "r"):
                pass
            return super().__call__(completed, predictor)

    play(tmp_path / "r", iterations=1, agent=Locking())
    before = every_byte(tmp_path)
    with locked(tmp_path / "r"), pytest.raises(RunDirectoryError, match="another process"):
        play(tmp_path / "r", iterations=2)
    assert every_byte(tmp_path) == before
    with locked(tmp_path / "r"):
        assert len(play(tmp_path / "r", iterations=2, lock=False).iterations) == 3


@pytest.mark.parametrize(
    "refused", ["another seed", "another student", "a damaged identity", "a damaged iteration"]
)
def test_an_episode_that_is_refused_leaves_every_file_as_it_was(tmp_path, play, refused):
    class Other(Student):
        def describe(self):
            return {"name": "Other"}

    directory = tmp_path / "run"
    play(directory, iterations=1)
    if refused == "a damaged identity":
        write_json(directory / "environment.json", {})
    if refused == "a damaged iteration":
        (directory / "iterations" / "001" / "records.jsonl").write_text("")
    before = every_byte(directory)
    student = Other() if refused == "another student" else Student()
    for iterations in (1, 2):  # finished, or not yet
        with pytest.raises(RunDirectoryError):
            play(directory, iterations=iterations, seed=int(refused == "another seed"),
                 student=student)  # fmt: skip
        assert every_byte(directory) == before


def every_byte(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
