"""The executor of a configuration, and the parts that do not depend on it."""

import sys

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import compose, run_name
from dataenvgym.runs.config.identity import decisive_values
from dataenvgym.studies.executors.in_process import InProcessExecutor
from dataenvgym.studies.executors.interface import build_executor
from dataenvgym.studies.executors.ray_executor import RayExecutor


def test_the_executor_of_a_configuration_is_built():
    assert isinstance(build_executor(compose([])), InProcessExecutor)
    executor = build_executor(compose(["executor=ray", "predictor.threads=3"]))
    assert isinstance(executor, RayExecutor)
    assert executor.cpus_per_episode == 3  # those of its student


def test_the_executor_determines_neither_name_nor_results():
    in_process, ray = compose([]), compose(["executor=ray", "executor.num_cpus=2"])
    assert run_name(in_process) == run_name(ray)
    assert decisive_values(in_process) == decisive_values(ray)


@pytest.mark.parametrize(
    "overrides",
    [
        *(["ray", one] for one in ("num_cpus=0", "max_restarts=-1", "gpus_per_predictor=-1")),
        ["ray", "num_cpus=2", "address=auto"],  # an existing cluster has its own
        *(["slurm", one] for one in ("cluster=pbs", "timeout_min=0", "at_once=0")),
        ["processes", "workers=0"],
        ["together", "threads=0"],
    ],
    ids=" ".join,
)
def test_options_that_cannot_be_are_refused_by_name(overrides):
    name, first, *_ = overrides
    words = [f"executor={name}", *(f"executor.{one}" for one in overrides[1:])]
    with pytest.raises(ConfigurationError, match=first.partition("=")[0]):
        build_executor(compose(words))


def test_without_ray_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigurationError, match=r"dataenvgym\[ray"):
        RayExecutor().run([])
