"""Networks for runs: each run gets an unused one.

To make one for every run would take a quarter of the time that a run takes. So there are two, in
turn, as at most two runs are there at a time: one that goes on and one that is prepared. What a
network counts says whether it was used; if it was, another takes its place.
"""

from __future__ import annotations

import os

from . import kernel

_COUNTERS = ("dev", "snmp", "snmp6")
_BUFFERS = {"tcp_rmem": "4096 131072 131072", "tcp_wmem": "4096 16384 131072"}
"""Sizes of TCP's receive and send buffers: least, first, most."""


class Networks:
    """Network namespaces with a loopback and nothing else, entered one after the other."""

    def __init__(self) -> None:
        self._namespaces = [_made(), _made()]
        self._unused = _counted()

    def enter_next(self) -> None:
        """Be in a network that no run has used, for what is forked next."""
        self._namespaces.reverse()
        kernel.enter_network(self._namespaces[0])
        if _counted() != self._unused:
            os.close(self._namespaces[0])
            self._namespaces[0] = _made()


def _made() -> int:
    kernel.leave_network()
    kernel.raise_loopback()
    for name, sizes in _BUFFERS.items():
        with open(f"/proc/sys/net/ipv4/{name}", "w") as file:
            file.write(sizes)
    return os.open("/proc/self/ns/net", os.O_RDONLY)


def _counted() -> list[bytes]:
    found = []
    for name in _COUNTERS:
        try:
            fd = os.open(f"/proc/self/net/{name}", os.O_RDONLY)
        except FileNotFoundError:  # a kernel without IPv6
            continue
        try:
            found.append(os.read(fd, 1 << 16))
        finally:
            os.close(fd)
    return found
