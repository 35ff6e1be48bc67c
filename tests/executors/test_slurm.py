"""Jobs of submitit at their time limit, and machines without Slurm."""

import signal

import psutil
import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.executors import SlurmExecutor
from tests.executors.conftest import Listener
from tests.run_contents import contents


class LimitReached(Listener):
    """Sends the job what Slurm sends it before its time limit, once, after the first iteration."""

    def on_iteration(self, summary):
        super().on_iteration(summary)
        if summary.iteration == 1 and self.heard.count(("iteration", 1)) == 1:
            (job,) = (
                process
                for process in psutil.Process().children(recursive=True)
                if "submitit.core._submit" in (process.as_dict(["cmdline"])["cmdline"] or [])
                and not process.children()
            )
            job.send_signal(signal.SIGUSR2)


@pytest.mark.slow
def test_a_job_at_its_time_limit_goes_on_in_another_one(executor_of, scripted, undisturbed):
    hearing = LimitReached()
    episode = scripted("runs_dir=there", "episode.iterations=3", callbacks=[hearing])
    (outcome,) = executor_of("slurm").run([episode])
    assert outcome.result().status == "finished"
    assert len(list((episode.directory.parent / ".jobs").glob("*"))) == 2
    assert [what[1] for what in hearing.heard if what[0] == "iteration"] == [0, 1, 2, 3]
    assert contents(episode.directory) == undisturbed(calls=(3,))


def test_without_slurm_it_is_refused_before_anything_starts(scripted, folder):
    pytest.importorskip("submitit", reason="needs the extra [slurm]")
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
