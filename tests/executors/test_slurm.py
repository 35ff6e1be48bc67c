"""Jobs of submitit at their time limit, and machines without Slurm."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.executors import InProcessExecutor, SlurmExecutor
from tests.executors.conftest import Listener
from tests.run_contents import contents


@pytest.mark.slow
def test_a_job_at_its_time_limit_goes_on_in_another_one(executor_of, scripted, folder):
    hearing = Listener()
    stopped = "agent._target_=my_students.Stopped"
    episode = scripted(stopped, "runs_dir=there", callbacks=[hearing])
    (outcome,) = executor_of("slurm").run([episode])
    assert outcome.result().status == "finished"
    assert len(list((episode.directory.parent / ".jobs").glob("*"))) == 2
    assert [what[1] for what in hearing.heard if what[0] == "iteration"] == [0, 1, 2]
    undisturbed = scripted(stopped, "runs_dir=here")
    InProcessExecutor().run([undisturbed])
    assert contents(episode.directory) == contents(undisturbed.directory)


def test_without_slurm_it_is_refused_before_anything_starts(scripted, folder, monkeypatch):
    pytest.importorskip("submitit", reason="needs the extra [slurm]")
    monkeypatch.setenv("PATH", str(folder))  # this machine may have a Slurm
    with pytest.raises(ConfigurationError, match=r"no srun.*executor\.cluster=local"):
        SlurmExecutor().run([scripted()])
    assert not (folder / "runs").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"timeout_min": 0}, "timeout_min is 0"),
        ({"at_once": 0}, "at_once is 0"),
        ({"gpus_per_node": -1}, "gpus_per_node is -1"),
        ({"cluster": "lsf"}, "cluster is 'lsf'"),
    ],
)
def test_impossible_values_are_refused(options, expected):
    with pytest.raises(ConfigurationError, match=expected):
        SlurmExecutor(**options)
