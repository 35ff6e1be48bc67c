"""A user's folder with students and agents of their own, and episodes composed in it."""

from functools import partial
from typing import Any

import pytest

from dataenvgym.runs.config import compose
from dataenvgym.runs.episodes import EpisodeCallback
from dataenvgym.studies.executors.in_process import InProcessExecutor
from dataenvgym.studies.executors.interface import EpisodeJob, ExecutorInterface
from dataenvgym.studies.executors.processes import ProcessExecutor
from dataenvgym.studies.executors.ray_executor import RayExecutor
from dataenvgym.studies.executors.slurm_executor import SlurmExecutor
from dataenvgym.studies.executors.together import TogetherExecutor
from tests.run_contents import contents
from tests.studies.conftest import enter

SCRIPTED = (
    "predictor=custom",
    "predictor._target_=my_students.MyStudent",
    "task.n_validation=8",
    "task.n_test=8",
    "agent.records_per_iteration=20",
    "episode.iterations=2",
)
REAL = (
    "task.n_validation=20",
    "task.n_test=20",
    "task.chunk_size=10",
    "agent.records_per_iteration=20",
    "trainer.num_train_epochs=1",
    "episode.iterations=2",
    "predictor.threads=1",
)


@pytest.fixture(scope="session")
def cluster():
    """A Ray cluster of this machine that this process is connected to."""
    ray = pytest.importorskip("ray", reason="needs the extra [ray]")
    ray.init(num_cpus=2, log_to_driver=False, logging_level="error", include_dashboard=False)
    yield
    ray.shutdown()


@pytest.fixture
def executor_of(request):
    """Makes the executor of that name."""
    kinds = {
        "in_process": InProcessExecutor,
        "processes": partial(ProcessExecutor, workers=2),
        "ray": RayExecutor,
        "slurm": partial(SlurmExecutor, cluster="local"),
        "together": partial(TogetherExecutor, workers=2, threads=1),
    }

    def make(name: str, **options: Any) -> ExecutorInterface:
        if name == "ray":
            request.getfixturevalue("cluster")
        if name == "slurm":
            pytest.importorskip("submitit", reason="needs the extra [slurm]")
        executor: ExecutorInterface = kinds[name](**options)
        return executor

    return make


@pytest.fixture(
    params=[
        *("in_process", "processes", "together"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("ray", "slurm")),
    ]
)
def executor(request, executor_of):
    """Each of the executors."""
    made: ExecutorInterface = executor_of(request.param)
    return made


@pytest.fixture(scope="module", autouse=True)
def _pictures():
    """Each run has its own, as elsewhere: runs are compared by all of their files."""


class Listener(EpisodeCallback):
    """Records all calls; raises `error` after an iteration is finished."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.error = error

    def on_start(self, plan):
        self.heard.append(("start", plan.name, plan.directory))

    def on_phase(self, event, iteration, phase, seconds):
        self.heard.append(("phase", event, iteration, phase))

    def on_warning(self, warning):
        self.heard.append(("warning", warning.text))

    def on_iteration(self, summary):
        self.heard.append(("iteration", summary.iteration))
        if self.error is not None:
            raise self.error

    def on_end(self, summary):
        self.heard.append(("end", summary.status))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with `my_students.py` in it."""
    enter(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def scripted(folder):
    """Makes an episode of less than a second, with a student by rule."""

    def make(*overrides: str, **options: Any) -> EpisodeJob:
        return EpisodeJob(compose([*SCRIPTED, *overrides]), **options)

    return make


@pytest.fixture
def real(folder):
    """Makes an episode of some seconds, with the pocket student."""

    def make(*overrides: str, **options: Any) -> EpisodeJob:
        return EpisodeJob(compose([*REAL, *overrides]), **options)

    return make


@pytest.fixture(scope="session")
def known():
    """The files of episodes that have run in process, by their overrides."""
    return {}


@pytest.fixture
def undisturbed(scripted, known):
    """The files of an episode that runs in process, in a call for each number of iterations."""

    def run(*overrides: str, make=scripted, calls: tuple[int, ...] = (2,)) -> dict[str, object]:
        key = (make.__qualname__, *overrides, str(calls))
        if key not in known:
            for n in calls:
                episode = make(*overrides, f"episode.iterations={n}", "runs_dir=undisturbed")
                (outcome,) = InProcessExecutor().run([episode])
                outcome.result()
            known[key] = contents(episode.directory)
        return known[key]

    return run
