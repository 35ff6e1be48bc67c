"""Episodes in processes of their own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from dataenvgym.errors import WorkerLostError
from dataenvgym.events import ProgressMessage, hearing_warnings
from dataenvgym.runs.config import compose
from dataenvgym.runs.episodes import EpisodeCallback
from dataenvgym.storage import read_json
from dataenvgym.studies.executors import processes
from dataenvgym.studies.executors.interface import EpisodeJob
from dataenvgym.studies.executors.processes import ProcessExecutor
from tests.studies.executors.conftest import SCRIPTED
from tests.waiting import wait_for


@pytest.mark.parametrize(
    ("options", "workers", "servers"),
    [([], 3, 2), ([], 1, 0), (["predictor.base_url=http://localhost:8000"], 3, 0)],
)
def test_processes_that_each_start_a_vllm_server_are_warned_of(
    options, workers, servers, monkeypatch
):
    monkeypatch.setattr(processes, "drive", lambda *_, **__: [])
    jobs = [EpisodeJob(compose(["predictor=vllm", *options])) for _ in range(2)]
    warnings: list[str] = []
    with hearing_warnings(warnings.append):
        ProcessExecutor(workers=workers).run(jobs)
    assert [int(text.split()[0]) for text in warnings] == [servers] * bool(servers)


def test_the_error_of_a_lost_child_has_its_last_output(scripted, folder):
    (folder / "loud.py").write_text(
        "import os\n"
        "from dataenvgym.agents import Agent\n"
        "class Loud(Agent):\n"
        "    def __call__(self, completed, predictor):\n"
        "        print('out of luck', flush=True)\n"
        "        os._exit(7)\n"
    )
    (lost,) = ProcessExecutor().run([scripted("agent._target_=loud.Loud")])
    with pytest.raises(WorkerLostError, match="exit"):
        lost.result()


def test_a_child_with_a_reply_may_take_its_time_to_end(scripted, folder):
    (folder / "late.py").write_text(
        "import threading, time\n"
        "from pathlib import Path\n"
        "from my_students import MyStudent\n"
        "class Late(MyStudent):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.thread = threading.Thread(target=self.wait)\n"
        "        self.thread.start()\n"
        "    def wait(self):\n"
        "        threading.main_thread().join()\n"
        "        time.sleep(0.5)\n"
        "        Path('ended').touch()\n"
    )
    codes = []

    class Watched(processes._Child):
        def outcome(self):
            if (end := super().outcome()) is not None:
                codes.append(self.process.exitcode)
            return end

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "_Child", Watched)
        (outcome,) = ProcessExecutor().run([scripted("predictor._target_=late.Late")])
    assert outcome.result().status == "finished"
    assert codes == [0]
    assert Path("ended").exists()


def test_progress_of_an_episode_in_another_process_is_reported_here(scripted):
    class Hearing(EpisodeCallback):
        heard: list[ProgressMessage] = []

        def on_progress(self, message):
            self.heard.append(message)

    (outcome,) = ProcessExecutor().run([scripted(callbacks=[Hearing()])])
    outcome.result()
    assert any(message.endswith(" problems") and message.total for message in Hearing.heard)


def test_ctrl_c_does_not_reach_the_forkserver_that_imports_and_the_driver_still_hears_it(scripted):
    ProcessExecutor(workers=1).run([scripted()])
    (status,) = (
        text
        for child in psutil.Process().children()
        # a process that has ended, a worker of before for instance, has no command line
        if "forkserver" in " ".join(child.as_dict(["cmdline"])["cmdline"] or [])
        for text in [Path(f"/proc/{child.pid}/status").read_text()]
    )
    (blocked,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:"))
    assert int(blocked, 16) & 1 << (signal.SIGINT - 1)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


DRIVER = """
import sys
from pathlib import Path
from dataenvgym.runs.config import compose
from dataenvgym.runs.config import compose
from dataenvgym.runs.episodes import EpisodeCallback
from dataenvgym.studies.executors.interface import EpisodeJob
from dataenvgym.studies.executors.interface import EpisodeJob
from dataenvgym.studies.executors.processes import ProcessExecutor

class Sign(EpisodeCallback):
    def on_start(self, plan):
        Path("started-" + plan.name).touch()

overrides = sys.argv[1:]
episodes = [EpisodeJob(compose([*overrides, f"name={n}"]), [Sign()]) for n in "ab"]
print("main", flush=True)
try:
    ProcessExecutor(workers=2).run(episodes)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
SLEEPY = """
import os, time
from pathlib import Path
from dataenvgym.agents import Agent

class Sleepy(Agent):
    def __call__(self, completed, predictor):
        Path(f"pid-{os.getpid()}").touch()
        time.sleep(300)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL],
    ids=["SIGINT", "SIGKILL"],
)
def test_children_end_with_the_process_that_runs_them(folder, number):
    (folder / "driver.py").write_text(DRIVER)
    (folder / "sleepy.py").write_text(SLEEPY)
    overrides = [*SCRIPTED, "agent._target_=sleepy.Sleepy"]
    driver = subprocess.Popen(
        [sys.executable, "driver.py", *overrides],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    try:
        signs = wait_for(lambda: len(s := list(folder.glob("pid-*"))) == 2 and s)
        pids = [int(sign.name.removeprefix("pid-")) for sign in signs]
        assert all(psutil.pid_exists(pid) for pid in pids)
        driver.send_signal(number)
        said, _ = driver.communicate(timeout=60)
    finally:
        driver.kill()
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in pids))
    # the script itself ran once: no child runs it again
    assert said.splitlines() == (["main", "interrupted"] if number == signal.SIGINT else ["main"])
    status = read_json(folder / "runs" / "a" / "summary.json")["status"]
    assert status == "interrupted"
