"""A teaching environment without our base class, run through the protocol."""

import gymnasium
import pytest

from dataenvgym.environments import (
    IterationFiles,
    IterationResult,
)
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TrainingRun
from dataenvgym.records import parse_training_data
from dataenvgym.records.spaces import CompletedInstancesSpace, RecordsSpace
from dataenvgym.runs.episodes import run_episode
from dataenvgym.runs.episodes.report import write_report
from tests.runs.episodes.echo import EchoTask, Student, Writer


class OwnEnvironment(gymnasium.Env):
    """Trains on whatever it gets, from the base on."""

    action_space = RecordsSpace()
    observation_space = gymnasium.spaces.Dict({"completed": CompletedInstancesSpace()})
    is_temporary = False

    def __init__(self, task, predictor, directory):
        self.task, self.predictor, self.directory = task, predictor, directory
        self.results = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.results = []
        self.predictor.reset()
        return self._evaluated(), {}

    def step(self, action):
        records = parse_training_data(action)
        folder = self.directory / "iterations" / f"{len(self.results):03d}"
        folder.mkdir(parents=True, exist_ok=True)
        self.predictor.train(records, TrainingRun(folder))
        before = self.results[-1]
        total = before.n_records_total + len(records)
        observation = self._evaluated(
            n_records=len(records), n_records_total=total, adapter=len(self.results)
        )
        score = self.results[-1].report.score
        return observation, score - before.report.score, score > 0.4, False, {}

    def _evaluated(self, **more):
        completed = tuple(self.task.evaluate(self.predictor))
        report = self.task.generate_performance_report(completed)
        files = IterationFiles(self.directory / "iterations", len(self.results))
        files.save("completed.jsonl", completed)
        result = IterationResult(iteration=files.number, report=report, **more)
        self.results.append(files.write_result(result))
        return {"completed": completed}


def test_an_environment_of_another_class_is_run_to_its_end(tmp_path):
    own = OwnEnvironment(EchoTask(), Student(), tmp_path)
    environment = gymnasium.wrappers.TimeLimit(own, 5)
    summary = run_episode(environment, Writer(), iterations=5)
    # 2 right answers, then 2 + 3, then it says that the episode is over
    assert [round(i.val_score * 12) for i in summary.iterations] == [2, 5]
    assert (summary.test_score_before, summary.test_score_after) == (2 / 12, 5 / 12)
    assert (summary.status, summary.best_iteration) == ("finished", 1)
    assert write_report(tmp_path).exists()


def test_an_environment_that_does_not_resume_is_named_and_its_old_test_answers_are_dropped(
    tmp_path,
):
    def play(agent, iterations):
        own = OwnEnvironment(EchoTask(), Student(), tmp_path)
        return run_episode(own, agent, iterations=iterations)

    assert play(Writer(size=1), 2).warnings == ()
    summary = play(Writer(size=2), 3)
    (warning,) = summary.warnings
    assert f"2 finished iterations in {tmp_path} will be done again" in warning.text
    assert "OwnEnvironment began a new episode although it was asked to resume" in warning.text
    # best is iteration 2, as before, which had 4 right answers in the test split then
    assert [round(i.val_score * 12) for i in summary.iterations] == [2, 4, 5]
    assert (summary.best_iteration, summary.test_score_after) == (2, 5 / 12)


@pytest.mark.parametrize(
    ("limit", "iterations", "ended"),
    [
        (2, 4, "the environment truncated it after 2 of 4 iterations"),
        (2, 2, None),
        (5, 2, None),
    ],
)
def test_an_episode_that_is_truncated_says_so(tmp_path, limit, iterations, ended):
    environment = gymnasium.wrappers.TimeLimit(
        OwnEnvironment(EchoTask(), Student(), tmp_path), limit
    )
    summary = run_episode(environment, Writer(size=1), iterations=iterations)
    assert (len(summary.iterations), summary.status, summary.ended) == (3, "finished", ended)


def test_an_agent_that_only_acts_does_not_fit_records(tmp_path):
    class Acting:
        def act(self, observation, predictor):
            return []

        def step(self):
            pass

    own = OwnEnvironment(EchoTask(), Student(), tmp_path)
    with pytest.raises(ConfigurationError, match="OwnEnvironment"):
        run_episode(own, Acting(), iterations=1)


def test_an_environment_that_lacks_a_part_is_refused_by_its_names(tmp_path):
    own = OwnEnvironment(EchoTask(), None, tmp_path)
    del own.results
    with pytest.raises(ConfigurationError, match="no results"):
        run_episode(own, Writer(), iterations=1)
