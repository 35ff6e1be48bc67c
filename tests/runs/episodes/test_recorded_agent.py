"""Warnings about agents that return nothing, or lose their state on resume."""

import pytest

from dataenvgym.agents import Agent, GoldEngine, NoEngine, NoPolicy
from dataenvgym.errors import InvalidActionError, TrainingError
from dataenvgym.runs.episodes.outcome import outcome
from dataenvgym.runs.episodes.report import write_report
from dataenvgym.storage import read_json
from tests.runs.episodes.echo import EchoTask, Student, Writer


class Forgetful:
    """Without a state; fails in its call number `fails_at`."""

    name = "forgetful"

    def __init__(self, fails_at=None, gives=({"instruction": "Say a", "output": "a"},)):
        self.calls = 0
        self.fails_at = fails_at
        self.gives = gives

    def __call__(self, completed, predictor):
        self.calls += 1
        if self.calls == self.fails_at:
            raise RuntimeError("stop")
        return self.gives

    def step(self):
        pass


def texts(summary):
    return [(w.iteration, w.text) for w in summary.warnings]


def test_resuming_an_agent_without_a_state_warns_that_its_memory_is_lost(play, tmp_path):
    with pytest.raises(RuntimeError, match="stop"):
        play(tmp_path / "run", agent=Forgetful(fails_at=2), iterations=2)
    summary = play(tmp_path / "run", agent=Forgetful(), iterations=2)
    ((iteration, lost),) = [(n, text) for n, text in texts(summary) if "start over" in text]
    assert iteration == 2
    assert lost.startswith("the run was resumed, and the agent 'forgetful' has no state_dict()")


def test_an_agent_without_a_state_is_resumed_with_the_records_it_gave(play, tmp_path):
    class Failing(Student):
        def train(self, training_data, run):
            raise TrainingError("no loss")

    with pytest.raises(TrainingError):
        play(tmp_path / "run", iterations=1, agent=Forgetful(), student=Failing())
    agent = Forgetful()
    play(tmp_path / "run", iterations=1, agent=agent)
    assert agent.calls == 0


def test_nothing_is_lost_before_its_first_call_or_with_a_state(play, tmp_path):
    with pytest.raises(RuntimeError, match="stop"):
        play(tmp_path / "a", agent=Forgetful(fails_at=1), iterations=1)
    assert play(tmp_path / "a", agent=Forgetful(), iterations=1).warnings == ()
    assert play(tmp_path / "a", agent=Forgetful(), iterations=1).warnings == ()
    (tmp_path / "a" / "summary.json").unlink()  # as if killed before the test split was scored
    assert play(tmp_path / "a", agent=Forgetful(), iterations=1).warnings == ()
    play(tmp_path / "b", agent=Writer(), iterations=1)
    assert play(tmp_path / "b", agent=Writer(), iterations=2).warnings == ()


def test_an_agent_that_returns_no_records_is_warned_about_each_time(play, tmp_path):
    summary = play(tmp_path / "run", agent=Forgetful(gives=iter(())), iterations=2)
    told = "the agent 'forgetful' returned no records, so the student is not trained in this"
    assert [(n, text.startswith(told)) for n, text in texts(summary)[1:]] == [(1, True), (2, True)]


def test_a_run_without_training_says_so_first(play, tmp_path):
    summary = play(tmp_path / "run", agent=Forgetful(gives=[]), iterations=2)
    assert texts(summary)[0] == (
        None, "nothing was trained in 2 iterations: there were no records"
    )  # fmt: skip
    assert outcome(summary).startswith("nothing was trained")
    assert "nothing was trained" in write_report(tmp_path / "run").read_text()
    first = read_json(tmp_path / "run" / "summary.json")["warnings"][0]
    assert "nothing was trained" in first["text"]


def test_records_that_are_all_dropped_are_said_too(play, tmp_path):
    known = EchoTask().instances[0].instruction
    agent = Forgetful(gives=[{"instruction": known, "output": "100"}])
    summary = play(tmp_path / "run", agent=agent, iterations=1)
    why = "1 give away a problem that the student is evaluated on (evaluation_overlap)"
    assert texts(summary) == [
        (None, f"nothing was trained in 1 iteration: all records were dropped ({why})"),
        (1, f"no record was accepted: {why}"),
    ]


def test_a_longer_run_that_trained_in_the_end_no_longer_says_so(play, tmp_path):
    play(tmp_path / "run", agent=Forgetful(gives=[]), iterations=1)
    summary = play(tmp_path / "run", agent=Forgetful(), iterations=2)
    assert not outcome(summary).startswith("nothing was trained")
    assert not any("nothing was trained in" in text for _, text in texts(summary))


def test_agents_that_are_to_give_nothing_are_not_warned_about(play, tmp_path):
    none = Agent(NoPolicy(), NoEngine(), name="none")
    assert play(tmp_path / "none", agent=none, iterations=2).warnings == ()
    gold = Agent(NoPolicy(), GoldEngine(EchoTask(), parts=1), name="gold")
    summary = play(tmp_path / "gold", agent=gold, iterations=2)
    assert summary.iterations[1].n_records > 0
    assert summary.warnings == ()


def test_an_agent_that_forgot_to_return_gets_a_typed_error(play, tmp_path):
    with pytest.raises(InvalidActionError, match="does the agent"):
        play(tmp_path / "run", agent=Forgetful(gives=None))
