"""A Slurm of the tests alone: one machine, without accounting, in a temporary folder.

Debian's packages `slurm-wlm` and `munge` have the programs. No service of the machine is used or
touched: the key, the socket, the ports and all files are the cluster's own.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from dataenvgym.students.external.processes import free_port
from tests.waiting import wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "squeue", "srun")
CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
AuthType=auth/munge
# a job that is queued again waits for so many seconds
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=1
SlurmdTimeout=6
MessageTimeout=5
MinJobAge=20
SchedulerParameters=bf_interval=2,sched_interval=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=8
PartitionName=main Nodes=ALL Default=YES State=UP
"""


def missing() -> str | None:
    """Why there can be no Slurm here; None if there can."""
    if os.geteuid() != 0:
        return "a Slurm of the tests needs root"
    if lacking := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"slurm-wlm and munge are not installed ({', '.join(lacking)})"
    return None


class OwnSlurm:
    """A running Slurm.

    Attributes:
        configuration: the file for the variable SLURM_CONF.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.configuration = folder / "slurm.conf"
        for name in ("munge", "state", "spool"):
            (folder / name).mkdir()
        folder.chmod(0o711)  # munged wants its socket to be reachable
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        facts = {"host": socket.gethostname().split(".")[0], "folder": folder}
        ports = {"controller": free_port(), "node": free_port()}
        self.configuration.write_text(CONFIGURATION.format(**facts, **ports))
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def environment(self) -> Mapping[str, str]:
        """This process's variables with those of a Slurm of this machine replaced."""
        others = ("SLURM_", "SBATCH_", "SQUEUE_", "SRUN_", "SCANCEL_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(others)}
        return {**kept, "SLURM_CONF": str(self.configuration)}

    def start(self) -> None:
        munge = self.folder / "munge"
        files = ("key", "socket", "pid", "log", "seed")
        names = {"key": "key-file", "pid": "pid-file", "log": "log-file", "seed": "seed-file"}
        options = [f"--{names.get(name, name)}={munge / name}" for name in files]
        self._begin("munged", "--foreground", *options)
        wait_for((munge / "socket").exists)
        self._begin("slurmctld", "-D", "-c")
        self.start_node()
        wait_for(lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T"))

    def start_node(self) -> None:
        self._begin("slurmd", "-D")

    def kill_node(self) -> None:
        """As if the machine of the jobs had lost its power: nothing of it is left, or said."""
        self._end("slurmd")
        self._kill_jobs()
        wait_for(lambda: "down" in self.ask("sinfo", "--noheader", "--format=%T"))

    def ask(self, *command: str) -> str:
        """The output of a command of this Slurm; empty if it fails."""
        options = {"env": self.environment, "capture_output": True, "text": True}
        return subprocess.run(command, check=False, timeout=60, **options).stdout

    def stop(self) -> None:
        for name in ("slurmctld", "slurmd"):
            self._end(name)
        self._kill_jobs()
        self._end("munged")

    def _begin(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.log").open("ab") as log:
            self._daemons[command[0]] = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def _end(self, name: str) -> None:
        if (daemon := self._daemons.pop(name, None)) is not None:
            daemon.kill()
            daemon.wait(20)

    def _kill_jobs(self) -> None:
        """Kill the processes of jobs: they are not our children, but they have our SLURM_CONF."""
        others = {os.getpid(), *(daemon.pid for daemon in self._daemons.values())}
        for pid in set(psutil.pids()) - others:
            with suppress(OSError):  # it has ended
                # psutil does not read the variables of a process that wrote over its arguments
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if f"SLURM_CONF={self.configuration}".encode() in variables:
                    os.kill(pid, signal.SIGKILL)


@contextmanager
def own_slurm() -> Iterator[OwnSlurm]:
    """A Slurm for the block."""
    with ExitStack() as stack:
        # a socket's path is short
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-"))
        slurm = OwnSlurm(Path(folder))
        stack.callback(slurm.stop)
        slurm.start()
        yield slurm
