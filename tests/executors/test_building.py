"""The executor of a configuration, and the parts that do not depend on it."""

import sys

import pytest

from dataenvgym.config import compose, run_name
from dataenvgym.config.identity import decisive_values
from dataenvgym.errors import ConfigurationError
from dataenvgym.executors import InProcessExecutor, RayExecutor, build_executor


def test_the_default_executor_is_in_process():
    assert isinstance(build_executor(compose([])), InProcessExecutor)


def test_ray_gives_an_episode_as_many_cpus_as_its_student_has_threads():
    executor = build_executor(compose(["executor=ray", "predictor.threads=3"]))
    assert isinstance(executor, RayExecutor)
    assert executor.cpus_per_episode == 3


def test_the_executor_determines_neither_name_nor_results():
    in_process, ray = compose([]), compose(["executor=ray", "executor.num_cpus=2"])
    assert run_name(in_process) == run_name(ray)
    assert decisive_values(in_process) == decisive_values(ray)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("executor.num_cpus=0", "num_cpus is 0, expected 1 or more"),
        ("executor.max_restarts=-1", "max_restarts is -1, expected 0 or more"),
        ("executor.gpus_per_predictor=-1", "gpus_per_predictor is -1, expected 0 or more"),
    ],
)
def test_a_number_that_cannot_be_is_refused(override, message):
    with pytest.raises(ConfigurationError, match=message):
        build_executor(compose(["executor=ray", override]))


def test_an_existing_cluster_has_its_own_cpus():
    with pytest.raises(ConfigurationError, match="have to be null"):
        build_executor(compose(["executor=ray", "executor.address=auto", "executor.num_cpus=2"]))


def test_without_ray_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigurationError, match=r'pip install "dataenvgym\[ray\]"'):
        RayExecutor().run([])
