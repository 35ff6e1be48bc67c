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
    own = ["executor.num_cpus=2", "executor.address=auto"]  # an existing cluster has its own
    with pytest.raises(ConfigurationError, match="num_cpus"):
        build_executor(compose(["executor=ray", *own]))
    for name in ("timeout_min", "at_once"):
        with pytest.raises(ConfigurationError, match=name):
            build_executor(compose(["executor=slurm", f"executor.{name}=0"]))
    with pytest.raises(ConfigurationError, match="gpus_per_predictor"):
        build_executor(compose(["executor=ray", "executor.gpus_per_predictor=-1"]))


def test_the_executor_determines_neither_name_nor_results():
    in_process, ray = compose([]), compose(["executor=ray", "executor.num_cpus=2"])
    assert run_name(in_process) == run_name(ray)
    assert decisive_values(in_process) == decisive_values(ray)


def test_without_ray_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigurationError, match=r"dataenvgym\[ray"):
        RayExecutor().run([])
