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
    ("overrides", "message"),
    [
        (["num_cpus=0"], "num_cpus is 0, expected 1 or more"),
        (["max_restarts=-1"], "max_restarts is -1, expected 0 or more"),
        (["gpus_per_predictor=-1"], "gpus_per_predictor is -1, expected 0 or more"),
        (["address=auto", "num_cpus=2"], "null"),  # an existing cluster has its own
    ],
)
def test_options_of_ray_that_cannot_be_are_refused(overrides, message):
    with pytest.raises(ConfigurationError, match=message):
        build_executor(compose(["executor=ray", *(f"executor.{one}" for one in overrides)]))


def test_without_ray_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigurationError, match=r"dataenvgym\[ray"):
        RayExecutor().run([])
