"""Machines of the tests alone: network namespaces of this one, joined by a cable."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

import pytest


class OwnMachine:
    """A network namespace: a machine with its own addresses, on the same files.

    Attributes:
        address: reaches the other machine, and nothing else.
    """

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"network namespaces are not permitted: {done.stderr.strip()}")

    def command(self, *command: str) -> list[str]:
        """A command that runs there."""
        return ["ip", "netns", "exec", self.name, *command]

    def kill(self) -> None:
        """Kill all processes on it, as if it had lost its power."""
        done = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True)
        for pid in done.stdout.split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    def remove(self) -> None:
        self.kill()
        _ip("netns", "delete", self.name)


@contextmanager
def two_machines() -> Iterator[Sequence[OwnMachine]]:
    """Two machines that reach each other and nothing else; gone after the block."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root, and Debian's iproute2")
    with ExitStack() as stack:
        machines = []
        for number in (1, 2):
            # of a network for tests (RFC 2544)
            one = OwnMachine(f"dataenvgym-{os.getpid()}-{number}", f"198.18.0.{number}")
            stack.callback(one.remove)
            machines.append(one)
        here, there = (one.name for one in machines)
        cable = ["type", "veth", "peer", "name", "cable", "netns", there]
        _ip("link", "add", "cable", "netns", here, *cable)
        for one in machines:
            _ip("-n", one.name, "address", "add", f"{one.address}/30", "dev", "cable")
            for device in ("lo", "cable"):
                _ip("-n", one.name, "link", "set", device, "up")
        yield machines


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, timeout=20)
