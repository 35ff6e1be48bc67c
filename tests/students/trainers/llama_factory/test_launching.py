import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from dataenvgym.errors import TrainingError
from dataenvgym.storage import read_json
from dataenvgym.students.trainers.llama_factory.launching import CommandLine, WarmWorker
from tests.waiting import wait_for


@pytest.fixture(params=["fresh", "warm"])
def launcher(request, command):
    if request.param == "fresh":
        yield CommandLine([command])
        return
    worker = WarmWorker(Path(command).with_name("python"))
    yield worker
    worker.close()


def run(launcher: Any, path: Path, does: str = "train", watch: Any = lambda: None) -> int:
    """The exit code of the training by the fake program."""
    Path(path.parent / "adapter").mkdir(exist_ok=True)
    code: int = launcher.run(
        ["train", str(path)],
        log=path.parent / "log.txt",
        environment={"STAND_IN": does},
        watch=watch,
    )
    return code


def test_exit_code_and_output_are_those_of_the_training(launcher, write_training):
    path = write_training()
    assert run(launcher, path) == 0
    assert run(launcher, path, "bad_value") == 1
    log = (path.parent / "log.txt").read_text()
    assert log.startswith("[INFO] training")
    assert "ValueError: Target modules" in log
    assert run(launcher, path, "killed") == -signal.SIGKILL
    assert run(launcher, path) == 0


@pytest.mark.slow
def test_an_interrupt_ends_all_that_the_training_started(
    launcher, write_training, hanging, is_gone
):
    ended: list[int] = []

    def interrupt() -> None:
        if processes := hanging():
            ended.extend(processes)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(launcher, write_training(), "hangs", interrupt)
    assert len(ended) == 2
    assert all(map(is_gone, ended))
    assert run(launcher, write_training("again")) == 0


@pytest.mark.slow
def test_closing_ends_the_training_of_another_thread(launcher, write_training, hanging, is_gone):
    ended: list[int] = []

    def close() -> None:
        if not ended and (processes := hanging()):
            ended.extend(processes)
            threading.Thread(target=launcher.close).start()

    if isinstance(launcher, WarmWorker):
        with pytest.raises(TrainingError, match="warm"):
            run(launcher, write_training(), "hangs", close)
    else:
        assert run(launcher, write_training(), "hangs", close) != 0
    assert len(ended) == 2
    assert all(map(is_gone, ended))


DRIVER = """
import sys
from pathlib import Path
from dataenvgym.students.trainers.llama_factory.launching import CommandLine, WarmWorker

kind, command, path, does = sys.argv[1:]
folder = Path(path).parent
(folder / "adapter").mkdir()
python = Path(command).with_name("python")
launcher = CommandLine([command]) if kind == "fresh" else WarmWorker(python)
watch = lambda: None
launcher.run(["train", path], log=folder / "log", environment={"STAND_IN": does}, watch=watch)
if kind == "warm":
    print(launcher.pid, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fresh", "warm"])
def test_who_is_killed_takes_everything_along(command, write_training, hanging, is_gone, kind):
    words = [sys.executable, "-c", DRIVER, kind, command, str(write_training()), "hangs"]
    with subprocess.Popen(words) as driver:
        wait_for(hanging)
        below = [p.pid for p in psutil.Process(driver.pid).children(recursive=True)]
        assert set(hanging()) <= set(below)
        driver.kill()
        wait_for(lambda: all(map(is_gone, below)))


@pytest.mark.slow
def test_a_program_that_ends_without_closing_ends_its_worker(command, write_training, is_gone):
    words = [sys.executable, "-c", DRIVER, "warm", command, str(write_training()), "train"]
    told = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    wait_for(lambda: is_gone(int(told.stdout)), seconds=5)


@pytest.fixture
def worker(command):
    worker = WarmWorker(Path(command).with_name("python"))
    yield worker
    worker.close()


def test_one_worker_does_many_trainings_each_in_a_process_of_its_own(worker, write_training):
    pids = []
    for name in ("a", "b"):
        run(worker, path := write_training(name))
        pids.append(read_json(path.parent / "seen.json")["pid"])
    assert pids[0] != pids[1]
    assert not any(map(psutil.pid_exists, pids))
    assert worker.pid is not None


@pytest.mark.slow
def test_a_worker_that_died_is_reported_and_replaced(worker, write_training, hanging, is_gone):
    run(worker, write_training("a"))
    ended: list[int] = []

    def kill() -> None:
        if not ended and (processes := hanging()):
            ended.extend([*processes, worker.ready["pid"]])
            psutil.Process(worker.ready["pid"]).kill()

    with pytest.raises(TrainingError, match="ended by"):
        run(worker, write_training("b"), "hangs", kill)
    assert len(ended) == 3
    assert all(map(is_gone, ended))
    assert run(worker, write_training("c")) == 0


def test_an_environment_without_llama_factory_says_what_is_missing(worker, command, write_training):
    packages = Path(command).parents[1] / "packages"
    (packages / "llamafactory").rename(packages / "other")
    with pytest.raises(TrainingError, match="exit"):
        run(worker, write_training())


def test_a_worker_ends_with_its_last_owner(command, tmp_path, is_gone):
    worker = WarmWorker(Path(command).with_name("python"))
    worker.start(tmp_path / "worker.log")
    assert worker.pid is not None
    pid = worker.pid
    assert psutil.pid_exists(pid)
    del worker
    wait_for(lambda: is_gone(pid))
