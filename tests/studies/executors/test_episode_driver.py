"""The driver of episodes, with workers that only pretend to run."""

import pytest

from dataenvgym.studies.executors.episode_driver import Lost, drive
from dataenvgym.studies.executors.worker import CarriedError


class Workers:
    """Workers whose work ends as given, one after another; notes what they are asked."""

    def __init__(self, *ends):
        self.ends = list(ends)
        self.asked = []

    def start(self, request):
        return "worker"

    def ended(self, seconds):
        yield "worker", self.ends.pop(0)

    def interrupt(self, worker):
        self.asked.append("interrupt")

    def end(self, worker, patience):
        self.asked.append("end")


@pytest.mark.parametrize("end", [CarriedError.of(OSError("no")), Lost("was lost")])
def test_a_worker_that_has_ended_is_not_interrupted(scripted, end):
    workers = Workers(end)
    (outcome,) = drive([scripted()], workers)
    assert outcome.error is not None
    assert workers.asked == ["end"]


def test_a_worker_that_runs_is_interrupted_if_a_callback_fails(scripted):
    class Running(Workers):
        def ended(self, seconds):
            episode.directory.mkdir(parents=True)
            (episode.directory / "events.jsonl").write_text('{"event": "start"}\n')
            return iter(())

    episode = scripted()
    workers = Running()
    (outcome,) = drive([episode], workers)
    assert isinstance(outcome.error, TypeError)  # an event without its facts
    assert workers.asked == ["interrupt", "end"]
