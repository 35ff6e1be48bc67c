"""`events.jsonl`, by which others follow a run."""

from dataenvgym.events import counting, tell
from dataenvgym.runs.episodes.events import EventLog, EventReader
from dataenvgym.storage import read_jsonl
from tests.runs.episodes.echo import Student
from tests.runs.episodes.screen import count


def events(directory):
    found = list(read_jsonl(directory / "events.jsonl"))
    assert all(event.pop("time") > 0 for event in found)
    return found


def test_a_reader_can_follow_the_plan_the_phases_and_their_progress(play, tmp_path):
    class Told(Student):
        def train(self, training_data, run):
            tell("a server starts \ud800")
            with counting("training steps", 2) as counter:
                counter.add(2, note="loss 0.1")
            super().train(training_data, run)

    play(tmp_path / "run", iterations=1, student=Told())
    found = events(tmp_path / "run")
    assert found[0] == {
        "event": "start", "name": "run", "task": "echo", "agent": "writer", "seed": 0,
        "n_iterations": 1, "n_finished": 0, "problems": {}, "environment": "SkillList",
    }  # fmt: skip
    begins = [(e["iteration"], e["phase"]) for e in found if e["event"] == "begin"]
    assert begins == [(e["iteration"], e["phase"]) for e in found if e["event"] == "phase"]
    assert (1, "train") in begins
    texts = [e["text"] for e in found if e["event"] == "progress"]
    first = texts.index("a server starts \\ud800")
    assert texts[first + 1] == "0 of 2 training steps"
    assert found[-1] == {"event": "end", "status": "finished", "error": None}


def test_of_many_counts_those_a_second_and_a_percent_apart_are_written(tmp_path):
    now = 0.0
    log = EventLog(tmp_path, clock=lambda: now)

    for done in range(10000):
        log.on_progress(count(done, 10000))
        now += 0.125
    assert [e["done"] for e in events(tmp_path)] == list(range(0, 10000, 100))
    log.on_phase("begin", 1, "train", 0.0)
    assert [e.get("done") for e in events(tmp_path)[100:]] == [9999, None]
    for done in range(101):  # slower than a percent in half a minute
        log.on_progress(count(done, 100000))
        now += 10.0
    counted = list(range(0, 100, 3))
    assert [e["done"] for e in events(tmp_path)[102:]] == counted
    log.on_phase("end", 1, "train", 1.0)
    assert [e.get("done") for e in events(tmp_path)[102:]] == [*counted, 100, None]


def test_a_reader_gets_new_events_of_whole_lines_also_of_a_run_that_starts_over(play, tmp_path):
    play(tmp_path / "run", iterations=1)
    reader = EventReader(tmp_path / "run")
    assert reader.read() == []
    path = tmp_path / "run" / "events.jsonl"
    with path.open("ab") as stream:  # as a kill leaves it
        stream.write(b'{"event": "pha')
    assert reader.read() == []
    play(tmp_path / "run", iterations=2)
    found = reader.read()
    assert (found[0]["event"], found[0]["n_finished"]) == ("start", 2)
    assert [e["iteration"] for e in found if e["event"] == "iteration"] == [2]
    path.unlink()
    EventLog(tmp_path / "run").on_phase("begin", 0, "generate", 0.0)
    assert [e["event"] for e in reader.read()] == ["begin"]
