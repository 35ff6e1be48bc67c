"""Episodes on a Ray of two machines, of which one loses its power, and as in this process."""

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.processes import environment
from tests.run_contents import contents
from tests.studies.executors.conftest import SCRIPTED
from tests.studies.executors.own_network import two_machines
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

HELD = ("agent._target_=my_students.Held", "+agent.mark=mark-${seed}")
DRIVER = f"""
import sys
from dataenvgym.runs.config import compose
from dataenvgym.studies.executors.interface import EpisodeJob
from dataenvgym.studies.executors.ray_executor import RayExecutor

options = {[*SCRIPTED, *HELD]}
jobs = [EpisodeJob(compose([*options, "name=run-%d" % n, "seed=%d" % n])) for n in (0, 1)]
for outcome in RayExecutor(address=sys.argv[1]).run(jobs):
    print(outcome.result().status)
"""


@pytest.fixture
def ray_of_two():
    """The address of a Ray with room for an episode on each of two machines, and the machines."""
    pytest.importorskip("ray", reason="needs the extra [ray]")
    with ExitStack() as stack:
        machines = stack.enter_context(two_machines())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ray-"))
        address = f"{machines[0].address}:6379"
        head = ["--head", "--port=6379", f"--temp-dir={folder}", "--include-dashboard=false"]
        log = Path(folder, "nodes.log")
        for number, place in enumerate((head, [f"--address={address}"])):
            machine = machines[number]
            start = machine.command(sys.executable, "-m", "ray.scripts.scripts", "start", "--block")
            options = [f"--node-ip-address={machine.address}", "--num-cpus=1", *place]
            with log.open("ab") as output:
                node = subprocess.Popen(
                    [*start, *options, "--disable-usage-stats"],
                    stdout=output,
                    stderr=output,
                    env={**environment(), "RAY_AUTH_MODE": "disabled"},
                )
            stack.callback(node.wait, 20)
            stack.callback(machine.kill)
            wait_for(lambda n=number: log.read_text().count("Ray runtime started") > n)
        yield address, machines


def test_the_episode_of_a_machine_without_power_continues_on_the_other(
    ray_of_two, folder, scripted, undisturbed
):
    address, (here, there) = ray_of_two
    driver = subprocess.Popen(
        here.command(sys.executable, "-c", DRIVER, address),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), "RAY_AUTH_MODE": "disabled"},
    )
    # each machine has room for one, so both are in use
    wait_for(lambda: all((folder / f"mark-{seed}").exists() for seed in (0, 1)))
    there.kill()
    (folder / "released").touch()
    said, complaints = driver.communicate(timeout=120)
    assert (driver.returncode, said) == (0, "finished\nfinished\n"), complaints
    for seed in (0, 1):
        overrides = (*HELD, f"name=run-{seed}", f"seed={seed}")
        assert contents(folder / "runs" / f"run-{seed}") == undisturbed(*overrides)
